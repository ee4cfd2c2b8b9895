package soak

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/localnet/engine"
)

// Options of a run.
type Options struct {
	Engine engine.Kind
	// Dir is the state directory; logs stay there.
	Dir string
	// Keepers, Nodes and Customers are counts.
	Keepers, Nodes, Customers int
	// For is how long orders are placed; reports are awaited afterwards.
	For time.Duration
	// OrderEvery is the time between two orders.
	OrderEvery time.Duration
	// Period of the market's reports.
	Period time.Duration
	// CheckEvery is the time between a keeper's looks at a node.
	CheckEvery time.Duration
	// InjectFaults makes the node's answers to keepers and machines late, lost, old, broken or missing, and cuts
	// connections, from time to time. Their warnings need no explanation then; the state on chain is judged as ever.
	InjectFaults bool
	// Out gets progress for people.
	Out io.Writer
	Log zerolog.Logger
}

// ErrOptions is the error of options that make no sense.
var ErrOptions = errors.New("these options cannot be used")

// nodesOfProvider is how many machines one provider owns: its stake covers so many.
const nodesOfProvider = 10

func (o Options) check() error {
	switch {
	case o.Keepers < 1 || o.Nodes < 1 || o.Customers < 1:
		return fmt.Errorf("%w: at least one keeper, node and customer is needed", ErrOptions)
	case o.For < 2*o.Period:
		return fmt.Errorf("%w: --for %s is less than two periods of %s", ErrOptions, o.For, o.Period)
	case o.Period < 5*time.Second || o.Period%time.Second != 0:
		return fmt.Errorf("%w: --period %s; give whole seconds, at least 5s", ErrOptions, o.Period)
	case o.CheckEvery <= 0 || o.CheckEvery > o.Period/2:
		return fmt.Errorf("%w: --check-every %s; give at most half of the period of %s", ErrOptions, o.CheckEvery, o.Period)
	case o.OrderEvery <= 0:
		return fmt.Errorf("%w: --order-every must be greater than zero", ErrOptions)
	}
	return nil
}
