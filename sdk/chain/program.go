package chain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// ErrNotUpgradeable is the error of an address at which the upgradeable loader holds no code.
var ErrNotUpgradeable = errors.New("no code of the upgradeable loader")

// The upgradeable loader's states, and where the code begins in its accounts.
const (
	loaderBuffer      = 1
	loaderProgram     = 2
	loaderProgramData = 3
	bufferHead        = 4 + 1 + 32
	programDataHead   = 4 + 8 + 1 + 32
)

// Code is what the upgradeable loader holds: a deployed program, or a buffer that is to become one.
type Code struct {
	Account   solana.PublicKey // which holds the bytes
	Authority solana.PublicKey // which key may replace them; zero if none may
	Slot      uint64           // of the last deployment; zero for a buffer
	Bytes     []byte           // as long as the account: the file, then zeros
}

// Code reads the bytes of a program, or of a buffer. Errors: ErrAccountNotFound, ErrNotUpgradeable.
func (c *Client) Code(ctx context.Context, address solana.PublicKey, at Commitment) (Code, error) {
	ctx = context.WithValue(ctx, forCode{}, true)
	acc, err := c.loaders(ctx, address, at, 0)
	if err != nil {
		return Code{}, err
	}
	if state(acc.Data) == loaderProgram && len(acc.Data) >= 36 {
		if acc, err = c.loaders(ctx, solana.PublicKey(acc.Data[4:36]), at, acc.Slot); err != nil {
			return Code{}, err
		}
		if state(acc.Data) != loaderProgramData || len(acc.Data) < programDataHead {
			return Code{}, fmt.Errorf("%w: the program %s has been closed", ErrNotUpgradeable, address)
		}
		return Code{
			Account: acc.Key, Slot: binary.LittleEndian.Uint64(acc.Data[4:]),
			Authority: optionalKey(acc.Data[12:programDataHead]), Bytes: acc.Data[programDataHead:],
		}, nil
	}
	if state(acc.Data) != loaderBuffer || len(acc.Data) < bufferHead {
		return Code{}, fmt.Errorf("%w: %s is neither a program nor a buffer", ErrNotUpgradeable, address)
	}
	return Code{Account: acc.Key, Authority: optionalKey(acc.Data[4:bufferHead]), Bytes: acc.Data[bufferHead:]}, nil
}

// loaders reads an account of the upgradeable loader from a node that has reached a slot.
func (c *Client) loaders(ctx context.Context, key solana.PublicKey, at Commitment, since uint64) (Account, error) {
	got, _, err := c.AccountsSince(ctx, []solana.PublicKey{key}, at, since)
	if err != nil {
		return Account{}, err
	}
	if got[0] == nil {
		return Account{}, fmt.Errorf("%s: %w", key, ErrAccountNotFound)
	}
	if got[0].Owner != solana.BPFLoaderUpgradeableProgramID {
		return Account{}, fmt.Errorf("%w: %s belongs to %s", ErrNotUpgradeable, key, got[0].Owner)
	}
	return *got[0], nil
}

func state(data []byte) uint32 {
	if len(data) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(data)
}

func optionalKey(b []byte) (key solana.PublicKey) {
	if b[0] == 1 {
		copy(key[:], b[1:])
	}
	return key
}

// Is reports whether the code is this file and nothing but zeros after it.
func (c Code) Is(file []byte) bool {
	rest, ok := bytes.CutPrefix(c.Bytes, file)
	return ok && len(bytes.TrimRight(rest, "\x00")) == 0
}

// HasHash reports whether the code is a file with this SHA-256 and nothing but zeros after it. How many of the zeros are the
// file's own is not known, so each number of them is tried.
func (c Code) HasHash(want [32]byte) bool {
	end := len(bytes.TrimRight(c.Bytes, "\x00"))
	h := sha256.New()
	h.Write(c.Bytes[:end])
	for ; ; end++ {
		if [32]byte(h.Sum(nil)) == want {
			return true
		}
		if end == len(c.Bytes) {
			return false
		}
		h.Write(c.Bytes[end : end+1])
	}
}

// Trimmed is the SHA-256 of the code without any zeros at its end, which is what solana-verify prints of a program.
func (c Code) Trimmed() [32]byte { return sha256.Sum256(bytes.TrimRight(c.Bytes, "\x00")) }

// File is the SHA-256 of the executable file in the code, which ends where the last of its segments and the table of its
// sections end. ok is false when there is none, or something else than zeros comes after it.
func (c Code) File() (hash [32]byte, ok bool) {
	end, ok := elfEnd(c.Bytes)
	if !ok {
		return hash, false
	}
	file := c.Bytes[:end]
	return sha256.Sum256(file), c.Is(file)
}

// elfEnd is the length of the 64-bit ELF file with which b begins. Package elf would read all of it, and the files of the
// runtime's third version have no sections.
func elfEnd(b []byte) (uint64, bool) {
	const head, segment = 0x40, 0x38
	if len(b) < head || !bytes.HasPrefix(b, []byte("\x7fELF\x02\x01")) {
		return 0, false
	}
	le, all := binary.LittleEndian, uint64(len(b))
	begin, size, count := le.Uint64(b[0x20:]), uint64(le.Uint16(b[0x36:])), uint64(le.Uint16(b[0x38:]))
	if size < segment || begin > all || size*count > all-begin {
		return 0, false
	}
	end := begin + size*count
	for i := range count {
		at := b[begin+i*size:]
		offset, length := le.Uint64(at[0x08:]), le.Uint64(at[0x20:])
		if offset > all || length > all-offset {
			return 0, false
		}
		end = max(end, offset+length)
	}
	sections, length := le.Uint64(b[0x28:]), uint64(le.Uint16(b[0x3a:]))*uint64(le.Uint16(b[0x3c:]))
	if sections > all || length > all-sections {
		return 0, false
	}
	return max(end, sections+length), true
}
