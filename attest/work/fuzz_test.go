package work

import (
	"bytes"
	"context"
	"testing"
)

func FuzzDecodeProof(f *testing.F) {
	p, err := CPU{Workers: 1}.Prove(context.Background(), seedOf(1), 32)
	if err != nil {
		f.Fatal(err)
	}
	var buf bytes.Buffer
	if _, err := p.WriteTo(&buf); err != nil {
		f.Fatal(err)
	}
	f.Add(buf.Bytes())
	f.Add(buf.Bytes()[:HeaderSize])
	f.Add([]byte(headerTag))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := DecodeProof(b, 64)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if _, err := d.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), b) {
			t.Fatal("two encodings of one proof")
		}
	})
}

func FuzzParseChunkOpening(f *testing.F) {
	p, err := CPU{Workers: 1}.Prove(context.Background(), seedOf(1), 96)
	if err != nil {
		f.Fatal(err)
	}
	o, err := p.OpenChunk(95, 2)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(o.Bytes(), uint16(96))
	f.Add([]byte{}, uint16(32))
	f.Fuzz(func(t *testing.T, b []byte, n uint16) {
		d, err := ParseChunkOpening(b, int(n))
		if err != nil {
			return
		}
		if !bytes.Equal(d.Bytes(), b) {
			t.Fatal("two encodings of one opening")
		}
		_ = CheckPath(int(n), p.Root, d) // must not panic
	})
}

func FuzzParseClaim(f *testing.F) {
	b := Claim{N: 32}.Bytes()
	f.Add(b[:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseClaim(b)
		if err != nil {
			return
		}
		if out := c.Bytes(); !bytes.Equal(out[:], b) {
			t.Fatal("two encodings of one claim")
		}
	})
}
