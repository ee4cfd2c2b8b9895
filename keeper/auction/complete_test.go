package auction

import (
	"context"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
)

// stoppedOrder is an order for two nodes of which a keeper awards the first and no other, from the second on that it has
// bids. Returned is the keeper.
func stoppedOrder(t *testing.T, w *cluster, reveals func(k *member) bool) (*market.Order, *member) {
	t.Helper()
	o := w.order(2, nil)
	for i, n := range w.nodes {
		for _, k := range w.keepers {
			if reveals(k) {
				n.commit(w, k, o, uint64(100*(i+1)))
			}
		}
	}
	w.at(o.AuctionClose + 1)
	for i, n := range w.nodes {
		for _, k := range w.keepers {
			if reveals(k) {
				n.reveal(w, k, o, uint64(100*(i+1)))
			}
		}
	}
	w.refuse = func(a award) error {
		if len(w.awards) > 0 && a.keeper == w.awards[0].keeper {
			return context.DeadlineExceeded
		}
		return nil
	}
	half := w.auctionOf(o).CompletableAfter(o.AwardDeadline)
	w.run(o.AuctionClose+2, half)
	require.Len(t, w.awards, 1, "the first keeper has its time")
	for _, k := range w.keepers {
		if k.wallet.PublicKey() == w.awards[0].keeper {
			return o, k
		}
	}
	t.Fatal("a stranger has awarded")
	return nil, nil
}

// It holds finding R 17.
func TestAnotherKeeperCompletesAStoppedAuction(t *testing.T) {
	w := newCluster(t, 3, 4)
	o, first := stoppedOrder(t, w, func(*member) bool { return true })
	first.kill()
	w.run(w.clock().Unix()+1, o.AwardDeadline)
	require.Len(t, w.awards, 2)
	require.NotEqual(t, w.awards[0].keeper, w.awards[1].keeper)
	require.Equal(t, w.awards[0].root, w.awards[1].root)
	require.Equal(t, w.nodes[1].account.Address, w.awards[1].node, "the second best")
	require.Equal(t, w.nodes[2].account.Address, solana.PublicKey(w.auctionOf(o).BarNode))
}

// The first keeper has named the bid that should win too as the best losing one. It holds finding P 26.
func TestACompleterNamesTheBestLosingBidAnew(t *testing.T) {
	w := newCluster(t, 3, 4)
	o, first := stoppedOrder(t, w, func(*member) bool { return true })
	x := *w.auctionOf(o)
	x.BarNode, x.BarScore = w.nodes[1].account.Address, x.BarScore*2/3
	w.put(x.Address, &x)
	first.kill()
	w.run(w.clock().Unix()+1, o.AwardDeadline)
	require.Len(t, w.awards, 2)
	require.Equal(t, w.nodes[1].account.Address, w.awards[1].node)
	require.Equal(t, w.nodes[2].account.Address, solana.PublicKey(w.auctionOf(o).BarNode))
}

// The others know no bid, but for the set that they fetched while the first keeper answered.
// It holds finding R 17.
func TestACompleterGoesByTheFirstKeepersBids(t *testing.T) {
	w := newCluster(t, 3, 3)
	w.lost = func(_, _ solana.PublicKey) bool { return true }
	o, first := stoppedOrder(t, w, func(k *member) bool { return k == w.keepers[1] })
	require.Equal(t, w.keepers[1], first)
	require.False(t, w.keepers[0].service.Missing(key(o), first.wallet.PublicKey()))
	first.kill()
	w.run(w.clock().Unix()+1, o.AwardDeadline)
	require.Len(t, w.awards, 2)
	require.Equal(t, w.awards[0].root, w.awards[1].root)
	require.Equal(t, w.nodes[1].account.Address, w.awards[1].node)
}

// Without the first keeper's set, the set of any keeper that held the same bids will do; without any, nobody awards.
// It holds finding R 17.
func TestACompleterAsksTheOthers(t *testing.T) {
	for _, others := range []bool{false, true} {
		w := newMemoryCluster(t, 3, 3)
		w.lost = func(_, to solana.PublicKey) bool { return to == w.keepers[0].wallet.PublicKey() }
		o, first := stoppedOrder(t, w, func(k *member) bool { return k != w.keepers[0] })
		require.NotEqual(t, w.keepers[0], first)
		first.kill()
		last := w.keepers[0]
		last.memory.sets = map[store.AuctionKey]map[solana.PublicKey][]byte{}
		for _, k := range w.keepers[1:] {
			// One that only answers.
			k.awarder.o.Self = solana.PublicKey{1}
			k.down = k.down || !others
		}
		w.run(w.clock().Unix()+1, o.AwardDeadline)
		if !others {
			require.Len(t, w.awards, 1)
			continue
		}
		require.Len(t, w.awards, 2)
		require.Equal(t, last.wallet.PublicKey(), w.awards[1].keeper)
	}
}
