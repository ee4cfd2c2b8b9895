package daemon

import (
	"context"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// The nodes of an order are drawn by the first block of the second after its creation, by every keeper the same, whenever
// it looks; two orders of one second are drawn apart.
func TestDrawsAreFound(t *testing.T) {
	l := newLedger(600, 1_000, func(i int) (uint64, int64) { return 1 + uint64(i%2), int64(i % 3 / 2) })
	o := drawOptions{Chain: l, Domain: records.Domain{1}}
	options.Without(o, []string{"Log"}, func(field string, o drawOptions) {
		_, err := newDraws(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
	d, err := newDraws(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.run(ctx) }()

	order := func(n byte, created int64) *market.Order {
		o := &market.Order{Meta: market.Meta{Address: solana.PublicKey{n}}}
		o.CreatedAt = created
		return o
	}
	find := func(d *draws, o *market.Order) (seed market.DrawSeed) {
		require.Eventually(t, func() (ok bool) { seed, ok = d.get(o); return ok }, waitLimit, 2*time.Millisecond)
		return seed
	}
	one := find(d, order(1, 1_050))
	for _, b := range l.blocks {
		if b.Time.Unix() > 1_050 {
			require.Equal(t, market.NewDrawSeed(o.Domain, solana.PublicKey{1}, b.Hash), one)
			break
		}
	}
	require.NotEqual(t, one, find(d, order(2, 1_050)))
	require.NotEqual(t, one, find(d, order(1, 1_060)), "another life of the order")
	last := l.blocks[len(l.blocks)-1].Time.Unix()
	_, ok := d.get(order(3, last))
	require.False(t, ok, "no block is later yet")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)

	for i := range int64(drawsKept) + 10 {
		require.NoError(t, d.find(t.Context(), draw{solana.PublicKey{9}, 1_070 + i%60}))
		require.NoError(t, d.find(t.Context(), draw{solana.PublicKey{byte(i), byte(i >> 8), 1}, 1_080}))
	}
	require.LessOrEqual(t, len(d.known), drawsKept)
}
