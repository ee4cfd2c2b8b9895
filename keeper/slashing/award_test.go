package slashing

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/sdk/market"
)

// addNode puts a node with an ask on the market, with its provider.
func (w *fixture) addNode(n byte, price uint64) *market.Node {
	p := &market.Provider{Meta: market.Meta{Address: solana.PublicKey{40, n}}}
	p.Stake, p.LockedStake = 100, 100
	w.v.Put(p.Address, p)
	node := &market.Node{Meta: market.Meta{Address: solana.PublicKey{31, n}}}
	node.Provider, node.Price, node.Node.Status = p.Address, price, uint8(market.NodeActive)
	node.Spec.Model, node.Spec.Gpus, node.Tier = 1, 1, 1
	node.StartAvailability(1)
	w.v.Put(node.Address, node)
	return node
}

// addAward puts a lease of an order on the market that a keeper awarded to a node.
func (w *fixture) addAward(keeper solana.PublicKey, to *market.Node) *market.Lease {
	m := &market.Model{Meta: market.Meta{Address: market.ModelAddress(1)}}
	m.Id = 1
	w.v.Put(m.Address, m)
	o := &market.Order{Meta: market.Meta{Address: solana.PublicKey{20}}}
	o.CreatedAt, o.NodesWanted, o.GpusPerNode, o.MaxPrice = w.now-10, 1, 1, 3_000_000
	o.Requirement.Models = market.Models(1)
	w.v.Put(o.Address, o)
	l := &market.Lease{Meta: market.Meta{Address: market.LeaseAddress(o.Address, to.Address)}}
	l.Order, l.Lease.Node, l.Lease.Keeper, l.Lease.Customer = o.Address, to.Address, keeper, solana.PublicKey{50}
	l.AwardedAt, l.ChallengeUntil, l.Price = w.now-5, w.now+50, to.Price
	score, err := to.Score(l.AwardedAt, o.LatestEnd())
	require.NoError(w.t, err)
	l.Lease.Score = score
	w.v.Put(l.Address, l)
	return l
}

func TestUnjustAwards(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *fixture, best *market.Node, l *market.Lease)
		proven bool
	}{
		"the second best":        {func(*fixture, *market.Node, *market.Lease) {}, true},
		"our own award":          {func(_ *fixture, _ *market.Node, l *market.Lease) { l.Lease.Keeper = self }, false},
		"proven already":         {func(_ *fixture, _ *market.Node, l *market.Lease) { l.Lease.Score = 0 }, false},
		"too late":               {func(w *fixture, _ *market.Node, _ *market.Lease) { w.now += 100 }, false},
		"the order is gone":      {func(w *fixture, _ *market.Node, l *market.Lease) { w.v.Put(l.Order, nil) }, false},
		"the keeper is gone":     {func(w *fixture, _ *market.Node, _ *market.Lease) { w.v.Put(w.v.Keepers[rival].Address, nil) }, false},
		"the best was busy":      {func(_ *fixture, n *market.Node, _ *market.Lease) { n.GpuMask = 1; n.StartAvailability(1) }, false},
		"the best is busy since": {func(w *fixture, n *market.Node, _ *market.Lease) { n.GpuMask = 1; n.NoteFree(w.now) }, true},
		"the best came too late": {func(w *fixture, n *market.Node, _ *market.Lease) { n.AskSince = w.now - 15 }, false},
		"another model":          {func(_ *fixture, n *market.Node, _ *market.Lease) { n.Spec.Model = 2 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, "")
			second, best := w.addNode(2, 2_000_000), w.addNode(1, 1_500_000)
			w.addNode(3, 1_900_000) // also better, and not the best
			w.addNode(4, 2_500_000)
			l := w.addAward(rival, second)
			if !c.proven && name != "our own award" && name != "proven already" && name != "too late" {
				other := w.v.Nodes[solana.PublicKey{31, 3}]
				w.v.Put(other.Address, nil)
			}
			c.change(w, best, l)
			actions := w.due()
			if !c.proven {
				require.Empty(t, actions)
				return
			}
			require.Equal(t, []crank.Kind{crank.ProveBetterAsk}, kinds(actions))
			require.Contains(t, actions[0].Key, best.Address.String(), "shown by the best of all")
			require.Len(t, actions[0].Instructions, 1, "the proof")
			fit(t, actions)
			best.StartAvailability(w.now) // no longer to be shown
			require.Empty(t, w.due())
		})
	}
}

func TestJustAwardsAreLeftAlone(t *testing.T) {
	w := newFixture(t, "")
	best := w.addNode(1, 1_500_000)
	w.addNode(2, 1_500_000) // as good
	w.addNode(3, 2_000_000)
	w.addAward(rival, best)
	require.Empty(t, w.due())
	require.Empty(t, w.due())
	require.Len(t, w.service.awards.seen, 1)
	w.now += 100
	require.Empty(t, w.due())
	require.Empty(t, w.service.awards.seen, "nothing is remembered beyond the window")
}
