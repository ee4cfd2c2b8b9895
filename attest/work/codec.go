package work

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// HeaderSize is the length of an encoded [Header].
const HeaderSize = 80

const headerTag = "GANTRYX1"

// ErrEncoding is returned for bytes that are not a proof.
var ErrEncoding = errors.New("work: malformed proof")

// Header opens an encoded proof. It carries the claim, so the receiver stops its clock when the header is there; the
// body may take its time.
//
//	 0  8 tag "GANTRYX1"
//	 8  4 n
//	12  4 reserved, zero
//	16 32 seed
//	48 32 root
//	80    n·n entries, i32le, row by row
type Header struct {
	Seed Seed
	N    int
	Root Hash
}

// BodySize is the number of bytes that follow a header of order n.
func BodySize(n int) int64 { return int64(n) * int64(n) * 4 }

// Bytes encodes h.
func (h Header) Bytes() [HeaderSize]byte {
	var b [HeaderSize]byte
	copy(b[:], headerTag)
	binary.LittleEndian.PutUint32(b[8:], uint32(h.N))
	copy(b[16:], h.Seed[:])
	copy(b[48:], h.Root[:])
	return b
}

// ParseHeader decodes a header and refuses an order above [MaxN].
func ParseHeader(b []byte) (Header, error) {
	var h Header
	if len(b) != HeaderSize {
		return h, fmt.Errorf("%w: header of %d bytes, want %d", ErrEncoding, len(b), HeaderSize)
	}
	if string(b[:8]) != headerTag {
		return h, fmt.Errorf("%w: unknown tag", ErrEncoding)
	}
	if binary.LittleEndian.Uint32(b[12:]) != 0 {
		return h, fmt.Errorf("%w: reserved bytes are not zero", ErrEncoding)
	}
	n := binary.LittleEndian.Uint32(b[8:])
	if n > MaxN {
		return h, fmt.Errorf("%w: %w: got %d", ErrEncoding, ErrOrder, n)
	}
	h.N = int(n)
	if err := CheckOrder(h.N); err != nil {
		return Header{}, fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	copy(h.Seed[:], b[16:])
	copy(h.Root[:], b[48:])
	return h, nil
}

// ReadHeader reads a header from a stream.
func ReadHeader(r io.Reader) (Header, error) {
	var b [HeaderSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return Header{}, fmt.Errorf("%w: header: %w", ErrEncoding, err)
	}
	return ParseHeader(b[:])
}

// WriteBody writes the entries of the product, one row a write.
func (p *Proof) WriteBody(w io.Writer) (int64, error) {
	row := make([]byte, 4*p.N)
	var total int64
	for i := 0; i < p.N; i++ {
		encodeEntries(row, p.Row(i))
		k, err := w.Write(row)
		total += int64(k)
		if err != nil {
			return total, fmt.Errorf("work: write row %d: %w", i, err)
		}
	}
	return total, nil
}

// WriteTo writes header and body.
func (p *Proof) WriteTo(w io.Writer) (int64, error) {
	h := p.Header().Bytes()
	k, err := w.Write(h[:])
	if err != nil {
		return int64(k), fmt.Errorf("work: write header: %w", err)
	}
	body, err := p.WriteBody(w)
	return int64(k) + body, err
}

// DecodeProof decodes a whole proof of order at most maxN. It refuses short input, trailing bytes, entries out of range
// and a root that is not the entries' own. It does not check the product.
func DecodeProof(b []byte, maxN int) (*Proof, error) {
	if len(b) < HeaderSize {
		return nil, fmt.Errorf("%w: %d bytes are shorter than a header", ErrEncoding, len(b))
	}
	h, err := ParseHeader(b[:HeaderSize])
	if err != nil {
		return nil, err
	}
	if h.N > maxN {
		return nil, fmt.Errorf("%w: %w: %d is above the limit of %d", ErrEncoding, ErrOrder, h.N, maxN)
	}
	if want := HeaderSize + BodySize(h.N); int64(len(b)) != want {
		return nil, fmt.Errorf("%w: %d bytes for order %d, want %d", ErrEncoding, len(b), h.N, want)
	}
	c := make([]int32, h.N*h.N)
	for i := 0; i < h.N; i++ {
		if err := readRow(bytes.NewReader(b[HeaderSize+4*i*h.N:]), make([]byte, 4*h.N), c[i*h.N:(i+1)*h.N], i); err != nil {
			return nil, err
		}
	}
	p, err := NewProof(h.Seed, h.N, c)
	if err != nil {
		return nil, err
	}
	if p.Root != h.Root {
		return nil, ErrRoot
	}
	return p, nil
}

// readRow reads one row into values, through raw, and checks the range of its entries.
func readRow(r io.Reader, raw []byte, values []int32, row int) error {
	if _, err := io.ReadFull(r, raw); err != nil {
		return fmt.Errorf("%w: row %d: %w", ErrEncoding, row, err)
	}
	bound := Bound(len(values))
	for k := range values {
		v := int32(binary.LittleEndian.Uint32(raw[4*k:]))
		if v > bound || v < -bound {
			return fmt.Errorf("%w: entry (%d, %d) is %d, bound %d", ErrRange, row, k, v, bound)
		}
		values[k] = v
	}
	return nil
}
