package buy

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// A machine says that a job runs before the customer's program sees the start on chain. An inspection waits for it.
func TestAnInspectionAwaitsTheStartOnChain(t *testing.T) {
	at := solana.PublicKey{7}
	in := func(s market.LeaseStatus) *market.Lease {
		return &market.Lease{Meta: market.Meta{Address: at}, Lease: bindings.Lease{Status: uint8(s)}}
	}
	for name, c := range map[string]struct {
		then func(*view.View)
		want market.LeaseStatus
		ok   bool
	}{
		"it starts": {func(v *view.View) { v.Put(at, in(market.LeaseRunning)) }, market.LeaseRunning, true},
		"it ends":   {func(v *view.View) { v.Put(at, in(market.LeaseEnded)) }, market.LeaseEnded, true},
		"it closes": {func(v *view.View) { v.Put(at, nil) }, market.LeaseAwarded, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := view.New(view.Options{})
				v.Put(at, in(market.LeaseAwarded))
				over := make(chan struct{})
				var cur market.Lease
				var ok bool
				var err error
				go func() {
					defer close(over)
					cur, ok, err = started(t.Context(), v, *in(market.LeaseAwarded))
				}()
				synctest.Wait()
				select {
				case <-over:
					require.Fail(t, "it did not wait")
				default:
				}
				c.then(v)
				<-over
				require.NoError(t, err)
				require.Equal(t, c.ok, ok)
				if ok {
					require.Equal(t, c.want, cur.State())
				}
			})
		})
	}
	ended, end := context.WithCancel(t.Context())
	end()
	v := view.New(view.Options{})
	v.Put(at, in(market.LeaseAwarded))
	_, _, err := started(ended, v, *in(market.LeaseAwarded))
	require.ErrorIs(t, err, context.Canceled)
}
