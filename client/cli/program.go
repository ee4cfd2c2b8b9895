package cli

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

func programCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "program", Usage: "the code that is deployed, the key that may replace it, and whether it is the code that you have built",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "compare", Usage: "`FILE` that you have built, or its sha256: fail unless the code is equal"},
			&cli.StringFlag{Name: "buffer", Usage: "`ADDRESS` of a buffer that is to replace the code: look at that instead"},
		},
		Action: action(s, (*session).program),
	}
}

// programJSON is deployed code as printed.
type programJSON struct {
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

func (s *session) program() error {
	if _, err := s.args(); err != nil {
		return err
	}
	address := market.ProgramID
	if buffer := s.cli.String("buffer"); buffer != "" {
		var err error
		if address, err = solana.PublicKeyFromBase58(buffer); err != nil {
			return usage(fmt.Sprintf("%q is not an address", buffer), "name the buffer's account")
		}
	}
	compare, err := comparison(s.cli.String("compare"))
	if err != nil {
		return err
	}
	code, err := s.client.Code(s.ctx, address, s.client.Commitment())
	if errors.Is(err, chain.ErrAccountNotFound) || errors.Is(err, chain.ErrNotUpgradeable) {
		return refused(err.Error(), "check the address, and --url")
	}
	if err != nil {
		return err
	}
	trimmed := code.Trimmed()
	out := programJSON{
		Address: address.String(), Account: code.Account.String(), Slot: code.Slot, Bytes: len(code.Bytes), Trimmed: hex.EncodeToString(trimmed[:]),
	}
	if !code.Authority.IsZero() {
		out.Authority = code.Authority.String()
	}
	if hash, ok := code.File(); ok {
		out.SHA256 = hex.EncodeToString(hash[:])
	}
	if compare != nil {
		equal := compare(code)
		out.Compared, out.Equal = s.cli.String("compare"), &equal
	}
	if err := s.done(out, func(w io.Writer) { printProgram(w, &out) }); err != nil {
		return err
	}
	if out.Equal != nil && !*out.Equal {
		return refused(fmt.Sprintf("the code at %s is not %s", address, out.Compared),
			"build the commit that its operators name (docs/operate/operations.md); if it still differs, trust neither the program nor those who deployed it")
	}
	return nil
}

// comparison reads what the code is to be compared with: a file, or the SHA-256 of one. It is nil when nothing is named.
func comparison(with string) (func(chain.Code) bool, error) {
	if with == "" {
		return nil, nil
	}
	if hash, err := hex.DecodeString(with); err == nil && len(hash) == 32 {
		return func(c chain.Code) bool { return c.HasHash([32]byte(hash)) }, nil
	}
	file, err := os.ReadFile(with)
	if err != nil {
		return nil, usage(fmt.Sprintf("%s cannot be read: %s", with, reasonOf(err)), "name a file, or the 64 hexadecimal digits of its sha256")
	}
	if len(file) == 0 {
		return nil, usage(with+" is empty", "build it with `make program`")
	}
	return func(c chain.Code) bool { return c.Is(file) }, nil
}

func reasonOf(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

func printProgram(w io.Writer, p *programJSON) {
	authority, deployed, hash := p.Authority, fmt.Sprintf("slot %d", p.Slot), p.SHA256
	if authority == "" {
		authority = "nobody: it can never be replaced"
	}
	if p.Slot == 0 {
		deployed = "not deployed: a buffer, or part of the cluster from its beginning"
	}
	if hash == "" {
		hash = "unknown: this is not one ELF file with zeros after it"
	}
	rows := [][2]string{
		{"program", p.Address},
		{"bytes in", p.Account},
		{"replaced by", authority},
		{"last deployed", deployed},
		{"length", fmt.Sprintf("%d bytes, zeros at the end included", p.Bytes)},
		{"sha256 of the file", hash},
		{"without zeros at its end", p.Trimmed + " (as solana-verify prints it)"},
	}
	if p.Equal != nil {
		verdict := "EQUAL to "
		if !*p.Equal {
			verdict = "DIFFERENT from "
		}
		rows = append(rows, [2]string{"compared", verdict + strings.TrimSpace(p.Compared)})
	}
	pairs(w, rows...)
}
