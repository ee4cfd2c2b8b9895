package statement

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/records"
)

// MaxSet bounds the encoded statements of one keeper and period, bytes: 40,000 nodes in constant change.
const MaxSet = 32 << 20

// MaxSetOf bounds them in a market with so many nodes: several times what an honest keeper can have to say about them.
func MaxSetOf(nodes int) int { return min(MaxSet, 64<<10+nodes*(16<<10)) }

// ErrSet: the bytes are no set of statements of the period.
var ErrSet = errors.New("not a set of statements")

// Frame is what all statements of a set have in common.
type Frame struct {
	Domain records.Domain
	Period records.Period
	Secs   uint32 // of a period
}

func (f Frame) start() int64 { return int64(uint64(f.Period) * uint64(f.Secs)) }

// Admits reports whether a statement belongs in a report of the period: made within it, and covering no more than it
// has.
func (f Frame) Admits(s *records.CheckStatement) bool {
	return s.Domain == f.Domain && s.Period == f.Period && s.CoveredSeconds <= f.Secs &&
		s.CheckedAt >= f.start() && s.CheckedAt <= f.start()+int64(f.Secs)
}

// The bits of an entry's first byte, above the kind in the lowest three.
const (
	bitPassed = 1 << 3
	bitLease  = 1 << 4
	bitDetail = 1 << 5
	bitFirst  = 1 << 6
	bitSecond = 1 << 7
)

// EncodeSet writes all statements of one keeper about one period, without signatures: those that a report may not count
// are left out, as is the second of two about the same thing. The set is what the keeper answers for with its Manifest.
//
// Statements are sorted by node, lease, kind and second of the check. Each node is its account, 32 bytes, the number of
// its statements as a uvarint, and those: one byte with the kind and what follows, covered seconds and seconds since the
// period's start as uvarints, then, where they are not zero, the two figures as uvarints, lease and detail.
func EncodeSet(f Frame, all []records.CheckStatement) (raw []byte, count int) {
	sorted := make([]*records.CheckStatement, 0, len(all))
	for i := range all {
		if f.Admits(&all[i]) && all[i].Validate() == nil {
			sorted = append(sorted, &all[i])
		}
	}
	slices.SortStableFunc(sorted, compareSubjects)
	sorted = slices.CompactFunc(sorted, func(a, b *records.CheckStatement) bool { return compareSubjects(a, b) == 0 })
	raw = make([]byte, 0, 48*len(sorted))
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to].Node == sorted[from].Node {
			to++
		}
		raw = append(raw, sorted[from].Node[:]...)
		raw = binary.AppendUvarint(raw, uint64(to-from))
		for _, s := range sorted[from:to] {
			raw = appendEntry(raw, f, s)
		}
		from = to
	}
	return raw, len(sorted)
}

func appendEntry(raw []byte, f Frame, s *records.CheckStatement) []byte {
	head := byte(s.Kind)
	if s.Passed {
		head |= bitPassed
	}
	if !s.Lease.IsZero() {
		head |= bitLease
	}
	if s.Detail != [32]byte{} {
		head |= bitDetail
	}
	if s.Figures.First != 0 {
		head |= bitFirst
	}
	if s.Figures.Second != 0 {
		head |= bitSecond
	}
	raw = append(raw, head)
	raw = binary.AppendUvarint(raw, uint64(s.CoveredSeconds))
	raw = binary.AppendUvarint(raw, uint64(s.CheckedAt-f.start()))
	if head&bitFirst != 0 {
		raw = binary.AppendUvarint(raw, uint64(s.Figures.First))
	}
	if head&bitSecond != 0 {
		raw = binary.AppendUvarint(raw, uint64(s.Figures.Second))
	}
	if head&bitLease != 0 {
		raw = append(raw, s.Lease[:]...)
	}
	if head&bitDetail != 0 {
		raw = append(raw, s.Detail[:]...)
	}
	return raw
}

// compareSubjects orders statements of one keeper and period by what they are about.
func compareSubjects(a, b *records.CheckStatement) int {
	if c := bytes.Compare(a.Node[:], b.Node[:]); c != 0 {
		return c
	}
	return compareWithin(a, b)
}

func compareWithin(a, b *records.CheckStatement) int {
	switch c := bytes.Compare(a.Lease[:], b.Lease[:]); {
	case c != 0:
		return c
	case a.Kind != b.Kind:
		return int(a.Kind) - int(b.Kind)
	case a.CheckedAt < b.CheckedAt:
		return -1
	case a.CheckedAt > b.CheckedAt:
		return 1
	}
	return 0
}

// DecodeSet reads a set and hands each statement to visit, in order; the pointer is good during the call only. Anything
// that EncodeSet would not have written in this order is refused, so that no two statements of a set are about the same
// thing. Errors: ErrSet, and what visit returns.
func DecodeSet(f Frame, raw []byte, visit func(*records.CheckStatement) error) error {
	if len(raw) > MaxSet {
		return fmt.Errorf("%w: %d bytes", ErrSet, len(raw))
	}
	r := reader{raw: raw}
	var node solana.PublicKey
	var s, before records.CheckStatement
	for first := true; len(r.raw) > 0; first = false {
		next := solana.PublicKey(r.hash())
		if !first && bytes.Compare(next[:], node[:]) <= 0 {
			return fmt.Errorf("%w: nodes out of order", ErrSet)
		}
		node = next
		n := r.number(math.MaxUint32)
		if n == 0 {
			return fmt.Errorf("%w: node without statements", ErrSet)
		}
		for i := range n {
			s = records.CheckStatement{Domain: f.Domain, Node: node, Period: f.Period}
			r.entry(f, &s)
			if r.bad || !f.Admits(&s) {
				return fmt.Errorf("%w: entry %d of node %s", ErrSet, i, node)
			}
			if err := s.Validate(); err != nil {
				return fmt.Errorf("%w: %w", ErrSet, err)
			}
			if i > 0 && compareWithin(&before, &s) >= 0 {
				return fmt.Errorf("%w: statements of node %s out of order", ErrSet, node)
			}
			before = s
			if err := visit(&s); err != nil {
				return err
			}
		}
	}
	return nil
}

// reader takes fields off the front; bad is set by the first that is not there, and all later ones are zero.
type reader struct {
	raw []byte
	bad bool
}

func (r *reader) entry(f Frame, s *records.CheckStatement) {
	var head byte
	if r.bad = r.bad || len(r.raw) == 0; !r.bad {
		head, r.raw = r.raw[0], r.raw[1:]
	}
	s.Kind = records.CheckKind(head & 7)
	s.Passed = head&bitPassed != 0
	s.CoveredSeconds = uint32(r.number(uint64(f.Secs)))
	s.CheckedAt = f.start() + int64(r.number(uint64(f.Secs)))
	if head&bitFirst != 0 {
		s.Figures.First = r.figure()
	}
	if head&bitSecond != 0 {
		s.Figures.Second = r.figure()
	}
	if head&bitLease != 0 {
		s.Lease = r.hash()
		r.bad = r.bad || s.Lease.IsZero()
	}
	if head&bitDetail != 0 {
		s.Detail = r.hash()
		r.bad = r.bad || s.Detail == [32]byte{}
	}
}

// figure is a number that is not zero.
func (r *reader) figure() uint32 {
	n := uint32(r.number(math.MaxUint32))
	r.bad = r.bad || n == 0
	return n
}

func (r *reader) number(most uint64) uint64 {
	n, size := binary.Uvarint(r.raw)
	if r.bad = r.bad || size <= 0 || n > most || size > 1 && r.raw[size-1] == 0; r.bad {
		return 0
	}
	r.raw = r.raw[size:]
	return n
}

func (r *reader) hash() (h [32]byte) {
	if r.bad = r.bad || len(r.raw) < 32; r.bad {
		return h
	}
	h, r.raw = [32]byte(r.raw[:32]), r.raw[32:]
	return h
}

// Digest is the sha256 of a set's bytes.
func Digest(raw []byte) [32]byte { return sha256.Sum256(raw) }
