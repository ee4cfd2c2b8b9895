package buy

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

// Whether a lease is inspected is drawn once: a repeated purchase and the next server know it from the folder.
func TestWhatIsdrawnForALeaseStays(t *testing.T) {
	f, err := purchase.Open(filepath.Join(t.TempDir(), "state"), solana.Hash{1}, solana.PublicKey{2})
	require.NoError(t, err)
	b := &Buyer{folder: f}
	lease := func(n byte, simulated bool) service.Lease {
		order := solana.PublicKey{n, 1}
		held, err := f.Hold(order)
		require.NoError(t, err)
		require.NoError(t, held.Release())
		return service.Lease{Order: order.String(), Address: solana.PublicKey{n, 2}.String(), Simulated: simulated, Status: market.LeaseRunning.String()}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	server := func() *Inspections { // one that ends: nothing is measured
		i, end := NewInspections(over)
		t.Cleanup(end)
		return i
	}
	var none *Inspections
	require.NoError(t, none.Bought(b, Always, []service.Lease{lease(1, false)}), "a command has none")

	i := server()
	plain, simulated, always, waiting := lease(2, false), lease(3, true), lease(4, true), lease(5, false)
	waiting.Status = market.LeaseAwarded.String()
	require.NoError(t, i.Bought(b, Never, []service.Lease{plain}))
	require.NoError(t, i.Bought(b, "", []service.Lease{plain}))
	require.Nil(t, i.Of(plain.Address))
	require.NoError(t, i.Bought(b, Auto, []service.Lease{simulated, waiting}))
	require.Equal(t, service.InspectionSpared, i.Of(simulated.Address).State)
	require.Nil(t, i.Of(waiting.Address), "it is drawn when it runs")
	require.NoError(t, i.Bought(b, Always, []service.Lease{simulated, always}))
	require.Equal(t, service.InspectionSpared, i.Of(simulated.Address).State)
	require.Equal(t, service.InspectionDue, i.Of(always.Address).State)

	drawn := map[string]string{}
	for n := range 200 {
		l := lease(byte(n+20), false)
		require.NoError(t, i.Bought(b, Auto, []service.Lease{l}))
		drawn[l.Address] = i.Of(l.Address).State
		for range 3 {
			next := server()
			require.NoError(t, next.Bought(b, Auto, []service.Lease{l}))
			require.Equal(t, drawn[l.Address], next.Of(l.Address).State)
		}
	}
	due := 0
	for _, state := range drawn {
		if state == service.InspectionDue {
			due++
		}
	}
	require.Positive(t, due)
	require.Less(t, due, 100)

	leases := []service.Lease{always, plain}
	service.Inspected(i, leases)
	require.Equal(t, service.InspectionDue, leases[0].Inspection.State)
	require.Nil(t, leases[1].Inspection)
	service.Inspected(nil, leases)
}
