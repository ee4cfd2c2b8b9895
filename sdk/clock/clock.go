package clock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/sdk/chain"
)

const (
	// DefaultEvery is the time between two readings.
	DefaultEvery = 30 * time.Second
	// Patience is how long one endpoint must repeat a time that nothing else confirms before it is believed.
	Patience = 10 * time.Minute
	// Tolerated is the difference between the machine's date and the chain's time that is not worth a message.
	Tolerated = 5 * time.Second

	// The chain's time has whole seconds, and is some seconds old when it is read.
	behind = 3 * time.Second
	ahead  = time.Second
	// step is the jump that one endpoint alone may cause after two readings: the chain's clock is not exact.
	step = 15 * time.Second
	// alike are endpoints whose times differ by no more than this.
	alike = 5 * time.Second
	// againAfter is the time to the next reading after one that contradicts the clock.
	againAfter = 5 * time.Second
	// readTime bounds one reading.
	readTime = 15 * time.Second
	// jumped is how much the machine's date must move against the monotonic clock to be read as a jump.
	jumped = 2 * time.Second
)

// Bounds of [Clock.Cautious] against the machine's own date.
const (
	cautiousByOne     = 2 * time.Second
	cautiousBySeveral = 15 * time.Second
)

// Options of New. Read is required.
type Options struct {
	// Read returns the chain's time by each endpoint that answers, earliest first: Clocks of a chain.Client.
	Read func(context.Context) ([]time.Time, error)
	// Local reports whether the cluster is a local network, which is believed at once: tests move its clock. Nil means that it is
	// none.
	Local func() bool
	// Machine is the date of this machine, which may be wrong; nil means time.Now.
	Machine func() time.Time
	// Steady counts from any moment on and cannot be set; nil means the machine's monotonic clock, which counts the
	// time that the machine sleeps.
	Steady func() time.Duration
	// Every is the time between two readings; 0 means DefaultEvery.
	Every time.Duration
	// Means says for people what a wrong date means for this program; empty for the usual: nothing.
	Means string
	Log   zerolog.Logger
}

// Clock is the chain's time. It is safe for concurrent use. Before the first reading it is the machine's date.
type Clock struct {
	o       Options
	reading sync.Mutex // one reading at a time

	mu    sync.Mutex
	known bool    // the chain was read
	sure  bool    // a later reading has confirmed the mark, or the machine's date has
	mark  moment  // the clock counts from here
	own   moment  // the last time at which the machine's date and the chain agreed
	agree bool    // there was such a time
	last  moment  // of the last reading
	many  bool    // several endpoints said that
	first moment  // the earliest that any endpoint said then
	doubt *moment // the first of the readings in a row that contradict the clock
	told  bool    // that the machine's date is off
	asked bool    // that the endpoints' time is not believed

	failed   bool // the last reading for Latest, at failedAt by the steady clock
	failedAt time.Duration
}

// moment is a time and the reading of the steady clock that belongs to it.
type moment struct {
	at     time.Time
	steady time.Duration
}

// on is the time at a later reading of the steady clock.
func (m moment) on(steady time.Duration) time.Time { return m.at.Add(steady - m.steady) }

// New checks the options. Look or Run must be called for the clock to know the chain.
func New(o Options) (*Clock, error) {
	if o.Read == nil {
		return nil, errors.New("clock: Read is required")
	}
	return newClock(o), nil
}

// Endpoints are those of a chain: *chain.Client.
type Endpoints interface {
	Clocks(ctx context.Context, at chain.Commitment) ([]time.Time, error)
	LocalCluster() bool
}

// Of is a clock that reads the confirmed time of a chain.
func Of(e Endpoints, log zerolog.Logger) *Clock {
	return newClock(Options{
		Read:  func(ctx context.Context) ([]time.Time, error) { return e.Clocks(ctx, chain.Confirmed) },
		Local: e.LocalCluster, Log: log,
	})
}

func newClock(o Options) *Clock {
	if o.Machine == nil {
		o.Machine = time.Now
	}
	if o.Steady == nil {
		o.Steady = steady
	}
	if o.Local == nil {
		o.Local = func() bool { return false }
	}
	if o.Every <= 0 {
		o.Every = DefaultEvery
	}
	if o.Means == "" {
		o.Means = "deadlines are compared with the chain's time; nothing ends early or late"
	}
	return &Clock{o: o}
}

// date is the machine's date without a monotonic reading: differences are those of dates.
func (c *Clock) date() time.Time { return c.o.Machine().Round(0) }

// Now is the chain's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now(c.o.Steady())
}

// now is the time at a reading of the steady clock. The caller holds mu.
func (c *Clock) now(steady time.Duration) time.Time {
	if !c.known {
		return c.date()
	}
	return c.mark.on(steady)
}

// Ahead is by how much the machine's date is ahead of the chain's time, negative where it is behind; 0 while the chain
// is not known, and within the accuracy of the chain's time.
func (c *Clock) Ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead()
}

func (c *Clock) ahead() time.Duration {
	off := c.date().Sub(c.now(c.o.Steady()))
	if !c.known || off <= behind && off >= -ahead {
		return 0
	}
	return off
}

// Confirmed reads the chain and returns the latest time that the chain and a second witness say has come: the machine's
// date, a second endpoint, or the clock as it was before. What ends something for good goes by it. Errors: those of
// Read.
func (c *Clock) Confirmed(ctx context.Context) (time.Time, error) {
	c.mu.Lock()
	known, before := c.known, c.mark
	c.mu.Unlock()
	if err := c.Look(ctx); err != nil {
		return time.Time{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	said := c.last.on(c.o.Steady())
	if c.many || c.o.Local() {
		return said, nil
	}
	witness := c.date()
	carried := before
	if c.agree { // what the endpoint itself has said since is no second witness
		carried = c.own
	}
	if known && carried.on(c.o.Steady()).After(witness) {
		witness = carried.on(c.o.Steady())
	}
	if witness.Before(said) {
		return witness, nil
	}
	return said, nil
}

// Cautious is the chain's time for what must not happen too early because an endpoint lies, such as showing a bid: at
// most two seconds later than the machine's own clock says, fifteen when several endpoints were asked, none of which
// says less. The machine's own clock is its date when that last agreed with the chain, counted on; its date now where
// it never did.
func (c *Clock) Cautious() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	steady := c.o.Steady()
	now := c.now(steady)
	if c.o.Local() {
		return now
	}
	own := c.date()
	if c.agree {
		own = c.own.on(steady)
	}
	most := own.Add(cautiousByOne)
	if c.many {
		most = own.Add(cautiousBySeveral)
		if first := c.first.on(steady); first.Before(own) {
			most = own
		} else if first.Before(most) {
			most = first
		}
	}
	if most.Before(now) {
		return most
	}
	return now
}

// Fresh is the chain's time, read anew where the last reading is old: for those who do not Run the clock. Errors: those
// of Read.
func (c *Clock) Fresh(ctx context.Context) (time.Time, error) {
	c.mu.Lock()
	fresh := c.known && c.doubt == nil && c.o.Steady()-c.last.steady < c.o.Every
	c.mu.Unlock()
	if !fresh {
		if err := c.Look(ctx); err != nil {
			return time.Time{}, err
		}
	}
	return c.Now(), nil
}

// Latest is as Fresh, and the time as far as it is known where the chain does not answer, which is asked again some
// seconds later.
func (c *Clock) Latest(ctx context.Context) time.Time {
	c.mu.Lock()
	wait := c.failed && c.o.Steady()-c.failedAt < againAfter
	c.mu.Unlock()
	if !wait {
		_, err := c.Fresh(ctx)
		c.mu.Lock()
		c.failed, c.failedAt = err != nil, c.o.Steady()
		c.mu.Unlock()
	}
	return c.Now()
}

// Look reads the chain's time once. Errors: those of Read; the clock goes on then.
func (c *Clock) Look(ctx context.Context) error {
	c.reading.Lock()
	defer c.reading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	began := c.o.Steady()
	times, err := c.o.Read(ctx)
	if err != nil {
		return fmt.Errorf("the chain's time: %w", err)
	}
	if len(times) == 0 {
		return errors.New("the chain's time: no endpoint says it")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.take(times, c.o.Steady(), c.o.Steady()-began)
	c.tell(len(times))
	return nil
}

// Run reads the chain's time until ctx ends: every so often, and at once when the machine's date jumps.
func (c *Clock) Run(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	next := c.o.Steady()
	apart := func() time.Duration { return time.Duration(c.date().UnixNano()) - c.o.Steady() }
	before := apart()
	for {
		now := apart()
		if (now - before).Abs() > jumped {
			next = c.o.Steady()
		}
		before = now
		if c.o.Steady() >= next {
			if err := c.Look(ctx); err != nil && ctx.Err() == nil {
				c.o.Log.Debug().Err(err).Msg("the chain's time cannot be read; the clock continues by this machine's monotonic clock")
			}
			next = c.o.Steady() + c.pause()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// pause is the time to the next reading.
func (c *Clock) pause() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.doubt != nil || c.known && !c.sure {
		return min(againAfter, c.o.Every)
	}
	return c.o.Every
}

// began is where Go's monotonic clock is counted from.
var began = time.Now()
