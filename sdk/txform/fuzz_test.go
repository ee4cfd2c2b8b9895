package txform_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/txform"
)

// plain is a message of version 1 as SIMD-0385 words it, read by offsets alone.
type plain struct {
	keys         [][]byte
	instructions []struct {
		program  byte
		accounts []byte
		data     []byte
	}
}

// parse reads a message that Message has accepted. It fails where the format has another idea of the bytes.
func parse(t *testing.T, raw []byte) (p plain) {
	take := func(n int) []byte {
		if n > len(raw) {
			t.Fatalf("a message that was accepted ends too early")
		}
		out := raw[:n]
		raw = raw[n:]
		return out
	}
	head := take(42) // version, header 3, mask 4, blockhash 32, numbers of instructions and addresses
	mask, instructions, addresses := binary.LittleEndian.Uint32(head[4:]), int(head[40]), int(head[41])
	if head[0] != 129 || addresses > 64 || instructions > 64 || head[1] > 12 || head[1] == 0 || mask > 0b11111 || mask&3 == 1 || mask&3 == 2 {
		t.Fatalf("accepted a head that SIMD-0385 refuses: % x", head)
	}
	for range addresses {
		p.keys = append(p.keys, take(32))
	}
	for bit := range 5 {
		if mask&(1<<bit) != 0 {
			take(4)
		}
	}
	heads := take(4 * instructions)
	p.instructions = make([]struct {
		program  byte
		accounts []byte
		data     []byte
	}, instructions)
	for n := range p.instructions {
		h, i := heads[4*n:], &p.instructions[n]
		i.program = h[0]
		i.accounts, i.data = take(int(h[1])), take(int(binary.LittleEndian.Uint16(h[2:])))
	}
	if len(raw) != 0 {
		t.Fatalf("%d bytes stand behind an accepted message", len(raw))
	}
	return p
}

// What Message accepts of version 1 has the very instructions that a second reader finds in it: none is hidden.
func FuzzMessage(f *testing.F) {
	v := read(f)
	for _, c := range v.Cases {
		f.Add([]byte(c.Message))
	}
	for _, c := range v.Limits {
		f.Add([]byte(c.Message))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := txform.Message(raw)
		if err != nil || m.GetVersion() != solana.MessageVersionV1 {
			return
		}
		p := parse(t, raw)
		if len(p.instructions) != len(m.Instructions) || len(p.keys) != len(m.AccountKeys) {
			t.Fatalf("%d instructions and %d addresses, a second reader finds %d and %d", len(m.Instructions), len(m.AccountKeys), len(p.instructions), len(p.keys))
		}
		for n, i := range m.Instructions {
			same := i.ProgramIDIndex == uint16(p.instructions[n].program) && bytes.Equal(i.Data, p.instructions[n].data) && len(i.Accounts) == len(p.instructions[n].accounts)
			for k := range i.Accounts {
				same = same && i.Accounts[k] == uint16(p.instructions[n].accounts[k])
			}
			if !same || !bytes.Equal(m.AccountKeys[i.ProgramIDIndex][:], p.keys[i.ProgramIDIndex]) {
				t.Fatalf("a second reader finds another instruction %d", n)
			}
		}
		if len(raw)+64*int(m.Header.NumRequiredSignatures) > 4096 {
			t.Fatalf("%d bytes", len(raw))
		}
	})
}
