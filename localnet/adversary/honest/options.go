package honest

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
	// For is how long leases are rented; what runs then is awaited afterwards.
	For time.Duration
	// Period of the market's reports.
	Period time.Duration
	// Busy is how many processes keep a processor busy beside it all.
	Busy int
	// Lag is how far the RPC node of one machine and of one keeper is behind; that of another machine is a third of it.
	Lag time.Duration
	// Empty, Null and Disagree are shares of what their RPC nodes answer, see fault.Faults. Drop is how long their
	// WebSockets last on average.
	Empty, Null, Disagree float64
	Drop                  time.Duration
	// Out gets progress for people.
	Out io.Writer
	Log zerolog.Logger
}

// ErrOptions is the error of options that make no sense.
var ErrOptions = errors.New("these options cannot be used")

// Bad are the faults of the RPC nodes of a run where nothing else is asked for.
func Bad(o Options) Options {
	o.Lag, o.Empty, o.Null, o.Disagree, o.Drop = 30*time.Second, 0.2, 0.02, 0.1, 40*time.Second
	return o
}

func (o Options) check() error {
	share := func(x float64) bool { return x >= 0 && x <= 1 }
	switch {
	case o.For < 4*o.Period:
		return fmt.Errorf("%w: --for %s is less than four periods of %s", ErrOptions, o.For, o.Period)
	case o.Period < 5*time.Second || o.Period%time.Second != 0:
		return fmt.Errorf("%w: --period %s; give whole seconds, at least 5s", ErrOptions, o.Period)
	case o.Busy < 0:
		return fmt.Errorf("%w: --busy %d; give 0 or more", ErrOptions, o.Busy)
	case o.Lag < 0 || o.Lag > mostLag:
		return fmt.Errorf("%w: --lag %s; give 0 to %s: transactions of a node that is further behind are out of date", ErrOptions, o.Lag, mostLag)
	case !share(o.Empty) || !share(o.Null) || !share(o.Disagree):
		return fmt.Errorf("%w: --empty, --null and --disagree are shares between 0 and 1", ErrOptions)
	case o.Drop < 0:
		return fmt.Errorf("%w: --drop %s; give 0 or more", ErrOptions, o.Drop)
	}
	return nil
}

// mostLag leaves a transaction ten seconds of the 150 slots for which its blockhash is good.
const mostLag = 150*slotTime - 10*time.Second
