package records

import (
	"crypto/ed25519"
	"encoding/binary"
	"testing"
)

func edKey(seed byte) ed25519.PrivateKey {
	var s [32]byte
	s[0] = seed
	return ed25519.NewKeyFromSeed(s[:])
}

// Whatever a decoder accepts must encode to the very same bytes.

func FuzzDecodeReceipt(f *testing.F) {
	b := Receipt{Domain: testDomain, Sequence: 3, Cumulative: 4}.Encode()
	f.Add(b[:])
	f.Add(b[:10])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := DecodeReceipt(in)
		if err != nil {
			return
		}
		if out := r.Encode(); string(out[:]) != string(in) {
			t.Fatalf("re-encoding differs: %x", out)
		}
	})
}

func FuzzDecodeStatement(f *testing.F) {
	b := sampleStatement().Encode()
	f.Add(b[:])
	f.Add(b[:143])
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := DecodeStatement(in)
		if err != nil {
			return
		}
		if out := s.Encode(); string(out[:]) != string(in) {
			t.Fatalf("re-encoding differs: %x", out)
		}
	})
}

func FuzzDecodeManifest(f *testing.F) {
	b := Manifest{Domain: testDomain, Period: 3, Count: 4, Size: 5, Digest: [32]byte{6}}.Encode()
	f.Add(b[:])
	f.Add(b[:63])
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := DecodeManifest(in)
		if err != nil {
			return
		}
		if out := m.Encode(); string(out[:]) != string(in) {
			t.Fatalf("re-encoding differs: %x", out)
		}
	})
}

func FuzzDecodeLeaf(f *testing.F) {
	b := sampleLeaf().Encode()
	f.Add(b[:])
	f.Add(b[:100])
	f.Fuzz(func(t *testing.T, in []byte) {
		l, err := DecodeLeaf(in)
		if err != nil {
			return
		}
		if out := l.Encode(); string(out[:]) != string(in) {
			t.Fatalf("re-encoding differs: %x", out)
		}
	})
}

// A proof made of arbitrary bytes must never verify for a leaf that is not in the tree, and must never panic.
func FuzzProofVerify(f *testing.F) {
	f.Add(uint32(0), uint32(1), []byte{})
	f.Add(uint32(2), uint32(3), make([]byte, 32))
	f.Add(uint32(0), uint32(1<<31), make([]byte, 64))
	root := NewTree([]Hash{LeafHash([]byte("x")), LeafHash([]byte("y"))}).Root()
	stranger := LeafHash(binary.LittleEndian.AppendUint32(nil, 7))
	f.Fuzz(func(t *testing.T, index, count uint32, raw []byte) {
		p := Proof{Index: index, Count: count}
		for len(raw) >= 32 && len(p.Siblings) < 64 {
			p.Siblings = append(p.Siblings, Hash(raw[:32]))
			raw = raw[32:]
		}
		if p.Verify(root, stranger) == nil {
			t.Fatal("proof of an absent leaf verified")
		}
	})
}
