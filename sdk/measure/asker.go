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

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

const (
	// DefaultSlack is how long a commitment is waited for beyond twice the time that the profiles ask for.
	DefaultSlack = 10 * time.Second
	// DefaultPause lies between a lost stream and the next.
	DefaultPause = time.Second
	// DefaultWait is how long one opening is waited for.
	DefaultWait = 10 * time.Second
	// maxJoins is how often a run is joined whose stream is lost.
	maxJoins = 4
	// openTries is how often what is drawn is asked for, each time over a new connection.
	openTries = 3
)

// Line reaches one machine for one measurement.
type Line interface {
	// Join hands over items as they come, until item returns an error, which it returns, or the stream or ctx ends.
	Join(ctx context.Context, item func(messages.MeasureItem) error) error
	Open(ctx context.Context, gpu uint8, challenge [32]byte) (messages.MeasureOpening, error)
	// Renew replaces the connection by a new one, so that a line that has gone bad is not taken for a machine that evades.
	Renew(ctx context.Context) error
}

// Asked is one measurement of a machine.
type Asked struct {
	Place format.Place
	// Key is the machine's.
	Key solana.PublicKey
	// GPUs are asked for in ascending order: 1 to 8.
	GPUs []format.Asked
	// Simulated GPUs are measured by the times that the machine states: format.Stated says why.
	Simulated bool
	// Start is when no one could have begun before, by the clock of who asks.
	Start time.Time
	// Together: all machines of a market are measured at this moment. Memory that is shown too late may have been another's until
	// then, so that nothing is known of a machine that is.
	Together bool
}

// Options of New. All have defaults.
type Options struct {
	// Rand is what draws are made of; nil means crypto/rand.
	Rand io.Reader
	Now  func() time.Time
	// Slack, Pause and Wait are zero for the defaults. So is Overrun, which bounds that of runs that are measured together.
	Slack, Pause, Wait, Overrun time.Duration
}

// Asker measures machines. It is safe for concurrent use; answers are verified on as many processors as there are.
type Asker struct {
	o     Options
	slots chan struct{} // who verifies

	mu      sync.Mutex
	period  [32]byte // the instant of columns
	columns map[uint32]*format.Columns
}

// New returns an Asker.
func New(o Options) *Asker {
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	for _, d := range []struct {
		of   *time.Duration
		when time.Duration
	}{{&o.Slack, DefaultSlack}, {&o.Pause, DefaultPause}, {&o.Wait, DefaultWait}, {&o.Overrun, format.MaxOverrun}} {
		if *d.of <= 0 {
			*d.of = d.when
		}
	}
	return &Asker{o: o, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// Measure measures a machine. It asks for at most twice the profiles' times, the slack and three openings' time after the
// start, and verifies then.
func (k *Asker) Measure(ctx context.Context, a Asked, line Line) Result {
	c := newCollected(a.GPUs, k.o.Now)
	all, err := k.measure(ctx, a, line, c)
	if err == nil {
		return Result{Outcome: Measured, Figures: least(all), GPUs: all, Guest: c.guest}
	}
	r := Result{Outcome: Unknown, Why: err}
	var f *failure
	if errors.As(err, &f) {
		r.Outcome, r.Why = f.outcome, f.err
	}
	if r.Outcome == Wrong {
		r.Record = c.record(a)
	}
	var cell *format.WrongCell
	switch {
	case ctx.Err() != nil && r.Outcome != Wrong:
		r.Outcome = Unknown
	case errors.As(err, &cell):
		r.Proof = &Proof{Signed: *c.signed, Entry: entryOf(a.GPUs, cell.GPU), Cell: cell}
	}
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

// least are the figures of the slowest GPU in each.
func least(all []format.Figures) format.Figures {
	f := all[0]
	for _, g := range all[1:] {
		f.Operations, f.Memory, f.Bandwidth = min(f.Operations, g.Operations), min(f.Memory, g.Memory), min(f.Bandwidth, g.Bandwidth)
	}
	return f
}

func (k *Asker) measure(ctx context.Context, a Asked, line Line, c *collected) ([]format.Figures, error) {
	if err := k.collect(ctx, a, line, c); err != nil {
		return nil, err
	}
	commitment, err := c.signed.Check(a.Place, a.Key, a.GPUs)
	if err != nil {
		return nil, fail(Wrong, err)
	}
	for i, e := range c.signed.Entries { // what is cheap, of all GPUs, before anything is opened
		err := format.CheckRoots(e, c.roots[i], nil)
		if err != nil && c.again() && int(e.Rounds) < len(c.roots[i]) {
			return nil, fail(Unknown, fmt.Errorf("%w: its second run has fewer rounds: %w: GPU %d", ErrLost, err, e.GPU))
		}
		if err != nil {
			return nil, fail(Wrong, fmt.Errorf("%w: GPU %d", err, e.GPU))
		}
	}
	draws, err := k.openAll(ctx, a, line, c)
	if err != nil {
		return nil, err
	}
	all := make([]format.Figures, len(a.GPUs))
	for i, e := range c.signed.Entries {
		if err := k.verify(ctx, a, c, i, commitment, draws[i]); err != nil {
			return nil, err
		}
		if a.Simulated {
			all[i] = format.Stated(a.GPUs[i].Profile, e)
			continue
		}
		timing := format.Timing{Start: a.Start, Roots: c.came[i], Commitment: c.at}
		if over := timing.Overrun(a.GPUs[i].Profile, e); a.Together && over > k.o.Overrun {
			return nil, fail(Unknown, fmt.Errorf("%w: GPU %d took %s longer than asked for, %s are allowed", ErrLate, e.GPU, over.Round(time.Millisecond), k.o.Overrun))
		}
		all[i] = format.Measured(a.GPUs[i].Profile, e, timing)
	}
	return all, nil
}

// limit is how long after the start the commitment may come.
func (k *Asker) limit(asked []format.Asked) time.Duration {
	var longest time.Duration
	for _, a := range asked {
		longest = max(longest, a.Profile.Time())
	}
	return 2*longest + k.o.Slack
}

// collect joins the machine's run, again when its stream is lost, until the commitment has come. Error:
// *failure.
func (k *Asker) collect(ctx context.Context, a Asked, line Line, c *collected) error {
	ctx, cancel := context.WithTimeout(ctx, k.limit(a.GPUs)-k.o.Now().Sub(a.Start))
	defer cancel()
	for {
		c.begin()
		err := line.Join(ctx, c.item)
		if err == nil {
			err = errors.New("the stream ended without a commitment")
		}
		switch f := ofCall(err); {
		case c.refused == messages.MeasureBlock:
			return fail(Unknown, &RefusedError{c.refused})
		case c.refused != 0:
			return fail(Refused, &RefusedError{c.refused})
		case c.signed != nil:
			return nil
		case f.outcome == Refused && errors.Is(err, p2p.ErrProtocol) && c.streams < maxJoins:
			// An agent that starts again can be reached before it answers.
		case f.outcome != Unknown:
			return f
		case ctx.Err() != nil:
			return fail(Unknown, fmt.Errorf("%w: %w", ErrSilent, err))
		case c.streams == maxJoins:
			return f
		}
		select {
		case <-ctx.Done():
		case <-time.After(k.o.Pause):
		}
	}
}
