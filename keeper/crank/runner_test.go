package crank

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txform"
	"github.com/gantry-market/gantry/sdk/txm"
)

// chain refuses transactions that name a poisoned account and removes the faults of others.
type chain struct {
	mu       sync.Mutex
	x        *view.View
	poisoned solana.PublicKey
	ids      map[string]int
	sizes    []int
}

func (c *chain) submit(_ context.Context, in txm.Intent) (txm.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids[in.ID]++
	var faults []solana.PublicKey
	for _, ix := range in.Instructions {
		if ix.ProgramID() != market.ProgramID {
			continue
		}
		fault := ix.Accounts()[6].PublicKey
		if fault == c.poisoned {
			return txm.Result{}, &txerr.ProgramError{Program: market.ProgramID, HasCode: true, Code: uint32(bindings.ErrorCodeInvariantBroken)}
		}
		faults = append(faults, fault)
	}
	c.sizes = append(c.sizes, len(faults))
	for _, f := range faults {
		c.x.Put(f, nil)
	}
	return txm.Result{}, nil
}

// One action that is refused for ever takes nobody else down with it, and is tried less and less often.
func TestPoisonIsIsolated(t *testing.T) {
	matcher := match.New()
	x := view.New(view.Options{Listeners: []view.Listener{matcher}})
	v := newView()
	x.Put(market.MarketAddress(), v.Market)
	c := &chain{x: x, poisoned: solana.PublicKey{63}, ids: map[string]int{}}
	for i := byte(60); i < 70; i++ {
		f := &market.Fault{Meta: market.Meta{Address: solana.PublicKey{i}}}
		f.ApplicableAt, f.Fault.Node = now-100, solana.PublicKey{i, 1}
		x.Put(f.Address, f)
	}
	outcomes, overdue := map[string]int{}, 0
	var mu sync.Mutex
	r, err := New(Options{
		View: x, Matcher: matcher, Self: self, Sets: func(records.Period, records.Hash) *report.Set { return nil }, Submit: c.submit, Form: func(context.Context) txform.Form { return txform.Legacy }, Interval: 10 * time.Millisecond, Step: time.Millisecond,
		Observe: func(_ Kind, n int, outcome string, _ time.Duration) { mu.Lock(); outcomes[outcome] += n; mu.Unlock() },
		Overdue: func(Kind, time.Duration) { mu.Lock(); overdue++; mu.Unlock() },
		Log:     zerolog.Nop(), Now: func() func() time.Time {
			start := time.Now()
			return func() time.Time { return time.Unix(now, 0).Add(time.Since(start)) }
		}(),
	})
	require.NoError(t, err)
	options.Without(r.o, []string{"More", "OnlyMore", "Log", "Tasks"}, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	require.Eventually(t, func() bool {
		left := 0
		x.Read(func(v *view.Accounts) { left = len(v.Faults) })
		return left == 1
	}, time.Minute, 5*time.Millisecond)
	time.Sleep(300 * time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	c.mu.Lock()
	defer c.mu.Unlock()
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 9, outcomes["done"])
	require.Equal(t, 9, overdue, "the lag of each is observed once, and not of the one that is still due")
	tries := 0
	for _, n := range c.ids {
		tries += n
	}
	require.Less(t, tries, 30, "the refused one is not hammered")
	require.Greater(t, len(c.sizes), 0)
}
