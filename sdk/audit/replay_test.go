package audit

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// auctioned is a just auction of three nodes, whose bids are 300, 400 and 500 of at most 1,000, by a keeper; another
// keeper has seen the same.
type auctioned struct {
	of      sealedbid.Auction
	terms   sealedbid.Terms
	keeper  solana.PrivateKey
	other   solana.PrivateKey
	keys    map[[32]byte]solana.PrivateKey
	nodes   map[solana.PublicKey]*market.Node
	judged  []messages.JudgedBid
	audited *Auction
}

const auctionClose = 1_000_000

func newAuctioned(t *testing.T) *auctioned {
	x := &auctioned{
		of: sealedbid.Auction{Domain: records.Domain{1}, Order: solana.PublicKey{200}, CloseAt: auctionClose}, keeper: solana.NewWallet().PrivateKey,
		other: solana.NewWallet().PrivateKey, keys: map[[32]byte]solana.PrivateKey{}, nodes: map[solana.PublicKey]*market.Node{},
	}
	x.terms = sealedbid.Terms{Order: x.of.Order, Nodes: 1, MaxPrice: 1_000}
	for i, price := range []uint64{300, 400, 500} {
		node, key := solana.PublicKey{byte(i + 1)}, solana.NewWallet().PrivateKey
		x.keys[node] = key
		n := &market.Node{Meta: market.Meta{Address: node}}
		n.NodeKey, n.Node.Status, n.Spec.Gpus, n.UptimeBps, n.RegisteredAt = key.PublicKey(), uint8(market.NodeActive), 1, 10_000, 1
		n.RecordSince, n.AvailableSince = 2, 2
		n.StartAvailability(2)
		x.nodes[node] = n
		x.judged = append(x.judged, x.judge(t, node, price, x.keeper, x.other))
	}
	x.award(t, 0, 1)
	return x
}

// judge is a bid as a keeper published it, with the acknowledgements of keepers for its reveal.
func (x *auctioned) judge(t *testing.T, node solana.PublicKey, price uint64, keepers ...solana.PrivateKey) messages.JudgedBid {
	p := messages.BidPrice{Price: price, Salt: [32]byte{byte(price), byte(price >> 8)}}
	w := x.of.Reveal(node, p)
	sig, err := w.Sign(x.keys[node])
	require.NoError(t, err)
	b := messages.Bid{Node: node, Commitment: w.Commitment(), Signature: sig, Reveal: &p}
	for _, k := range keepers {
		a, err := sealedbid.SignAck(k, records.AckReveal, b.Commitment, auctionClose+3)
		require.NoError(t, err)
		b.Acks = append(b.Acks, a)
	}
	rep := x.nodes[node].Reputation(auctionClose + 11)
	score, err := market.Score(market.PricePerHour(price), rep, 0)
	require.NoError(t, err)
	return messages.JudgedBid{Bid: b, Reputation: rep, Score: score}
}

// award is what the chain shows: the winner and the bar by position in the judged bids.
func (x *auctioned) award(t *testing.T, winner, bar int) {
	sealedbid.Decide(x.terms, x.judged)
	root, err := sealedbid.Root(x.judged)
	require.NoError(t, err)
	w := Award{
		Node: x.judged[winner].Bid.Node, Keeper: x.keeper.PublicKey(), Root: root, Bar: x.judged[bar].Bid.Node,
		Bid: market.PricePerHour(x.judged[winner].Bid.Reveal.Price), At: time.Unix(auctionClose+12, 0),
	}
	x.audited = &Auction{
		Order: x.of.Order, Terms: x.terms, GPUs: 1, CloseAt: auctionClose, RevealUntil: auctionClose + 10, Deadline: auctionClose + 30, Awards: []Award{w},
	}
}

func (x *auctioned) close(t *testing.T, judged []messages.JudgedBid, by solana.PrivateKey) sealedbid.Set {
	set, err := sealedbid.SignSet(x.of, judged, auctionClose+11, by)
	require.NoError(t, err)
	return set
}

func (x *auctioned) replay(sets []sealedbid.Set, bids ...messages.Bid) *Auction {
	x.audited.Replay(Replay{
		Domain: x.of.Domain, Sets: sets, Bids: bids,
		Nodes: func(node solana.PublicKey) (*market.Node, *market.Provider, *market.Model, bool) {
			n, ok := x.nodes[node]
			return n, &market.Provider{}, &market.Model{}, ok
		},
	})
	return x.audited
}

func TestJustAuction(t *testing.T) {
	x := newAuctioned(t)
	a := x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper), x.close(t, x.judged, x.other)})
	require.Empty(t, a.Violations)
	require.Empty(t, a.Doubts)
	require.True(t, a.OK())
	require.Contains(t, a.Steps[len(a.Steps)-1].Text, "no violation is proven")
}

// Every violation, and who committed it.
func TestUnjust(t *testing.T) {
	without := func(judged []messages.JudgedBid, i int) []messages.JudgedBid {
		return slices.Delete(slices.Clone(judged), i, i+1)
	}
	for name, c := range map[string]struct {
		play func(*auctioned) *Auction
		says string
		node bool // a node is to blame
	}{
		"a bid left out that another keeper knows": {func(x *auctioned) *Auction {
			all := x.judged
			x.judged = without(all, 0)
			for i := range x.judged {
				x.judged[i].Code = 0
			}
			x.award(t, 0, 1)
			return x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper), x.close(t, all, x.other)})
		}, "left out the bid of node", false},
		"a bid left out that only the node knows": {func(x *auctioned) *Auction {
			lost := x.judged[0].Bid
			x.judged = without(x.judged, 0)
			for i := range x.judged {
				x.judged[i].Code = 0
			}
			x.award(t, 0, 1)
			return x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper)}, lost)
		}, "left out the bid of node", false},
		"a reveal left out": {func(x *auctioned) *Auction {
			lost := x.judged[0].Bid
			x.judged[0].Bid.Reveal, x.judged[0].Code = nil, uint8(records.OutcomeNotRevealed)
			for i := range x.judged[1:] {
				x.judged[1+i].Code = 0
			}
			x.award(t, 1, 2)
			return x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper)}, lost)
		}, "left out the bid of node", false},
		"another set than the root on chain": {func(x *auctioned) *Auction {
			x.audited.Awards[0].Root[0]++
			return x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper)})
		}, "published other bids than it recorded", false},
		"an invented bid": {func(x *auctioned) *Auction {
			x.judged[1].Bid.Signature[0]++
			x.award(t, 0, 1)
			return x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper)})
		}, "that node " + solana.PublicKey{2}.String() + " did not make", false},
		"a changed price": {func(x *auctioned) *Auction {
			x.judged[1].Bid.Reveal = &messages.BidPrice{Price: 999, Salt: x.judged[1].Bid.Reveal.Salt}
			x.award(t, 0, 1)
			return x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper)})
		}, "did not make", false},
		"a wrong score": {func(x *auctioned) *Auction {
			x.judged[0].Score += 1_000
			for i := range x.judged {
				x.judged[i].Code = 0
			}
			x.award(t, 1, 2)
			return x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper)})
		}, "scored bids against the rules", false},
		"a wrong reputation": {func(x *auctioned) *Auction {
			x.judged[0].Reputation = 1
			score, err := market.Score(300, 1, 0)
			require.NoError(t, err)
			x.judged[0].Score = score
			x.award(t, 0, 1)
			return x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper)})
		}, "the chain shows", false},
		"a worse winner": {func(x *auctioned) *Auction {
			x.audited.Awards[0].Node, x.audited.Awards[0].Bar = x.judged[1].Bid.Node, x.judged[2].Bid.Node
			return x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper)})
		}, "chose against its own bids", false},
		"another bar": {func(x *auctioned) *Auction {
			x.audited.Awards[0].Bar = x.judged[2].Bid.Node
			return x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper)})
		}, "took another price", false},
		"a node said not to satisfy": {func(x *auctioned) *Auction {
			x.judged[0].Code = uint8(records.OutcomeUnsuitable)
			for i := range x.judged[1:] {
				x.judged[1+i].Code = 0
			}
			x.award(t, 1, 2)
			return x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper)})
		}, "did not satisfy the order; the chain shows", false},
		"two bids of one node": {func(x *auctioned) *Auction {
			second := x.judge(t, solana.PublicKey{3}, 501, x.other)
			theirs := without(x.judged, 2)
			theirs = append(theirs, second)
			return x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper), x.close(t, theirs, x.other)})
		}, "made two bids", true},
	} {
		x := newAuctioned(t)
		a := c.play(x)
		require.NotEmpty(t, a.Violations, name)
		require.False(t, a.OK(), name)
		var found bool
		for _, charge := range a.Violations {
			found = found || bytes.Contains([]byte(charge.What), []byte(c.says))
			if c.node {
				require.Equal(t, "node "+solana.PublicKey{3}.String(), charge.Who, name)
			} else {
				require.Equal(t, "keeper "+x.keeper.PublicKey().String(), charge.Who, name)
			}
		}
		require.True(t, found, "%s: %v", name, a.Violations)
	}
}

// What proves nothing is a doubt, and nobody's blame: a bid that the awarding keeper did not acknowledge,
// acknowledgements of others or out of time, sets that nobody signed, and bids that are not published.
func TestDoubts(t *testing.T) {
	x := newAuctioned(t)
	all := slices.Clone(x.judged)
	for name, change := range map[string]func(*messages.Bid){
		"not acknowledged": func(b *messages.Bid) { b.Acks = b.Acks[1:] },
		"only the commitment": func(b *messages.Bid) {
			a, err := sealedbid.SignAck(x.keeper, records.AckCommitment, b.Commitment, auctionClose)
			require.NoError(t, err)
			b.Acks = []messages.BidAck{a}
		},
		"too late": func(b *messages.Bid) {
			a, err := sealedbid.SignAck(x.keeper, records.AckReveal, b.Commitment, auctionClose+11)
			require.NoError(t, err)
			b.Acks = []messages.BidAck{a}
		},
		"forged": func(b *messages.Bid) { b.Acks[0].Signature[0]++ },
	} {
		lost := all[0].Bid
		lost.Acks = slices.Clone(lost.Acks)
		change(&lost)
		x.judged = slices.Clone(all[1:])
		for i := range x.judged {
			x.judged[i].Code = 0
		}
		x.award(t, 0, 1)
		a := x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper)}, lost)
		require.Empty(t, a.Violations, name)
		require.Len(t, a.Doubts, 1, name)
		require.Contains(t, a.Doubts[0], "may not have arrived")
	}
	x = newAuctioned(t)
	forged := x.close(t, x.judged, x.keeper)
	forged.Signature[0]++
	a := x.replay([]sealedbid.Set{forged})
	require.Empty(t, a.Violations)
	require.Len(t, a.Doubts, 2)
	require.Contains(t, a.Doubts[0], "left out")
	require.Contains(t, a.Doubts[1], "were not found")

	x = newAuctioned(t)
	x.audited.Awards = nil
	a = x.replay([]sealedbid.Set{x.close(t, x.judged, x.keeper)})
	require.True(t, a.OK())
	require.Contains(t, a.Steps[0].Text, "no node was awarded")
}

func TestExplained(t *testing.T) {
	for _, c := range []struct {
		bid, bar              uint64
		reputation, guarantee uint16
		max                   uint64
	}{{bid: 300_000, bar: 500_000, reputation: 8_500, max: 1_000_000}, {bid: 1_260_000, bar: 9_000_000, reputation: 10_000, guarantee: 9_950, max: 1_600_000}} {
		score, err := market.Score(market.PricePerHour(c.bid), c.reputation, c.guarantee)
		require.NoError(t, err)
		price, err := market.PriceOf(c.bar, c.reputation, c.guarantee)
		require.NoError(t, err)
		paid := min(uint64(price), c.max)
		require.True(t, priceFollows(c.bid, score, c.bar, paid, c.max))
		require.False(t, priceFollows(c.bid, score*2, c.bar, paid, c.max))
		require.False(t, priceFollows(c.bid, score, c.bar, paid-20_000, c.max))
	}
}
