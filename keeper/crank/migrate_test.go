package crank

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// failedView is a market with a lease that failed a moment ago, its machine, and another of the same kind.
func failedView() (*view.Accounts, *market.Lease) {
	v := newView()
	k := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(self)}}
	k.Wallet, k.Keeper.Status = self, uint8(market.KeeperActive)
	v.Put(k.Address, k)
	m := &market.Model{Meta: market.Meta{Address: market.ModelAddress(1)}}
	m.Id = 1
	v.Put(m.Address, m)
	for i := byte(30); i <= 31; i++ {
		p := &market.Provider{Meta: market.Meta{Address: solana.PublicKey{40, i}}}
		v.Put(p.Address, p)
		n := &market.Node{Meta: market.Meta{Address: solana.PublicKey{i}}}
		n.Provider, n.Price, n.Node.Status = p.Address, 3_600_000, uint8(market.NodeActive)
		n.Spec.Model, n.Spec.Gpus, n.Tier = 1, 1, 1
		v.Put(n.Address, n)
	}
	o := &market.Order{Meta: market.Meta{Address: solana.PublicKey{20}}}
	o.Order.Status, o.GpusPerNode, o.NodesWanted, o.NodesAwarded, o.Requirement.Models = uint8(market.OrderAwarded), 1, 1, 1, market.Models(1)
	o.StartSecs = 50
	v.Put(o.Address, o)
	l := addLease(v, 60, func(l *market.Lease) {
		l.Lease.Status, l.EndedAt, l.MayMigrate, l.DurationSecs = uint8(market.LeaseFailed), now-5, 1, 1_100
	})
	return v, l
}

// guaranteed has the order ask for a guarantee, and the other node guarantee until the latest end of what moves, and
// more.
func guaranteed(v *view.Accounts, l *market.Lease, more int64) {
	v.Orders[l.Order].Requirement.Guaranteed = 1
	n := *v.Nodes[solana.PublicKey{31}]
	n.GuaranteeBps, n.GuaranteedUntil = 9_900, now+50+int64(l.UndeliveredSecs())+more
	v.Put(n.Address, &n)
}

func TestFailedLeasesMove(t *testing.T) {
	for name, c := range map[string]struct {
		change func(v *view.Accounts, l *market.Lease)
		want   []Kind
	}{
		"to the other node": {func(*view.Accounts, *market.Lease) {}, []Kind{LeaseMigrate}},
		"which may not":     {func(_ *view.Accounts, l *market.Lease) { l.MayMigrate = 0 }, []Kind{LeaseEnd}},
		"time is over":      {func(_ *view.Accounts, l *market.Lease) { l.EndedAt = now - 100 }, []Kind{LeaseEnd}},
		"nobody for that price": {func(v *view.Accounts, l *market.Lease) {
			l.Price--
		}, nil}, // until the time is over
		"awards are paused": {func(v *view.Accounts, _ *market.Lease) { v.Market.Paused = market.PauseAwards }, nil},
		"we are not active": {func(v *view.Accounts, _ *market.Lease) { v.Keepers[self].Keeper.Status = uint8(market.KeeperExiting) }, nil},
		"it had been there": {func(v *view.Accounts, _ *market.Lease) {
			addLease(v, 61, func(l *market.Lease) { l.Lease.Node = solana.PublicKey{31} })
		}, nil},
		"nobody guarantees for so long": {func(v *view.Accounts, l *market.Lease) {
			guaranteed(v, l, -1)
		}, nil},
		"to one that guarantees for long enough": {func(v *view.Accounts, l *market.Lease) {
			guaranteed(v, l, 0)
		}, []Kind{LeaseMigrate}},
		"the order is going": {func(v *view.Accounts, _ *market.Lease) {
			v.Put(solana.PublicKey{20}, nil)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v, l := failedView()
			c.change(v, l)
			var got []Kind
			actions, err := Due(v, match.Of(v), self, now, nil)
			require.NoError(t, err)
			for _, a := range actions {
				got = append(got, a.Kind)
			}
			require.Equal(t, c.want, got)
			if len(c.want) == 1 && c.want[0] == LeaseMigrate {
				require.Equal(t, solana.PublicKey{31}, actions[0].Instructions[0].Accounts()[8].PublicKey)
			}
		})
	}
}
