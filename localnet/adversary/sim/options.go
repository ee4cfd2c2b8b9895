package sim

import (
	"errors"
	"fmt"
	"time"
)

// Options say all that a run is a function of.
type Options struct {
	Seed    uint64 `json:"seed"`
	Keepers int    `json:"keepers"`
	Nodes   int    `json:"nodes"`
	Periods int    `json:"periods"`
	// Period is the length of a report period; a check of each node is due a quarter of it after the last.
	Period time.Duration `json:"period"`
	// Faults is how many keepers may be faulty at a time, in any way. Faulty keepers are drawn by the seed.
	Faults int `json:"faults"`
	// Dishonest is how many of all keepers collude from the first to the last second. They count as faulty; when there
	// are more than Faults, they are the only ones. Negative: drawn, up to Faults.
	Dishonest int `json:"dishonest"`
	// Clutter has the dishonest keepers vote before anyone else, each for a root of its own without leaves. Otherwise
	// how they vote is drawn.
	Clutter bool `json:"clutter,omitempty"`
	// Loss is the share of packets that the network loses: gossip is gone, a stream sends again and is late.
	Loss float64 `json:"loss"`
	// Split, if not zero, is for how long all keepers are cut in two at most, once and for half a period at least. It
	// is beyond what Faults allow: nothing can be final then, and everything must be, after it heals.
	Split time.Duration `json:"split_ns"`
	// Endpoints say how bad the RPC nodes of keepers and machines are; zero for nodes that are a second behind and agree.
	Endpoints Endpoints `json:"endpoints"`
}

// ErrOptions is the error of options that make no market.
var ErrOptions = errors.New("these options make no market")

// Faultless is how many keepers of n may be faulty: f of 3f+1.
func Faultless(n int) int { return (n - 1) / 3 }

func (o Options) check() error {
	switch {
	case o.Keepers < 1 || o.Keepers > 64:
		return fmt.Errorf("%w: %d keepers, want 1 to 64", ErrOptions, o.Keepers)
	case o.Nodes < 1 || o.Nodes > 100_000:
		return fmt.Errorf("%w: %d nodes, want 1 to 100000", ErrOptions, o.Nodes)
	case o.Periods < 1 || o.Periods > 10_000:
		return fmt.Errorf("%w: %d periods, want 1 to 10000", ErrOptions, o.Periods)
	case o.Period < 20*time.Second || o.Period%time.Second != 0:
		return fmt.Errorf("%w: a period of %s, want whole seconds, 20 at least", ErrOptions, o.Period)
	case o.Faults < 0 || o.Faults > o.Keepers || o.Dishonest > o.Keepers:
		return fmt.Errorf("%w: more faulty keepers than keepers", ErrOptions)
	case o.Split < 0:
		return fmt.Errorf("%w: a split of %s", ErrOptions, o.Split)
	case o.Loss < 0 || o.Loss > 0.5:
		return fmt.Errorf("%w: loss of %g, want 0 to 0.5", ErrOptions, o.Loss)
	}
	return o.Endpoints.check()
}

// times are the times of a run that follow from its period.
type times struct {
	every   time.Duration // between checks of a node
	timeout time.Duration // for an answer
	delay   time.Duration // between a period's end and the first proposal
	round   time.Duration // before the next keeper proposes
	crank   time.Duration
}

func (o Options) times() times {
	return times{
		every: o.Period / 4, timeout: o.Period / 12, delay: o.Period / 6, round: o.Period / 4, crank: min(o.Period/8, 10*time.Second),
	}
}
