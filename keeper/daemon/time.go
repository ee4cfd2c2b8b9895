package daemon

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/sdk/chain"
	chainclock "github.com/gantry-market/gantry/sdk/clock"
)

// chainTime is the chain's time, which everything that is agreed on chain is compared with. The machine's date decides
// whether a keeper signs at all, and for nothing else: see clock. Errors: those of the chain.
func chainTime(ctx context.Context, c Config, log zerolog.Logger) (*chainclock.Clock, error) {
	t, err := chainclock.New(chainclock.Options{
		Read:  func(ctx context.Context) ([]time.Time, error) { return c.Client.Clocks(ctx, chain.Confirmed) },
		Local: c.Client.LocalCluster, Machine: c.Simulation.date,
		Log: log.Level(max(log.GetLevel(), zerolog.ErrorLevel)), // that the date is off is said by clock
	})
	if err != nil {
		return nil, err
	}
	return t, t.Look(ctx)
}

// ChainTime is the chain's time now.
func ChainTime(ctx context.Context, c Config) (time.Time, error) {
	at, err := chainTime(ctx, c, c.Log)
	if err != nil {
		return time.Time{}, err
	}
	return at.Now(), nil
}
