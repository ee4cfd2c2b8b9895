package clock

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

var start = time.Unix(1_800_000_000, 0)

// world is a machine and a chain. True time goes on with pass; the machine's date and what endpoints say are off.
type world struct {
	mu        sync.Mutex
	passed    time.Duration
	date      time.Duration   // by how much the machine's date is ahead
	endpoints []time.Duration // by how much each endpoint is ahead
	still     *time.Time      // the chain's time does not advance
	err       error
	reads     int
	log       bytes.Buffer
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passed += d
}

func (w *world) true() time.Time { return start.Add(w.passed) }

func (w *world) clock(t *testing.T, local bool) *Clock {
	t.Helper()
	c, err := New(Options{
		Local: func() bool { return local }, Log: zerolog.New(&w.log),
		Machine: func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.true().Add(w.date) },
		Steady:  func() time.Duration { w.mu.Lock(); defer w.mu.Unlock(); return w.passed },
		Read: func(context.Context) ([]time.Time, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.reads++
			if w.err != nil {
				return nil, w.err
			}
			var out []time.Time
			for _, e := range w.endpoints {
				at := w.true()
				if w.still != nil {
					at = *w.still
				}
				out = append(out, at.Add(e).Truncate(time.Second))
			}
			return out, nil
		},
	})
	require.NoError(t, err)
	return c
}

// looks reads the chain as Run does, for a while.
func (w *world) looks(t *testing.T, c *Clock, during time.Duration) {
	t.Helper()
	for end := w.passed + during; w.passed < end; {
		w.pass(min(c.pause(), end-w.passed))
		if err := c.Look(context.Background()); w.err == nil {
			require.NoError(t, err)
		}
	}
}

func (w *world) right(t *testing.T, c *Clock, why ...any) {
	t.Helper()
	require.InDelta(t, 0, c.Now().Sub(w.true()).Seconds(), 3, why...)
}

// A machine's date that is off does not reach what the market's deadlines are compared with.
func TestAWrongDateDoesNotMatter(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour, 10 * time.Second, -10 * time.Second, 30 * 24 * time.Hour} {
		w := &world{date: off, endpoints: []time.Duration{0}}
		c := w.clock(t, false)
		require.NoError(t, c.Look(context.Background()))
		w.right(t, c, off)
		w.looks(t, c, time.Hour)
		w.right(t, c, off)
		require.InDelta(t, off.Seconds(), c.Ahead().Seconds(), 3)
		require.Equal(t, 1, strings.Count(w.log.String(), `"level":"warn"`), "said once: %s", w.log.String())
		require.Contains(t, c.Wrong(), map[bool]string{true: "ahead of", false: "behind"}[off > 0])
		require.Contains(t, c.Wrong(), "NTP")
		w.date = 0
		w.looks(t, c, 2*time.Minute)
		require.Empty(t, c.Wrong())
		require.Contains(t, w.log.String(), "agrees with the chain's again")
		require.Zero(t, c.Ahead())
	}
}

// A right date is used as it is: it is finer than the chain's time.
func TestARightDateIsUsed(t *testing.T) {
	for _, late := range []time.Duration{0, -time.Second, -2 * time.Second, 500 * time.Millisecond} {
		w := &world{endpoints: []time.Duration{late}}
		c := w.clock(t, false)
		require.NoError(t, c.Look(context.Background()))
		w.pass(1234 * time.Millisecond)
		require.Equal(t, w.true(), c.Now())
		require.Empty(t, w.log.String())
	}
}

// The date jumps while the process runs, also while no endpoint answers.
func TestADateThatJumpsDoesNotMoveTheClock(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		w := &world{endpoints: []time.Duration{0}}
		c := w.clock(t, false)
		w.looks(t, c, time.Minute)
		w.date = off
		w.right(t, c, "before any reading")
		w.err = errors.New("no answer")
		w.looks(t, c, 20*time.Minute)
		w.right(t, c, "without a reading")
		w.err = nil
		w.looks(t, c, 20*time.Minute)
		w.right(t, c)
		require.InDelta(t, off.Seconds(), c.Ahead().Seconds(), 3)
	}
}

// Run sees that the date has jumped and reads the chain at once.
func TestAJumpIsLookedAtOnce(t *testing.T) {
	w := &world{endpoints: []time.Duration{0}}
	c := w.clock(t, false)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	reads := func() int { w.mu.Lock(); defer w.mu.Unlock(); return w.reads }
	require.Eventually(t, func() bool { return reads() == 1 }, time.Minute, 10*time.Millisecond)
	w.mu.Lock()
	w.date = time.Hour
	w.mu.Unlock()
	require.Eventually(t, func() bool { return reads() == 2 }, time.Minute, 10*time.Millisecond)
	end()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Contains(t, w.log.String(), "1h0m0s ahead of")
}

// A chain whose time stands still, or an endpoint that repeats an old one, does not stop the clock.
func TestAStandingChainDoesNotStopTheClock(t *testing.T) {
	for _, date := range []time.Duration{0, time.Hour, -time.Hour} {
		w := &world{date: date, endpoints: []time.Duration{0}}
		c := w.clock(t, false)
		w.looks(t, c, time.Minute)
		at := w.true()
		w.still = &at
		w.looks(t, c, time.Hour)
		w.right(t, c, date)
		w.still = nil
		w.looks(t, c, time.Minute)
		w.right(t, c, date)
	}
}

// One endpoint that says something else than before moves the clock neither at once nor far.
func TestOneEndpointIsNotBelievedAtOnce(t *testing.T) {
	for _, lie := range []time.Duration{time.Hour, -time.Hour, 2 * time.Minute, -2 * time.Minute} {
		for _, date := range []time.Duration{0, 5 * time.Hour} {
			w := &world{date: date, endpoints: []time.Duration{0}}
			c := w.clock(t, false)
			w.looks(t, c, time.Minute)
			w.endpoints = []time.Duration{lie}
			w.looks(t, c, Patience-time.Minute)
			w.right(t, c, lie)
			require.Contains(t, w.log.String(), "nothing confirms it")
			w.endpoints = []time.Duration{0}
			w.looks(t, c, time.Minute)
			w.right(t, c, lie)
		}
	}
	// A chain that was halted goes on from where it stood: in the end it is right.
	w := &world{date: 5 * time.Hour, endpoints: []time.Duration{0}}
	c := w.clock(t, false)
	w.looks(t, c, time.Minute)
	w.endpoints = []time.Duration{-time.Hour}
	w.looks(t, c, Patience+time.Minute)
	require.InDelta(t, -3600, c.Now().Sub(w.true()).Seconds(), 3)
}

// A second witness shortens that: another endpoint, or the date of the machine.
func TestWitnesses(t *testing.T) {
	w := &world{date: 7 * time.Hour, endpoints: []time.Duration{0, 0}}
	c := w.clock(t, false)
	w.looks(t, c, time.Minute)
	w.endpoints = []time.Duration{-time.Hour, -time.Hour} // the chain was halted
	w.looks(t, c, time.Minute)
	require.InDelta(t, -3600, c.Now().Sub(w.true()).Seconds(), 3)

	w.endpoints = []time.Duration{-2 * time.Hour, -time.Hour} // one of two is wrong
	w.looks(t, c, time.Hour)
	require.InDelta(t, -3600, c.Now().Sub(w.true()).Seconds(), 3)

	w.date, w.endpoints = -time.Hour, []time.Duration{-time.Hour}
	require.NoError(t, c.Look(context.Background()))
	require.Zero(t, c.Ahead())

	w = &world{endpoints: []time.Duration{-time.Hour, 0}} // at the start
	c = w.clock(t, false)
	require.NoError(t, c.Look(context.Background()))
	w.right(t, c)
}

// A local chain's clock may be moved by tests.
func TestALocalChainIsFollowed(t *testing.T) {
	w := &world{endpoints: []time.Duration{0}}
	c := w.clock(t, true)
	w.looks(t, c, time.Minute)
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		w.endpoints = []time.Duration{off}
		require.NoError(t, c.Look(context.Background()))
		require.InDelta(t, off.Seconds(), c.Now().Sub(w.true()).Seconds(), 3)
		require.Equal(t, c.Now(), c.Cautious())
	}
}

// The chain's clock may be slower or faster than real time; the clock follows it smoothly.
func TestADriftingChainIsFollowed(t *testing.T) {
	for _, drift := range []time.Duration{time.Second, -time.Second} {
		w := &world{date: 3 * time.Hour, endpoints: []time.Duration{0}}
		c := w.clock(t, false)
		for range 200 {
			w.endpoints[0] += drift
			w.looks(t, c, 20*time.Second)
			require.InDelta(t, 0, c.Now().Sub(w.true().Add(w.endpoints[0])).Seconds(), 8)
		}
	}
}

// One endpoint cannot lead the clock away a step at a time from a machine whose date is right, and ends nothing early.
func TestOneEndpointDoesNotWalkTheClock(t *testing.T) {
	w := &world{endpoints: []time.Duration{0}}
	c := w.clock(t, false)
	w.looks(t, c, time.Minute)
	for range 60 {
		w.endpoints[0] += 10 * time.Second
		for range 2 { // it repeats itself
			w.looks(t, c, againAfter)
			require.LessOrEqual(t, c.Now().Sub(w.true()), step)
			at, err := c.Confirmed(context.Background())
			require.NoError(t, err)
			require.LessOrEqual(t, at.Sub(w.true()), time.Second)
		}
	}
}

// What ends something for good goes by the chain and a second witness.
func TestConfirmed(t *testing.T) {
	ctx := context.Background()
	for name, x := range map[string]struct {
		date      time.Duration
		endpoints []time.Duration
		known     bool
		want      time.Duration
	}{
		"all right":                          {0, []time.Duration{0}, true, 0},
		"the date is ahead":                  {time.Hour, []time.Duration{0}, true, 0},
		"the date is behind":                 {-time.Hour, []time.Duration{0}, true, 0},
		"one endpoint says an hour later":    {0, []time.Duration{time.Hour}, true, 0},
		"and the date is behind":             {-time.Hour, []time.Duration{time.Hour}, true, 0},
		"and the clock has no past":          {0, []time.Duration{time.Hour}, false, 0},
		"one endpoint says an hour earlier":  {0, []time.Duration{-time.Hour}, true, -time.Hour},
		"two say an hour later":              {0, []time.Duration{time.Hour, time.Hour}, true, time.Hour},
		"one of two says so":                 {0, []time.Duration{0, time.Hour}, true, 0},
		"two of three, one an hour earlier":  {0, []time.Duration{-time.Hour, 0, 0}, true, 0},
		"the date is behind, without a past": {-time.Hour, []time.Duration{0}, false, -time.Hour},
	} {
		w := &world{date: x.date, endpoints: []time.Duration{0}}
		c := w.clock(t, false)
		if x.known {
			w.looks(t, c, time.Minute)
		}
		w.endpoints = x.endpoints
		w.pass(5 * time.Second)
		got, err := c.Confirmed(ctx)
		require.NoError(t, err, name)
		require.InDelta(t, x.want.Seconds(), got.Sub(w.true()).Seconds(), 3, name)
	}
	w := &world{err: errors.New("no answer")}
	_, err := w.clock(t, false).Confirmed(ctx)
	require.ErrorIs(t, err, w.err)
	w = &world{}
	_, err = w.clock(t, false).Confirmed(ctx)
	require.Error(t, err, "no endpoint is no confirmation")
}

// Whoever answers for the chain's time can bring a node to show its bid two seconds early at most, or fifteen when all
// endpoints agree to lie.
func TestOneEndpointsClockRevealsNoBidEarly(t *testing.T) {
	for name, x := range map[string]struct {
		date      time.Duration
		endpoints []time.Duration
		local     bool
		want      time.Duration
	}{
		"one says an hour later":          {0, []time.Duration{time.Hour}, false, cautiousByOne},
		"one of two says so":              {0, []time.Duration{0, time.Hour}, false, 0},
		"two of three say so":             {0, []time.Duration{0, time.Hour, time.Hour}, false, 0},
		"all say so":                      {0, []time.Duration{time.Hour, time.Hour}, false, cautiousBySeveral},
		"this clock is ten seconds late":  {-10 * time.Second, []time.Duration{0, 0}, false, 0},
		"this clock is an hour ahead":     {time.Hour, []time.Duration{0}, false, 0},
		"one of three says an hour early": {0, []time.Duration{-time.Hour, 0, 0}, false, 0},
		"a local network's clock moved":   {0, []time.Duration{time.Hour}, true, time.Hour},
	} {
		w := &world{date: x.date, endpoints: x.endpoints}
		c := w.clock(t, x.local)
		require.NoError(t, c.Look(context.Background()), name)
		require.InDelta(t, x.want.Seconds(), c.Cautious().Sub(w.true()).Seconds(), 1, name)
	}
	w := &world{endpoints: []time.Duration{0}}
	c := w.clock(t, false)
	w.looks(t, c, time.Minute)
	w.date, w.endpoints = time.Hour, []time.Duration{time.Hour - 10*time.Second} // the date is wrong, and an endpoint lies
	w.looks(t, c, 2*Patience)
	require.Less(t, c.Cautious().Sub(w.true()), 3*time.Second, "what was right once is counted on")
}

// Programs that do not run the clock read the chain when they need it, not each time.
func TestFresh(t *testing.T) {
	w := &world{date: time.Hour, endpoints: []time.Duration{0}}
	c := w.clock(t, false)
	for range 60 {
		w.pass(time.Second)
		at, err := c.Fresh(context.Background())
		require.NoError(t, err)
		require.InDelta(t, 0, at.Sub(w.true()).Seconds(), 3)
	}
	require.LessOrEqual(t, w.reads, 3)
	w.err = errors.New("no answer")
	w.pass(time.Minute)
	_, err := c.Fresh(context.Background())
	require.ErrorIs(t, err, w.err)
	before := w.reads
	for range 20 {
		w.pass(time.Second)
		require.InDelta(t, 0, c.Latest(context.Background()).Sub(w.true()).Seconds(), 3)
	}
	require.InDelta(t, 4, w.reads-before, 1, "a chain that does not answer is not asked each time")
}

func TestTheMachinesOwnClockRuns(t *testing.T) {
	_, err := New(Options{})
	require.Error(t, err)
	c, err := New(Options{Read: func(context.Context) ([]time.Time, error) { return []time.Time{time.Now().Add(-time.Hour)}, nil }})
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), c.Now(), time.Second, "before the first reading")
	require.NoError(t, c.Look(context.Background()))
	a := c.Now()
	time.Sleep(20 * time.Millisecond)
	require.Greater(t, c.Now().Sub(a), 10*time.Millisecond)
	require.WithinDuration(t, time.Now().Add(-time.Hour), c.Now(), time.Second)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				_, _ = c.Now(), c.Cautious()
				_, _ = c.Ahead(), c.Wrong()
				_, _ = c.Confirmed(context.Background())
			}
		})
	}
	wg.Wait()
}
