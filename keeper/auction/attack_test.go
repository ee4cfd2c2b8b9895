package auction

import (
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// What a node may try: other nodes' names, other prices, second bids, too early, too late.
func TestNodesThatCheat(t *testing.T) {
	w := newMemoryCluster(t, 2, 3)
	k, other := w.keepers[0], w.keepers[1]
	honest, cheat, late := w.nodes[0], w.nodes[1], w.nodes[2]
	o := w.order(1, nil)
	ctx := t.Context()
	honest.commit(w, k, o, 500)

	// In another's name, with another's key, with a signature over something else.
	_, err := k.service.Commit(ctx, cheat.key.PublicKey(), honest.request(o, 1, false))
	require.True(t, p2p.IsCode(err, p2p.CodeRefused), "%v", err)
	forged := honest.request(o, 1, false)
	forged.Bid.Signature = [64]byte(cheat.request(o, 1, false).Bid.Signature)
	_, err = k.service.Commit(ctx, honest.key.PublicKey(), forged)
	require.True(t, p2p.IsCode(err, p2p.CodeBadRequest), "%v", err)
	// For another order, another life of it, a node that does not exist, another version.
	for name, change := range map[string]func(*messages.BidRequest){
		"order": func(r *messages.BidRequest) { r.Order[0]++ }, "close": func(r *messages.BidRequest) { r.CloseAt++ },
		"node": func(r *messages.BidRequest) { r.Bid.Node[0]++ }, "version": func(r *messages.BidRequest) { r.Version++ },
	} {
		r := cheat.request(o, 1, false)
		change(&r)
		_, err := k.service.Commit(ctx, cheat.key.PublicKey(), r)
		require.Error(t, err, name)
	}
	require.Equal(t, 1, k.service.Len(), "nothing of it takes room")

	// Two bids: the first one stays, at every keeper that heard of it.
	cheat.commit(w, k, o, 400)
	a, err := k.service.Commit(ctx, cheat.key.PublicKey(), cheat.request(o, 300, false))
	require.Equal(t, records.OutcomeSecondBid, refused(w, k, a, err))
	a, err = other.service.Commit(ctx, cheat.key.PublicKey(), cheat.request(o, 300, false))
	require.Equal(t, records.OutcomeSecondBid, refused(w, other, a, err))

	// A reveal before the close would show the price to all bidders; a commitment after it comes too late.
	_, err = k.service.Reveal(ctx, cheat.key.PublicKey(), cheat.request(o, 400, true))
	require.True(t, p2p.IsCode(err, p2p.CodeUnavailable), "%v", err)
	w.at(o.AuctionClose + 1)
	a, err = k.service.Commit(ctx, late.key.PublicKey(), late.request(o, 1, false))
	require.Equal(t, records.OutcomeLateCommitment, refused(w, k, a, err))
	a, err = k.service.Reveal(ctx, late.key.PublicKey(), late.request(o, 1, true))
	require.Equal(t, records.OutcomeNoCommitment, refused(w, k, a, err))

	// Another price than was committed to, and the second bid.
	wrong := cheat.request(o, 400, true)
	wrong.Bid.Reveal.Price = 1
	a, err = k.service.Reveal(ctx, cheat.key.PublicKey(), wrong)
	require.Equal(t, records.OutcomeWrongReveal, refused(w, k, a, err))
	a, err = k.service.Reveal(ctx, cheat.key.PublicKey(), cheat.request(o, 300, true))
	require.Equal(t, records.OutcomeSecondBid, refused(w, k, a, err))

	// Twice the same is one; too late is refused as too late.
	one := honest.reveal(w, k, o, 500)
	w.at(o.AuctionClose + 5)
	require.Equal(t, one, honest.reveal(w, k, o, 500))
	w.at(o.AuctionClose + 10)
	a, err = k.service.Reveal(ctx, cheat.key.PublicKey(), cheat.request(o, 400, true))
	require.Equal(t, records.OutcomeNotRevealed, refused(w, k, a, err), "within the margin before the end")
	w.run(o.AuctionClose+11, o.AuctionClose+20)
	require.Len(t, w.awards, 1)
	require.Equal(t, honest.account.Address, w.awards[0].node)
}

// Nodes that do not satisfy the order take no room, and the keeper names the requirement that they fail.
func TestUnsuitableNodes(t *testing.T) {
	w := newMemoryCluster(t, 1, 1)
	o := w.order(1, func(o *market.Order) { o.Requirement.MinVramMib = 1 })
	a, err := w.keepers[0].service.Commit(t.Context(), w.nodes[0].key.PublicKey(), w.nodes[0].request(o, 1, false))
	require.Equal(t, records.OutcomeUnsuitable, refused(w, w.keepers[0], a, err))
	out, err := sealedbid.ReadOutcome(a.Outcome, records.Wallets)
	require.NoError(t, err)
	require.Contains(t, sealedbid.Explain(out), "UnsuitableHardware")
	require.Zero(t, w.keepers[0].service.Len())
}

// A keeper takes a commitment with its reveal when another keeper has acknowledged it, and not when only a stranger
// has, or no keeper.
func TestVouchedCommitments(t *testing.T) {
	w := newMemoryCluster(t, 3, 2)
	w.lost = func(_, _ solana.PublicKey) bool { return true }
	o := w.order(1, nil)
	n := w.nodes[0]
	ack := n.commit(w, w.keepers[0], o, 500)
	stranger := solana.NewWallet().PrivateKey
	false1, err := sealedbid.SignAck(stranger, records.AckCommitment, n.request(o, 500, false).Bid.Commitment, start)
	require.NoError(t, err)
	tooLate, err := sealedbid.SignAck(w.keepers[0].wallet, records.AckCommitment, n.request(o, 500, false).Bid.Commitment, o.AuctionClose+1)
	require.NoError(t, err)
	copied := ack
	copied.ReceivedAt--
	w.at(o.AuctionClose + 1)
	for name, acks := range map[string][]messages.BidAck{"none": nil, "a stranger's": {false1}, "a late one": {tooLate}, "a changed one": {copied}} {
		r := n.request(o, 500, true)
		r.Bid.Acks = acks
		a, err := w.keepers[1].service.Reveal(t.Context(), n.key.PublicKey(), r)
		require.Equal(t, records.OutcomeNoCommitment, refused(w, w.keepers[1], a, err), name)
	}
	r := n.request(o, 500, true)
	r.Bid.Acks = []messages.BidAck{ack}
	a, err := w.keepers[1].service.Reveal(t.Context(), n.key.PublicKey(), r)
	acked(w, w.keepers[1], a, err, r, records.AckReveal)
	r.Bid.Acks = make([]messages.BidAck, messages.MaxBidAcks+1)
	_, err = w.keepers[1].service.Reveal(t.Context(), n.key.PublicKey(), r)
	require.True(t, p2p.IsCode(err, p2p.CodeBadRequest))
}

// A keeper drops gossip without a right signature, and lowers the sender's score.
func TestForgedGossip(t *testing.T) {
	w := newMemoryCluster(t, 2, 2)
	dishonest, k := w.keepers[0], w.keepers[1]
	o := w.order(1, nil)
	n := w.nodes[0]
	good := func(reveal bool) messages.BidGossip {
		b := n.request(o, 500, reveal).Bid
		c, err := sealedbid.SignAck(dishonest.wallet, records.AckCommitment, b.Commitment, start)
		require.NoError(t, err)
		b.Acks = []messages.BidAck{c}
		if reveal {
			r, err := sealedbid.SignAck(dishonest.wallet, records.AckReveal, b.Commitment, o.AuctionClose+1)
			require.NoError(t, err)
			b.Acks = append(b.Acks, r)
		}
		return messages.BidGossip{Version: messages.Version, Order: o.Address, CloseAt: o.AuctionClose, Bids: []messages.Bid{b}}
	}
	by := dishonest.wallet.PublicKey()
	late, err := sealedbid.SignAck(dishonest.wallet, records.AckCommitment, n.request(o, 500, false).Bid.Commitment, o.AuctionClose+1)
	require.NoError(t, err)
	early, err := sealedbid.SignAck(dishonest.wallet, records.AckReveal, n.request(o, 500, true).Bid.Commitment, o.AuctionClose)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(*messages.BidGossip)
		want   p2p.Verdict
	}{
		"no bids":                   {func(m *messages.BidGossip) { m.Bids = nil }, p2p.Reject},
		"too many":                  {func(m *messages.BidGossip) { m.Bids = make([]messages.Bid, messages.MaxGossipBids+1) }, p2p.Reject},
		"not acknowledged":          {func(m *messages.BidGossip) { m.Bids[0].Acks = nil }, p2p.Reject},
		"many acknowledgements":     {func(m *messages.BidGossip) { m.Bids[0].Acks = make([]messages.BidAck, 3) }, p2p.Reject},
		"another's acknowledgement": {func(m *messages.BidGossip) { m.Bids[0].Acks[0].Keeper = k.wallet.PublicKey() }, p2p.Reject},
		"a changed time":            {func(m *messages.BidGossip) { m.Bids[0].Acks[0].ReceivedAt-- }, p2p.Reject},
		"a late commitment":         {func(m *messages.BidGossip) { m.Bids[0].Acks[0] = late }, p2p.Reject},
		"an early reveal":           {func(m *messages.BidGossip) { m.Bids[0].Acks[1] = early }, p2p.Reject},
		"a reveal unconfirmed":      {func(m *messages.BidGossip) { m.Bids[0].Acks = m.Bids[0].Acks[:1] }, p2p.Reject},
		"the node's signature":      {func(m *messages.BidGossip) { m.Bids[0].Signature[0]++ }, p2p.Reject},
		"another price":             {func(m *messages.BidGossip) { m.Bids[0].Reveal.Price-- }, p2p.Reject},
		"an unknown node":           {func(m *messages.BidGossip) { m.Bids[0].Node[0]++ }, p2p.Ignore},
		"an unknown order":          {func(m *messages.BidGossip) { m.Order[0]++ }, p2p.Ignore},
		"another version":           {func(m *messages.BidGossip) { m.Version++ }, p2p.Ignore},
	} {
		m := good(true)
		c.change(&m)
		require.Equal(t, c.want, k.hear(by, m), name)
		require.Zero(t, k.service.Len(), name)
	}
	require.Equal(t, p2p.Accept, k.hear(by, good(true)))
	require.Equal(t, 1, k.service.Len())
	require.Equal(t, p2p.Accept, k.hear(by, good(true)), "again costs nothing")

	// A keeper that is no longer one is ignored; what contradicts what is held changes nothing.
	other := w.nodes[1].request(o, 7, false).Bid
	c, err := sealedbid.SignAck(dishonest.wallet, records.AckCommitment, other.Commitment, start)
	require.NoError(t, err)
	other.Acks = []messages.BidAck{c}
	m := messages.BidGossip{Version: messages.Version, Order: o.Address, CloseAt: o.AuctionClose, Bids: []messages.Bid{other}}
	account := *w.accounts[market.KeeperAddress(by)].(*market.Keeper)
	account.Keeper.Status = uint8(market.KeeperSlashed)
	w.put(account.Address, &account)
	require.Equal(t, p2p.Ignore, k.hear(by, m))
	account.Keeper.Status = uint8(market.KeeperActive)
	w.put(account.Address, &account)
	second := n.request(o, 1, false).Bid
	c, err = sealedbid.SignAck(dishonest.wallet, records.AckCommitment, second.Commitment, start)
	require.NoError(t, err)
	second.Acks = []messages.BidAck{c}
	m.Bids = []messages.Bid{second}
	require.Equal(t, p2p.Accept, k.hear(by, m), "the node has signed it, so that the keeper is not to blame")
	require.Equal(t, n.request(o, 500, false).Bid.Commitment, k.service.bids(key(o))[0].Commitment)
}

// A commitment and its reveal in one message, as they travel when both are quick.
func TestGossipOfBoth(t *testing.T) {
	w := newMemoryCluster(t, 2, 3)
	o := w.order(1, nil)
	m := messages.BidGossip{Version: messages.Version, Order: o.Address, CloseAt: o.AuctionClose}
	for _, reveal := range []bool{false, true} {
		for _, n := range w.nodes {
			b := n.request(o, 500, reveal).Bid
			stage, at := records.AckCommitment, o.AuctionClose
			if reveal {
				stage, at = records.AckReveal, o.AuctionClose+1
			}
			a, err := sealedbid.SignAck(w.keepers[0].wallet, stage, b.Commitment, at)
			require.NoError(t, err)
			b.Acks = []messages.BidAck{a}
			m.Bids = append(m.Bids, b)
		}
	}
	require.Equal(t, p2p.Accept, w.keepers[1].hear(w.keepers[0].wallet.PublicKey(), m))
	for _, b := range w.keepers[1].service.bids(key(o)) {
		require.NotNil(t, b.Reveal)
		require.Len(t, b.Acks, 2)
	}
}

// A flood of bids for one order and of orders takes bounded memory; what is full says so.
func TestFlood(t *testing.T) {
	w := newMemoryCluster(t, 1, 3)
	k := w.keepers[0]
	o := w.order(1, nil)
	w.nodes[0].commit(w, k, o, 1)
	k.service.mu.Lock()
	was := k.service.total
	k.service.total = MaxBids
	k.service.mu.Unlock()
	a, err := k.service.Commit(t.Context(), w.nodes[1].key.PublicKey(), w.nodes[1].request(o, 1, false))
	require.Equal(t, records.OutcomeFull, refused(w, k, a, err))
	require.NotZero(t, w.nodes[0].commit(w, k, o, 1).ReceivedAt, "who is in stays in")
	k.service.mu.Lock()
	k.service.total = was
	k.service.mu.Unlock()
	w.nodes[1].commit(w, k, o, 1)
	require.Equal(t, 2, k.service.Len())
	k.service.Forget(func(store.AuctionKey) bool { return false })
	require.Zero(t, k.service.Len())

	many := []messages.BidAck{}
	for i := range 40 {
		many = k.service.withAck(many, messages.BidAck{Keeper: [32]byte{byte(i)}, Stage: uint8(records.AckCommitment)})
	}
	many = k.service.withAck(many, messages.BidAck{Keeper: k.wallet.PublicKey(), Stage: uint8(records.AckReveal)})
	require.Len(t, many, messages.MaxBidAcks)
	require.NotNil(t, sealedbid.FindAck(many, k.wallet.PublicKey(), records.AckReveal), "one's own is never dropped")
}

// The other keepers notice a keeper that leaves a bid out.
func TestOmission(t *testing.T) {
	w := newMemoryCluster(t, 2, 2)
	dishonest, honest := w.keepers[0], w.keepers[1]
	dishonest.service.o.Judge = func(m *market.Market, o *market.Order, bids []messages.Bid, look sealedbid.Lookup, now int64) []messages.JudgedBid {
		bids = slices.DeleteFunc(bids, func(b messages.Bid) bool { return b.Node == w.nodes[0].account.Address })
		return sealedbid.Judge(m, o, bids, look, now)
	}
	o := w.order(1, nil)
	for i, n := range w.nodes {
		n.commit(w, dishonest, o, uint64(100*(i+1)))
	}
	w.at(o.AuctionClose + 1)
	for i, n := range w.nodes {
		n.reveal(w, dishonest, o, uint64(100*(i+1)))
	}
	honest.down = true // the dishonest keeper's turn comes
	w.run(o.AuctionClose+9, o.AuctionClose+18)
	honest.down = false
	require.Len(t, w.awards, 1)
	require.Equal(t, w.nodes[1].account.Address, w.awards[0].node)
	known := honest.service.bids(key(o))
	w.run(o.AuctionClose+19, o.AuctionClose+22)
	set, err := honest.service.set(key(o), dishonest.wallet.PublicKey())
	require.NoError(t, err)
	left := Omitted(known, &set)
	require.Len(t, left, 1)
	require.Equal(t, w.nodes[0].account.Address, solana.PublicKey(left[0].Node))
	own, err := honest.service.own(key(o))
	require.NoError(t, err)
	require.Len(t, own.set.Bids, 2, "the honest keeper has closed what it knew, although it was too late to award")
	w.run(o.AuctionClose+23, o.AuctionClose+40)
	require.Equal(t, []solana.PublicKey{honest.wallet.PublicKey()}, w.proofs, "proven on chain, once")
}
