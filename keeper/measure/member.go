package measure

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/client/market/instant"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/internal/options"
)

const (
	// DefaultSlack is how long a member waits for a commitment beyond twice the time that the profiles ask for.
	DefaultSlack = 10 * time.Second
	// maxJoins is how often a member joins a run whose stream is lost.
	maxJoins = 4
	// openTries is how often it asks for what it has drawn, each time over a new connection.
	openTries = 3
)

// Node is who is measured.
type Node struct {
	// Account is the node's account, Key the machine's.
	Account, Key solana.PublicKey
	// GPUs are asked for in ascending order: 1 to 8.
	GPUs []format.Asked
}

// Options of New. All but Rand, Now, Slack and Log are required.
type Options struct {
	Domain  records.Domain
	Network Network
	// Owes says, when the node has not done what it was asked for, whether it had to: false when a lease is live or has
	// been, or when it had left before the block (docs/adr/0018-instants.md).
	Owes func(node solana.PublicKey, at instant.Instant) bool
	// Rand is what draws are made of; nil means crypto/rand.
	Rand  io.Reader
	Now   func() time.Time
	Slack time.Duration
	Log   zerolog.Logger
}

// Member measures nodes. It is safe for concurrent use; answers are verified on as many processors as there are.
type Member struct {
	o     Options
	slots chan struct{} // who verifies
	pause time.Duration // before a lost stream is joined again
	wait  time.Duration // for one opening; all GPUs together have openTries times as long

	mu      sync.Mutex
	period  [32]byte // the instant of columns
	columns map[uint32]*format.Columns
}

// New checks the options. Error: options.ErrMissing.
func New(o Options) (*Member, error) {
	if err := options.Complete("measure", o, "Rand", "Now", "Slack", "Log"); err != nil {
		return nil, err
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Slack <= 0 {
		o.Slack = DefaultSlack
	}
	return &Member{o: o, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), pause: time.Second, wait: 10 * time.Second}, nil
}

// Measure measures a node at an instant whose block this keeper saw at a time of its own clock. It asks for at
// most twice the profiles' times, the slack and half a minute after saw, and verifies then.
func (m *Member) Measure(ctx context.Context, n Node, at instant.Instant, saw time.Time) Result {
	c := newCollected(n.GPUs, m.o.Now)
	figures, err := m.measure(ctx, n, at, saw, c)
	if err == nil {
		return Result{Outcome: Measured, Figures: figures}
	}
	r := Result{Outcome: Unknown, Why: err}
	var f *failure
	if errors.As(err, &f) {
		r.Outcome, r.Why = f.outcome, f.err
	}
	var refused *RefusedError
	var cell *format.WrongCell
	switch {
	case ctx.Err() != nil && r.Outcome != Wrong:
		r.Outcome = Unknown
	case errors.As(err, &cell):
		r.Proof = &Proof{Signed: *c.signed, Entry: entryOf(n.GPUs, cell.GPU), Cell: cell}
	case r.Outcome == Refused, errors.As(err, &refused), errors.Is(err, ErrUnopened):
		if !m.o.Owes(n.Account, at) {
			r.Outcome = Unknown
		}
	}
	m.o.Log.Info().Stringer("node", n.Account).Stringer("outcome", r.Outcome).AnErr("why", r.Why).Msg("node is not measured")
	return r
}

func entryOf(asked []format.Asked, gpu uint8) int {
	for i, a := range asked {
		if a.GPU == gpu {
			return i
		}
	}
	return -1
}

func (m *Member) measure(ctx context.Context, n Node, at instant.Instant, saw time.Time, c *collected) (format.Figures, error) {
	var least format.Figures
	joins, err := m.collect(ctx, n, at, saw, c)
	if err != nil {
		return least, err
	}
	place := format.Place{Domain: m.o.Domain, Instant: at.Seed, Node: n.Account}
	commitment, err := c.signed.Check(place, n.Key, n.GPUs)
	if err != nil {
		return least, fail(Wrong, err)
	}
	for i, e := range c.signed.Entries { // what is cheap, of all GPUs, before anything is opened
		if err := format.CheckRoots(e, c.roots[i], nil); err != nil {
			return least, fail(Wrong, fmt.Errorf("%w: GPU %d", err, e.GPU))
		}
	}
	draws, err := m.openAll(ctx, n, at, joins > 1)
	if err != nil {
		return least, err
	}
	for i, e := range c.signed.Entries {
		if err := m.verify(ctx, n, at, c, i, commitment, draws[i]); err != nil {
			return least, err
		}
		f := format.Measured(n.GPUs[i].Profile, e, format.Timing{Start: saw, Roots: c.came[i], Commitment: c.at})
		if i == 0 {
			least = f
		}
		least.Operations = min(least.Operations, f.Operations)
		least.Memory = min(least.Memory, f.Memory)
		least.Bandwidth = min(least.Bandwidth, f.Bandwidth)
	}
	return least, nil
}

// limit is how long after the block the commitment may come.
func (m *Member) limit(asked []format.Asked) time.Duration {
	var longest time.Duration
	for _, a := range asked {
		longest = max(longest, time.Duration(a.Profile.ChainMs)*time.Millisecond+time.Duration(a.Profile.WalkMs)*time.Millisecond)
	}
	return 2*longest + m.o.Slack
}

// collect joins the node's run, again when its stream is lost, until the commitment has come, and returns how often it
// did. Error: *failure.
func (m *Member) collect(ctx context.Context, n Node, at instant.Instant, saw time.Time, c *collected) (joins int, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.limit(n.GPUs)-m.o.Now().Sub(saw))
	defer cancel()
	req := messages.MeasureRequest{
		Version: messages.Version, Node: n.Account, Period: uint64(at.Period), Tick: uint8(at.Tick), Slot: at.Slot, BlockHash: at.Hash,
	}
	for {
		c.begin()
		joins++
		err := m.o.Network.Join(ctx, n.Key, req, c.item)
		if err == nil {
			err = errors.New("the stream ended without a commitment")
		}
		switch f := ofCall(err); {
		case c.refused != 0:
			return joins, fail(Refused, &RefusedError{c.refused})
		case c.signed != nil:
			return joins, nil
		case f.outcome != Unknown:
			return joins, f
		case ctx.Err() != nil:
			return joins, fail(Unknown, fmt.Errorf("%w: %w", ErrSilent, err))
		case joins == maxJoins:
			return joins, f
		}
		select {
		case <-ctx.Done():
		case <-time.After(m.pause):
		}
	}
}
