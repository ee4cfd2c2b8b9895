package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/gantry-market/gantry/attest"
)

// Parse reads one bundle and accepts nothing that [Bundle.Encode] would not write. It does not judge the evidence, nor
// the node's signature. The result shares no memory with data. Error: attest.ErrMalformed.
func Parse(data []byte) (*Bundle, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("bundle of %d bytes, at most %d: %w", len(data), MaxSize, attest.ErrMalformed)
	}
	r := &reader{rest: data}
	b, refs, err := r.head()
	if err != nil {
		return nil, err
	}
	if err := r.collateral(b, refs); err != nil {
		return nil, err
	}
	if len(r.rest) != 0 {
		return nil, fmt.Errorf("%d bytes after the end: %w", len(r.rest), attest.ErrMalformed)
	}
	return b, b.check()
}

// head reads all but the data of collateral, which it returns references to.
func (r *reader) head() (*Bundle, []reference, error) {
	if string(r.take(len(tag))) != tag {
		return nil, nil, fmt.Errorf("not an evidence bundle: %w", attest.ErrMalformed)
	}
	if v := r.u16(); r.err == nil && v != Version {
		return nil, nil, fmt.Errorf("bundle of version %d, this reads %d: %w", v, Version, attest.ErrMalformed)
	}
	if z := r.u16(); r.err == nil && z != 0 {
		return nil, nil, fmt.Errorf("reserved bytes are not zero: %w", attest.ErrMalformed)
	}
	b := &Bundle{}
	for _, part := range []*[32]byte{
		&b.Challenge.GenesisHash, &b.Challenge.Program, &b.Challenge.ID, &b.Challenge.Node, &b.Challenge.NodeKey, &b.Challenge.SlotHash,
	} {
		copy(part[:], r.take(32))
	}
	b.Challenge.Expiry = int64(r.u64())
	b.Created = int64(r.u64())
	copy(b.Signature[:], r.take(len(b.Signature)))
	pieces, items := int(r.u16()), int(r.u16())
	if pieces > MaxEvidence || items > MaxCollateral {
		return nil, nil, fmt.Errorf("%d pieces of evidence and %d of collateral, at most %d and %d: %w",
			pieces, items, MaxEvidence, MaxCollateral, attest.ErrMalformed)
	}
	for range pieces {
		e, err := r.evidence()
		if err != nil {
			return nil, nil, err
		}
		b.Evidence = append(b.Evidence, e)
	}
	refs := make([]reference, 0, items)
	for range items {
		ref := reference{key: string(r.take(int(r.u8()))), size: r.size()}
		copy(ref.sum[:], r.take(32))
		refs = append(refs, ref)
	}
	return b, refs, r.err
}

// reference is what the head says of an item of collateral.
type reference struct {
	key  string
	size int
	sum  [32]byte
}

func (f reference) check(data []byte) error {
	if len(data) != f.size || sha256.Sum256(data) != f.sum {
		return fmt.Errorf("collateral %.80q is not what its hash says: %w", f.key, attest.ErrMalformed)
	}
	return nil
}

// reader takes bytes off the front and remembers when there were too few.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) && r.err == nil {
		r.err = fmt.Errorf("bundle ends too early: %w", attest.ErrMalformed)
	}
	if r.err != nil {
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) u8() byte {
	if b := r.take(1); r.err == nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); r.err == nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); r.err == nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); r.err == nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// size is a length field that must keep a limit, before anything is taken.
func (r *reader) size() int {
	n := r.u32()
	if n > MaxItem && r.err == nil {
		r.err = fmt.Errorf("part of %d bytes, at most %d: %w", n, MaxItem, attest.ErrMalformed)
	}
	return int(n)
}

func (r *reader) evidence() (attest.Evidence, error) {
	e := attest.Evidence{Kind: attest.Kind(r.u16()), Instance: r.u16()}
	n := int(r.u16())
	if n > MaxItems {
		return e, fmt.Errorf("%s %d has %d items, at most %d: %w", e.Kind, e.Instance, n, MaxItems, attest.ErrMalformed)
	}
	for range n {
		name := string(r.take(int(r.u8())))
		data := bytes.Clone(r.take(r.size()))
		if r.err != nil {
			return e, r.err
		}
		e.Items = append(e.Items, attest.Item{Name: name, Data: data})
	}
	return e, r.err
}

// collateral reads the data that the references announce.
func (r *reader) collateral(b *Bundle, refs []reference) error {
	for _, ref := range refs {
		data := r.take(ref.size)
		if r.err != nil {
			return r.err
		}
		if err := ref.check(data); err != nil {
			return err
		}
		b.Collateral = append(b.Collateral, Collateral{Key: ref.key, Data: bytes.Clone(data)})
	}
	return nil
}
