package service

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
)

// Program is deployed code.
type Program struct {
	Address   string `json:"address"`
	Account   string `json:"account"`
	Authority string `json:"authority,omitempty"`
	Slot      uint64 `json:"slot,omitempty"`
	Bytes     int    `json:"bytes"`
	SHA256    string `json:"sha256,omitempty"`
	Trimmed   string `json:"sha256WithoutZeros"`
	Compared  string `json:"comparedWith,omitempty"`
	Equal     *bool  `json:"equal,omitempty"`
}

// Compared is what deployed code is held against; the zero value for nothing.
type Compared struct {
	With  string
	equal func(chain.Code) bool
}

// Comparison reads what the code is to be compared with: a file, or the SHA-256 of one. Nothing is when with is empty.
func Comparison(with string) (Compared, error) {
	if with == "" {
		return Compared{}, nil
	}
	if hash, err := hex.DecodeString(with); err == nil && len(hash) == 32 {
		return Compared{with, func(c chain.Code) bool { return c.HasHash([32]byte(hash)) }}, nil
	}
	file, err := os.ReadFile(with)
	if err != nil {
		return Compared{}, Usage(fmt.Sprintf("%s cannot be read: %s", with, reasonOf(err)), "name a file, or the 64 hexadecimal digits of its sha256")
	}
	if len(file) == 0 {
		return Compared{}, Usage(with+" is empty", "build it with `make program`")
	}
	return Compared{with, func(c chain.Code) bool { return c.Is(file) }}, nil
}

// Program describes the code at an address: of a program, or of a buffer.
func (s *Service) Program(ctx context.Context, address solana.PublicKey, compare Compared) (Program, error) {
	code, err := s.client.Code(ctx, address, s.client.Commitment())
	if errors.Is(err, chain.ErrAccountNotFound) || errors.Is(err, chain.ErrNotUpgradeable) {
		return Program{}, Refused(err.Error(), "check the address, and --url")
	}
	if err != nil {
		return Program{}, err
	}
	trimmed := code.Trimmed()
	out := Program{
		Address: address.String(), Account: code.Account.String(), Slot: code.Slot, Bytes: len(code.Bytes), Trimmed: hex.EncodeToString(trimmed[:]),
		Authority: addressOf(code.Authority),
	}
	if hash, ok := code.File(); ok {
		out.SHA256 = hex.EncodeToString(hash[:])
	}
	if compare.equal != nil {
		equal := compare.equal(code)
		out.Compared, out.Equal = compare.With, &equal
	}
	return out, nil
}

func reasonOf(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
