package buy_test

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

// leaseOf is a lease of an order.
func leaseOf(address, order byte, state market.LeaseStatus, awarded int64) market.Lease {
	l := market.Lease{}
	l.Address, l.Order, l.Status, l.AwardedAt = solana.PublicKey{address}, solana.PublicKey{order}, uint8(state), awarded
	return l
}

func TestALeaseIsFoundByTheNameOfItsPurchase(t *testing.T) {
	all := []purchase.Purchase{
		{Name: "train", Order: solana.PublicKey{1}},
		{Name: "other", Order: solana.PublicKey{2}},
		{Order: solana.PublicKey{3}, Joins: solana.PublicKey{1}},
		{Order: solana.PublicKey{4}},
	}
	require.Equal(t, []solana.PublicKey{{1}, {3}}, buy.Named(all, "train"), "with machines that were added")
	require.Empty(t, buy.Named(all, ""), "no name is no name")
	require.Empty(t, buy.Named(all, "trai"))

	other := leaseOf(9, 2, market.LeaseRunning, 5)
	ended, later := leaseOf(10, 1, market.LeaseEnded, 10), leaseOf(11, 1, market.LeaseEnded, 20)
	running, added := leaseOf(12, 1, market.LeaseRunning, 15), leaseOf(13, 3, market.LeaseAwarded, 30)
	orders := buy.Named(all, "train")
	for name, c := range map[string]struct {
		leases []market.Lease
		want   byte
		fails  string
	}{
		"the live one":                  {[]market.Lease{other, ended, running, later}, 12, ""},
		"the latest, where none lives":  {[]market.Lease{later, ended, other}, 11, ""},
		"several":                       {[]market.Lease{running, added}, 0, "train has 2 machines"},
		"none":                          {[]market.Lease{other}, 0, "no machine has train"},
		"one that is awarded, one lost": {[]market.Lease{ended, added}, 13, ""},
	} {
		got, err := buy.LeaseNamed("train", orders, c.leases)
		if c.fails != "" {
			require.ErrorContains(t, err, c.fails, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, solana.PublicKey{c.want}, got, name)
	}

	shown := []service.Lease{{Order: solana.PublicKey{3}.String()}, {Order: solana.PublicKey{4}.String(), Name: "by the server"}, {Order: solana.PublicKey{8}.String()}}
	buy.WithNames(shown, all)
	require.Equal(t, []string{"train", "by the server", ""}, []string{shown[0].Name, shown[1].Name, shown[2].Name})
}
