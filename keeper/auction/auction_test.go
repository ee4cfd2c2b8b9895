package auction

import (
	"context"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// key is the auction of an order.
func key(o *market.Order) store.AuctionKey {
	return store.AuctionKey{CloseAt: o.AuctionClose, Order: o.Address}
}

// auctionOf is the auction's account as it is now.
func (w *cluster) auctionOf(o *market.Order) *market.Auction {
	return w.accounts[market.AuctionAddress(o.Address)].(*market.Auction)
}

// told asks a keeper for the outcome of a bid.
func (b *bidder) told(w *cluster, k *member, o *market.Order, price uint64) records.Outcome {
	w.t.Helper()
	req := messages.OutcomeRequest{
		Version: messages.Version, Order: o.Address, CloseAt: o.AuctionClose, Node: b.account.Address, Commitment: b.request(o, price, false).Bid.Commitment,
	}
	s, err := k.service.Outcome(context.Background(), b.key.PublicKey(), req)
	require.NoError(w.t, err)
	out, err := sealedbid.ReadOutcome(&s, records.Wallets)
	require.NoError(w.t, err)
	return out
}

// From the first commitment to the published set: one keeper awards, all have the same bids, every node gets its
// outcome.
func TestAuction(t *testing.T) {
	w := newCluster(t, 3, 4)
	o := w.order(1, nil)
	prices := []uint64{500, 400, 450, 300}
	for i, n := range w.nodes {
		n.commit(w, w.keepers[i%3], o, prices[i]) // to one keeper each: the others hear of it
	}
	w.at(o.AuctionClose + 1)
	for i, n := range w.nodes[:3] { // the cheapest keeps its price to itself
		n.reveal(w, w.keepers[(i+1)%3], o, prices[i])
	}
	w.run(o.AuctionClose+2, o.AuctionClose+20)
	require.Len(t, w.awards, 1)
	a := w.auctionOf(o)
	require.Equal(t, w.nodes[1].account.Address, solana.PublicKey(a.Winners[0]))
	require.Equal(t, w.nodes[2].account.Address, solana.PublicKey(a.BarNode))

	var roots []records.Hash
	for _, k := range w.keepers {
		c, err := k.service.own(key(o))
		require.NoError(t, err)
		require.Len(t, c.set.Bids, 4)
		require.NoError(t, c.set.Verify(sealedbid.AuctionOf(domain, o), records.Wallets))
		roots = append(roots, c.set.Head.Root)
		require.Equal(t, records.OutcomeWon, w.nodes[1].told(w, k, o, 400).Code)
		lost := w.nodes[0].told(w, k, o, 500)
		require.Equal(t, records.OutcomeOutbid, lost.Code)
		require.InDelta(t, 400, float64(lost.Price), 2)
		require.Equal(t, records.OutcomeNotRevealed, w.nodes[3].told(w, k, o, 300).Code)
		require.False(t, k.service.Missing(key(o), a.Keeper), "the awarding keeper's set is given to the others")
		require.Zero(t, k.service.Len(), "what is decided leaves memory")
	}
	require.Equal(t, records.Hash(a.BidsRoot), roots[0])
	require.Equal(t, roots[0], roots[1])
	require.Equal(t, roots[0], roots[2])
	// A keeper tells a stranger nothing about a node's bid, but hands out the whole set.
	_, err := w.keepers[0].service.Outcome(t.Context(), solana.PublicKey{9}, messages.OutcomeRequest{Order: o.Address, CloseAt: o.AuctionClose, Node: w.nodes[0].account.Address, Commitment: w.nodes[0].request(o, 500, false).Bid.Commitment})
	require.True(t, p2p.IsCode(err, p2p.CodeRefused), "%v", err)
	var set sealedbid.Assembler
	require.NoError(t, w.keepers[0].service.ServeBidSet(t.Context(), solana.PublicKey{9}, messages.BidSetRequest{Order: o.Address}, set.Add))
	_, err = set.Set(sealedbid.AuctionOf(domain, o), records.Wallets)
	require.NoError(t, err)
}

// An order over several nodes is awarded by one keeper, with one bar for all.
func TestSeveralNodes(t *testing.T) {
	w := newMemoryCluster(t, 3, 4)
	o := w.order(3, nil)
	for i, n := range w.nodes {
		n.commit(w, w.keepers[0], o, uint64(100*(i+1)))
	}
	w.at(o.AuctionClose + 1)
	for i, n := range w.nodes {
		n.reveal(w, w.keepers[1], o, uint64(100*(i+1)))
	}
	w.run(o.AuctionClose+2, o.AuctionClose+20)
	require.Len(t, w.awards, 3)
	for i, a := range w.awards {
		require.Equal(t, w.awards[0].keeper, a.keeper)
		require.Equal(t, w.nodes[i].account.Address, a.node, "the best first")
		require.Equal(t, i > 0, a.loser.IsZero(), "the first award fixes the bar")
	}
	require.Equal(t, w.nodes[3].account.Address, solana.PublicKey(w.auctionOf(o).BarNode))
}

// When a keeper is silent or killed at any moment, another takes over; one that comes back goes on with what it stored.
func TestKillAndTakeOver(t *testing.T) {
	w := newCluster(t, 3, 3)
	o := w.order(1, nil)
	for i, n := range w.nodes {
		for _, k := range w.keepers {
			n.commit(w, k, o, uint64(100*(i+1)))
		}
	}
	for _, k := range w.keepers { // all of them, in the middle
		k.kill()
	}
	for _, k := range w.keepers {
		k.start()
		require.Equal(t, 3, k.service.Len(), "acknowledged is remembered")
	}
	again := w.nodes[0].commit(w, w.keepers[0], o, 100)
	require.EqualValues(t, start, again.ReceivedAt, "the same acknowledgement as before")
	w.at(o.AuctionClose + 1)
	for i, n := range w.nodes {
		n.reveal(w, w.keepers[2], o, uint64(100*(i+1)))
	}
	w.keepers[2].kill()
	w.run(o.AuctionClose+2, o.AuctionClose+11)
	w.keepers[1].kill() // before any keeper may award
	w.run(o.AuctionClose+12, o.AuctionClose+20)
	require.Len(t, w.awards, 1)
	require.Equal(t, w.keepers[0].wallet.PublicKey(), w.awards[0].keeper, "the only one left, whatever its rank")
	require.Equal(t, w.nodes[0].account.Address, w.awards[0].node)
	w.keepers[1].start()
	w.keepers[2].start()
	w.run(o.AuctionClose+21, o.AuctionClose+24)
	require.Len(t, w.awards, 1)
	require.False(t, w.keepers[2].service.Missing(key(o), w.awards[0].keeper))
}

// A keeper that is killed between the awards of one order goes on with the same bids, bar and root.
func TestKilledBetweenAwards(t *testing.T) {
	w := newCluster(t, 1, 3)
	k := w.keepers[0]
	o := w.order(2, nil)
	for i, n := range w.nodes {
		n.commit(w, k, o, uint64(100*(i+1)))
	}
	w.at(o.AuctionClose + 1)
	for i, n := range w.nodes {
		n.reveal(w, k, o, uint64(100*(i+1)))
	}
	broken := true
	w.refuse = func(a award) error {
		if broken && a.loser.IsZero() {
			return context.DeadlineExceeded
		}
		return nil
	}
	w.run(o.AuctionClose+2, o.AuctionClose+13)
	require.Len(t, w.awards, 1)
	k.kill()
	broken = false
	k.start()
	w.run(o.AuctionClose+14, o.AuctionClose+16)
	require.Len(t, w.awards, 2)
	require.Equal(t, w.nodes[1].account.Address, w.awards[1].node)
	require.Equal(t, w.awards[0].root, w.awards[1].root)
	c, err := k.service.own(key(o))
	require.NoError(t, err)
	require.Equal(t, records.Hash(w.awards[0].root), c.set.Head.Root)
	require.Len(t, sealedbid.Winners(o.Address, c.set.Bids).Winners, 2, "what is published is what was awarded")
}

// A winner that took other work in between is judged anew once the program has refused it, and learns why.
func TestTheWinnerIsGone(t *testing.T) {
	w := newCluster(t, 1, 3)
	k := w.keepers[0]
	o := w.order(1, nil)
	for i, n := range w.nodes {
		n.commit(w, k, o, uint64(100*(i+1)))
	}
	w.at(o.AuctionClose + 1)
	for i, n := range w.nodes {
		n.reveal(w, k, o, uint64(100*(i+1)))
	}
	w.run(o.AuctionClose+2, o.AuctionClose+12) // the bids are closed
	busy := *w.nodes[0].account
	busy.GpuMask = 1
	w.put(busy.Address, &busy)
	w.run(o.AuctionClose+13, o.AuctionClose+20)
	require.Len(t, w.awards, 1)
	require.Equal(t, w.nodes[1].account.Address, w.awards[0].node)
	why := w.nodes[0].told(w, k, o, 100)
	require.Equal(t, records.OutcomeUnsuitable, why.Code)
	require.EqualValues(t, bindings.ErrorCodeNotEnoughGpus, why.Requirement)
	c, err := k.service.own(key(o))
	require.NoError(t, err)
	require.Equal(t, records.Hash(w.awards[0].root), c.set.Head.Root, "the bids are those of the close")
}

// An order with too few bids is not awarded, and its bidders get that outcome.
func TestTooFewBids(t *testing.T) {
	w := newMemoryCluster(t, 2, 1)
	o := w.order(2, nil)
	w.nodes[0].commit(w, w.keepers[0], o, 100)
	w.at(o.AuctionClose + 1)
	w.nodes[0].reveal(w, w.keepers[0], o, 100)
	w.run(o.AuctionClose+2, o.AuctionClose+20)
	require.Empty(t, w.awards)
	_, err := w.keepers[0].service.Outcome(t.Context(), w.nodes[0].key.PublicKey(), messages.OutcomeRequest{
		Order: o.Address, CloseAt: o.AuctionClose, Node: w.nodes[0].account.Address, Commitment: w.nodes[0].request(o, 100, false).Bid.Commitment,
	})
	require.True(t, p2p.IsCode(err, p2p.CodeUnavailable), "not decided yet: %v", err)
	w.put(o.Address, nil) // expired
	require.Equal(t, records.OutcomeNotAwarded, w.nodes[0].told(w, w.keepers[0], o, 100).Code)
}

// Whatever messages between keepers are lost and in whatever order they come: keepers that hold the same bids close the
// same root, all acknowledged reveals are in, and exactly one keeper awards as its own bids say.
func TestLossAndDisorder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newMemoryCluster(t, 3, rapid.IntRange(1, 6).Draw(rt, "nodes"))
		drop := rapid.IntRange(0, 100).Draw(rt, "loss in per cent")
		roll := rapid.IntRange(1, 100)
		w.lost = func(_, _ solana.PublicKey) bool { return roll.Draw(rt, "arrives") <= drop }
		o := w.order(1, nil)
		price := map[int]uint64{}
		held := map[solana.PublicKey]map[solana.PublicKey]bool{} // keeper → nodes whose reveal it acknowledged
		for i, n := range w.nodes {
			price[i] = rapid.Uint64Range(990, 1_000).Draw(rt, "price")
			for _, k := range w.keepers {
				if rapid.Bool().Draw(rt, "reaches") {
					n.commit(w, k, o, price[i])
				}
			}
		}
		w.at(o.AuctionClose + 1)
		for i, n := range w.nodes {
			for _, k := range w.keepers {
				if !rapid.Bool().Draw(rt, "reaches") {
					continue
				}
				a, err := k.service.Reveal(context.Background(), n.key.PublicKey(), n.request(o, price[i], true))
				require.NoError(rt, err)
				if a.Ack == nil {
					require.Equal(rt, records.OutcomeNoCommitment, refused(w, k, a, nil), "no commitment reached this keeper in time")
					continue
				}
				if held[k.wallet.PublicKey()] == nil {
					held[k.wallet.PublicKey()] = map[solana.PublicKey]bool{}
				}
				held[k.wallet.PublicKey()][n.account.Address] = true
			}
		}
		if rapid.Bool().Draw(rt, "kill one") {
			k := w.keepers[rapid.IntRange(0, 2).Draw(rt, "which")]
			k.kill()
			k.start()
		}
		w.run(o.AuctionClose+9, o.AuctionClose+25)
		require.LessOrEqual(rt, len(w.awards), 1)
		for _, k := range w.keepers {
			c, err := k.service.own(key(o))
			require.NoError(rt, err)
			for node := range held[k.wallet.PublicKey()] {
				j := c.set.Find(node)
				require.NotNil(rt, j, "an acknowledged reveal is among the bids")
				require.NotNil(rt, j.Bid.Reveal)
			}
			if len(w.awards) == 0 {
				require.Empty(rt, sealedbid.Pick(sealedbid.TermsOf(o), c.set.Bids).Winners, "it could have been awarded")
				continue
			}
			if a := w.awards[0]; a.keeper == k.wallet.PublicKey() {
				require.Equal(rt, records.Hash(a.root), c.set.Head.Root)
				require.Equal(rt, a.node[:], c.set.Bids[sealedbid.Pick(sealedbid.TermsOf(o), c.set.Bids).Winners[0]].Bid.Node[:])
			}
		}
	})
}

// A pause of awards while bids come in and are closed delays the award and loses no bid.
func TestPause(t *testing.T) {
	w := newMemoryCluster(t, 2, 2)
	o := w.order(1, nil)
	pause := func(bits uint8) {
		w.mu.Lock()
		defer w.mu.Unlock()
		m := *w.accounts[market.MarketAddress()].(*market.Market)
		m.Paused = bits
		w.put(m.Address, &m)
	}
	pause(market.PauseAwards)
	for i, n := range w.nodes {
		n.commit(w, w.keepers[0], o, uint64(100*(i+1)))
	}
	w.at(o.AuctionClose + 1)
	for i, n := range w.nodes {
		n.reveal(w, w.keepers[0], o, uint64(100*(i+1)))
	}
	w.run(o.AuctionClose+2, o.AuctionClose+16)
	require.Empty(t, w.awards)
	pause(0)
	w.run(o.AuctionClose+17, o.AuctionClose+24)
	require.Len(t, w.awards, 1)
	require.Equal(t, w.nodes[0].account.Address, w.awards[0].node)
}

// Nodes that could not serve when the bids were closed and can before the deadline are awarded.
func TestNoNodeCouldWinAtFirst(t *testing.T) {
	w := newMemoryCluster(t, 1, 1)
	o := w.order(1, nil)
	n := w.nodes[0]
	n.commit(w, w.keepers[0], o, 100)
	w.at(o.AuctionClose + 1)
	n.reveal(w, w.keepers[0], o, 100)
	asleep := *n.account
	asleep.Node.Status = uint8(market.NodeHibernated)
	w.put(asleep.Address, &asleep)
	w.run(o.AuctionClose+2, o.AuctionClose+15)
	require.Empty(t, w.awards)
	w.put(n.account.Address, n.account)
	w.run(o.AuctionClose+16, o.AuctionClose+20)
	require.Len(t, w.awards, 1)
	require.Equal(t, records.OutcomeWon, n.told(w, w.keepers[0], o, 100).Code)
}
