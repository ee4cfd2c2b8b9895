package measure

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gantry-market/gantry/attest/guest"
	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/messages"
)

// errEnd ends a stream of which nothing more is wanted.
var errEnd = errors.New("the stream has ended")

// collected is what a machine has sent so far. It takes at most [format.MaxRounds] roots of each GPU.
type collected struct {
	asked []format.Asked
	now   func() time.Time

	roots []([]format.Hash) // of each GPU
	came  [][]time.Time     // when they did, at first
	next  []uint32          // of each GPU in the running stream
	// signed is the commitment. at is when the machine said that it was ready to sign it, and ready what it was then: the
	// commitment's hash, nil where it signed at once.
	signed     *format.Signed
	commitment *messages.MeasureCommitment
	at         time.Time
	ready      *[32]byte
	// guest is the key that has signed the commitment too, zero for none.
	guest   [32]byte
	refused messages.MeasureRefusal
	streams int     // that have begun
	drawn   []drawn // of the GPUs that were asked for so far
}

func newCollected(asked []format.Asked, now func() time.Time) *collected {
	return &collected{
		asked: asked, now: now,
		roots: make([][]format.Hash, len(asked)), came: make([][]time.Time, len(asked)), next: make([]uint32, len(asked)),
	}
}

// begin prepares for a stream, which starts with the first roots again.
func (c *collected) begin() {
	clear(c.next)
	c.streams++
}

// again reports whether the machine's agent may have started again since its first roots came. Its second run has the same
// roots, but its number follows from time. Nothing was drawn yet, so that this is no way out of a draw.
func (c *collected) again() bool { return c.streams > 1 }

// item takes a part of the stream. Errors: errEnd, a *failure with Wrong.
func (c *collected) item(m messages.MeasureItem) error {
	now := c.now()
	if parts(m) != 1 {
		return fail(Wrong, fmt.Errorf("%w: an item that is not one of roots, readiness, commitment and refusal", ErrNonsense))
	}
	switch {
	case m.Roots != nil:
		return c.take(*m.Roots, now)
	case m.Ready != nil:
		return c.is(*m.Ready, now)
	case m.Commitment != nil:
		if err := c.is(sha256.Sum256(m.Commitment.Commitment), now); err != nil {
			return err
		}
		signed, err := decodeSigned(*m.Commitment)
		if err != nil {
			return fail(Wrong, err)
		}
		c.signed, c.commitment, c.guest = signed, m.Commitment, guestOf(*m.Commitment)
		return errEnd
	}
	c.refused = m.Refused
	return errEnd
}

// parts counts what is in an item.
func parts(m messages.MeasureItem) (n int) {
	for _, there := range []bool{m.Roots != nil, m.Ready != nil, m.Commitment != nil, m.Refused != 0} {
		if there {
			n++
		}
	}
	return n
}

// is notes which commitment the machine has made, and when it first said so. It may not make another one.
func (c *collected) is(commitment [32]byte, now time.Time) error {
	switch {
	case c.ready == nil:
		c.ready, c.at = &commitment, now
	case *c.ready != commitment && c.again():
		return fail(Unknown, fmt.Errorf("%w: its second run ended with another commitment", ErrLost))
	case *c.ready != commitment:
		return fail(Wrong, fmt.Errorf("%w: another commitment than the one it was ready with", format.ErrSeen))
	}
	return nil
}

// take notes roots that are new, and compares those that another stream had brought.
func (c *collected) take(m messages.MeasureRoots, now time.Time) error {
	i := slices.IndexFunc(c.asked, func(a format.Asked) bool { return a.GPU == m.GPU })
	n := len(m.Roots) / 32
	switch {
	case i < 0:
		return fail(Wrong, fmt.Errorf("%w: roots of GPU %d, which is not asked for", ErrNonsense, m.GPU))
	case n == 0 || len(m.Roots)%32 != 0:
		return fail(Wrong, fmt.Errorf("%w: %d bytes of roots", ErrNonsense, len(m.Roots)))
	case m.First != c.next[i]:
		return fail(Wrong, fmt.Errorf("%w: root %d of GPU %d where %d is next", ErrNonsense, m.First, m.GPU, c.next[i]))
	case int(m.First)+n > format.MaxRounds:
		return fail(Wrong, fmt.Errorf("%w: more than %d rounds of GPU %d", ErrNonsense, format.MaxRounds, m.GPU))
	}
	for j := range n {
		root, r := format.Hash(m.Roots[32*j:]), int(m.First)+j
		switch {
		case r == len(c.roots[i]):
			c.roots[i], c.came[i] = append(c.roots[i], root), append(c.came[i], now)
		case c.roots[i][r] != root:
			return fail(Wrong, fmt.Errorf("%w: round %d of GPU %d", format.ErrSeen, r, m.GPU))
		}
	}
	c.next[i] += uint32(n)
	return nil
}

// guestOf is the key of a guest that has signed a commitment, zero where none has.
func guestOf(m messages.MeasureCommitment) [32]byte {
	c, err := format.DecodeCommitment(m.Commitment)
	if g := m.Guest; err == nil && g != nil && guest.VerifyAnswer(g.Key, c.Instant, sha256.Sum256(m.Commitment), g.Signature) {
		return g.Key
	}
	return [32]byte{}
}

func decodeSigned(m messages.MeasureCommitment) (*format.Signed, error) {
	if len(m.Entries)%format.EntryBytes != 0 || len(m.Entries) > format.MaxGPUs*format.EntryBytes {
		return nil, fmt.Errorf("%w: %d bytes of entries", ErrNonsense, len(m.Entries))
	}
	s := &format.Signed{Commitment: m.Commitment, Signature: m.Signature[:]}
	for b := range slices.Chunk(m.Entries, format.EntryBytes) {
		e, err := format.DecodeEntry(b)
		if err != nil {
			return nil, err
		}
		s.Entries = append(s.Entries, e)
	}
	return s, nil
}
