package award

import (
	"context"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txm"
)

func TestMissingDependenciesAreErrors(t *testing.T) {
	full := Options{
		View: view.New(view.Options{}), Matcher: match.New(), Self: solana.PublicKey{1}, Step: time.Second, Observe: func(int, time.Duration, error) {}, Now: time.Now,
		Draw:   func(*market.Order) (market.DrawSeed, bool) { return market.DrawSeed{}, true },
		Submit: func(context.Context, txm.Intent) (txm.Result, error) { return txm.Result{}, nil },
	}
	_, err := New(full)
	require.NoError(t, err)
	options.Without(full, []string{"Log", "Tasks"}, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
}
