package sealedbid

import (
	"bytes"
	"encoding/hex"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

var auction = Auction{Domain: records.Domain{1}, Order: solana.PublicKey{200}, CloseAt: 1_000}

func hexOf(b [32]byte) string { return hex.EncodeToString(b[:]) }

// running is a bid in the running.
func running(node byte, score uint64, reputation uint16, site string) messages.JudgedBid {
	return messages.JudgedBid{
		Bid: messages.Bid{Node: [32]byte{node}, Reveal: &messages.BidPrice{Price: score}}, Score: score, Reputation: reputation, Site: market.Text16(site),
	}
}

func nodes(judged []messages.JudgedBid, at []int) []byte {
	out := []byte{}
	for _, i := range at {
		out = append(out, judged[i].Bid.Node[0])
	}
	return out
}

func TestPick(t *testing.T) {
	terms := func(n int, same bool) Terms {
		return Terms{Order: auction.Order, Nodes: n, SameSite: same, MaxPrice: 1_000}
	}
	for name, c := range map[string]struct {
		terms   Terms
		bids    []messages.JudgedBid
		winners []byte
		bar     byte // 0 for none
	}{
		"nobody":            {terms(1, false), nil, []byte{}, 0},
		"alone":             {terms(1, false), []messages.JudgedBid{running(1, 500, 0, "")}, []byte{1}, 0},
		"lowest score":      {terms(1, false), []messages.JudgedBid{running(1, 500, 0, ""), running(2, 400, 0, "")}, []byte{2}, 1},
		"higher reputation": {terms(1, false), []messages.JudgedBid{running(1, 500, 9, ""), running(2, 500, 8, "")}, []byte{1}, 2},
		"two of three":      {terms(2, false), []messages.JudgedBid{running(1, 500, 0, ""), running(2, 400, 0, ""), running(3, 450, 0, "")}, []byte{2, 3}, 1},
		"too few":           {terms(2, false), []messages.JudgedBid{running(1, 500, 0, "")}, []byte{}, 0},
		"one site": {
			terms(2, true),
			[]messages.JudgedBid{running(1, 100, 0, "a"), running(2, 900, 0, "a"), running(3, 400, 0, "b"), running(4, 450, 0, "b"), running(5, 10, 0, ""), running(6, 10, 0, "c")},
			[]byte{3, 4},
			2,
		},
		"no site is large enough": {terms(2, true), []messages.JudgedBid{running(1, 1, 0, "a"), running(2, 2, 0, "b"), running(3, 3, 0, ""), running(4, 3, 0, "")}, []byte{}, 0},
	} {
		got := Pick(c.terms, c.bids)
		require.Equal(t, c.winners, nodes(c.bids, got.Winners), name)
		if c.bar == 0 {
			require.Equal(t, -1, got.Bar, name)
		} else {
			require.Equal(t, c.bar, c.bids[got.Bar].Bid.Node[0], name)
		}
	}
}

func TestDecideSaysWhy(t *testing.T) {
	bids := []messages.JudgedBid{
		running(1, 100, 0, "a"), running(2, 900, 0, "a"), running(3, 400, 0, "b"), running(4, 450, 0, "b"),
		{Bid: messages.Bid{Node: [32]byte{5}}, Code: uint8(records.OutcomeNotRevealed)},
	}
	c := Decide(Terms{Order: auction.Order, Nodes: 2, SameSite: true}, bids)
	var codes []records.OutcomeCode
	for _, b := range bids {
		codes = append(codes, records.OutcomeCode(b.Code))
	}
	require.Equal(t, []records.OutcomeCode{records.OutcomeOtherSite, records.OutcomeOutbid, records.OutcomeWon, records.OutcomeWon, records.OutcomeNotRevealed}, codes)
	require.Equal(t, c, Pick(Terms{Order: auction.Order, Nodes: 2, SameSite: true}, bids), "the codes change nothing about the choice")
	require.Equal(t, c.Winners, Winners(auction.Order, bids).Winners)
	require.EqualValues(t, 300, Level(bids, c, &bids[1]), "450 is the score of the last winner; without reputation a price scores half as much again")

	few := []messages.JudgedBid{running(1, 100, 0, "")}
	Decide(Terms{Order: auction.Order, Nodes: 2}, few)
	require.EqualValues(t, records.OutcomeNotAwarded, few[0].Code)
}

// drawRunning draws bids with many ties.
func drawRunning(t *rapid.T) []messages.JudgedBid {
	n := rapid.IntRange(0, 12).Draw(t, "bids")
	out := make([]messages.JudgedBid, n)
	for i := range out {
		out[i] = running(byte(i+1), rapid.Uint64Range(98, 102).Draw(t, "score"), rapid.SampledFrom([]uint16{0, 9_000, 10_000}).Draw(t, "reputation"),
			rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "site"))
	}
	return out
}

// The choice is a function of the set: keepers that hold the same bids, learned in whatever order, choose the same.
// Every winner stands before the bar, as the program asks, nobody who was left out stands between, and no winner is
// paid less than it bid.
func TestTheChoiceIsAFunctionOfTheBids(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bids := drawRunning(t)
		terms := Terms{Order: auction.Order, Nodes: rapid.IntRange(1, 4).Draw(t, "wanted"), SameSite: rapid.Bool().Draw(t, "same"), MaxPrice: 1_000}
		c := Pick(terms, bids)
		shuffled := rapid.Permutation(bids).Draw(t, "order")
		d := Pick(terms, shuffled)
		require.Equal(t, nodes(bids, c.Winners), nodes(shuffled, d.Winners))
		require.Equal(t, c.Bar < 0, d.Bar < 0)
		if c.Bar >= 0 {
			require.Equal(t, bids[c.Bar].Bid.Node, shuffled[d.Bar].Bid.Node)
		}
		if len(c.Winners) == 0 {
			require.Equal(t, -1, c.Bar)
			return
		}
		require.Len(t, c.Winners, terms.Nodes)
		written := slices.Clone(bids)
		require.Equal(t, c, Decide(terms, written))
		require.Equal(t, c, Winners(terms.Order, written), "the outcomes say the choice")
		less := func(i, j int) int { return compare(terms.Order, &bids[i], &bids[j]) }
		require.True(t, slices.IsSortedFunc(c.Winners, less))
		last := c.Winners[len(c.Winners)-1]
		for i := range bids {
			if slices.Contains(c.Winners, i) {
				if terms.SameSite && terms.Nodes > 1 {
					require.Equal(t, bids[last].Site, bids[i].Site)
				}
				continue
			}
			if c.Bar >= 0 && less(last, i) < 0 {
				require.LessOrEqual(t, less(c.Bar, i), 0, "the bar is the best behind the last winner")
			}
			if !terms.SameSite || terms.Nodes == 1 {
				require.Positive(t, less(i, last), "nobody better was left out")
			}
		}
		var bar *messages.JudgedBid
		if c.Bar >= 0 {
			bar = &bids[c.Bar]
			require.Negative(t, less(last, c.Bar))
		}
		for _, i := range c.Winners {
			// What the bid's price would be for its score.
			own, err := market.PriceOf(bids[i].Score, bids[i].Reputation, 0)
			require.NoError(t, err)
			paid, err := Price(terms, bar, bids[i].Reputation, 0)
			require.NoError(t, err)
			require.GreaterOrEqual(t, paid, min(own, terms.MaxPrice))
		}
	})
}

// A bid that nobody else's price depends on cannot be improved by naming another price: the rule that makes one's true
// cost the best bid. For one node, with the same reputation for all.
func TestOnesTrueCostIsTheBestBid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		terms := Terms{Order: auction.Order, Nodes: 1, MaxPrice: 1_000}
		n := rapid.IntRange(0, 5).Draw(t, "others")
		var others []messages.JudgedBid
		for i := range n {
			others = append(others, running(byte(i+2), rapid.Uint64Range(1, 1_000).Draw(t, "price"), 10_000, ""))
		}
		gain := func(price, cost uint64) int64 {
			bids := append([]messages.JudgedBid{running(1, price, 10_000, "")}, others...)
			c := Pick(terms, bids)
			if c.Winners[0] != 0 {
				return 0
			}
			var bar *messages.JudgedBid
			if c.Bar >= 0 {
				bar = &bids[c.Bar]
			}
			paid, err := Price(terms, bar, 10_000, 0)
			require.NoError(t, err)
			return int64(paid) - int64(cost)
		}
		cost := rapid.Uint64Range(1, 1_000).Draw(t, "cost")
		require.GreaterOrEqual(t, gain(cost, cost), gain(rapid.Uint64Range(1, 1_000).Draw(t, "lie"), cost))
	})
}

// signed is a node's bid as it travels.
func signed(t require.TestingT, k solana.PrivateKey, node byte, price uint64, reveal bool) messages.Bid {
	p := messages.BidPrice{Price: price, Salt: [32]byte{node}}
	w := auction.Reveal([32]byte{node}, p)
	sig, err := w.Sign(k)
	require.NoError(t, err)
	b := messages.Bid{Node: [32]byte{node}, Commitment: w.Commitment(), Signature: sig}
	if reveal {
		b.Reveal = &p
	}
	return b
}

func TestCheck(t *testing.T) {
	k := solana.NewWallet().PrivateKey
	good := signed(t, k, 1, 5, true)
	require.NoError(t, auction.Check(&good, k.PublicKey()))
	require.ErrorIs(t, auction.Check(&good, solana.NewWallet().PublicKey()), records.ErrSignature)
	for name, change := range map[string]func(*messages.Bid, *Auction){
		"another price":   func(b *messages.Bid, _ *Auction) { b.Reveal.Price++ },
		"another salt":    func(b *messages.Bid, _ *Auction) { b.Reveal.Salt[0]++ },
		"another node":    func(b *messages.Bid, _ *Auction) { b.Node[0]++ },
		"another order":   func(_ *messages.Bid, a *Auction) { a.Order[0]++ },
		"another life":    func(_ *messages.Bid, a *Auction) { a.CloseAt++ },
		"another cluster": func(_ *messages.Bid, a *Auction) { a.Domain[0]++ },
	} {
		b, a := signed(t, k, 1, 5, true), auction
		change(&b, &a)
		require.ErrorIs(t, a.Check(&b, k.PublicKey()), ErrReveal, name)
	}
}

// A published set is exactly what the keeper signed: whatever is changed on the way is noticed.
func TestSet(t *testing.T) {
	keeper := solana.NewWallet().PrivateKey
	judged := []messages.JudgedBid{}
	for i := range byte(3) {
		b := signed(t, solana.NewWallet().PrivateKey, i+1, uint64(i)+5, i != 1)
		judged = append(judged, messages.JudgedBid{Bid: b, Code: uint8(records.OutcomeOutbid), Score: uint64(i) + 5, Reputation: 7})
	}
	set, err := SignSet(auction, judged, 1_010, keeper)
	require.NoError(t, err)
	whole := func(change func([]messages.BidSetPart)) (Set, error) {
		var parts []messages.BidSetPart
		for _, p := range set.Parts() {
			p.Bids = slices.Clone(p.Bids)
			parts = append(parts, p)
		}
		change(parts)
		var a Assembler
		for _, p := range parts {
			if err := a.Add(p); err != nil {
				return Set{}, err
			}
		}
		return a.Set(auction, records.Wallets)
	}
	back, err := whole(func([]messages.BidSetPart) {})
	require.NoError(t, err)
	require.Equal(t, set, back)
	require.Equal(t, auction, back.Auction())
	require.NotNil(t, back.Find(solana.PublicKey{2}))
	require.Nil(t, back.Find(solana.PublicKey{9}))
	for name, change := range map[string]func([]messages.BidSetPart){
		"a price":        func(p []messages.BidSetPart) { p[1].Bids[0].Bid.Reveal = &messages.BidPrice{Price: 1} },
		"a reveal less":  func(p []messages.BidSetPart) { p[1].Bids[0].Bid.Reveal = nil },
		"a reason":       func(p []messages.BidSetPart) { p[1].Bids[0].Code++ },
		"a score":        func(p []messages.BidSetPart) { p[1].Bids[0].Score++ },
		"a guarantee":    func(p []messages.BidSetPart) { p[1].Bids[0].Guarantee++ },
		"a site":         func(p []messages.BidSetPart) { p[1].Bids[0].Site[0]++ },
		"a requirement":  func(p []messages.BidSetPart) { p[1].Bids[0].Requirement++ },
		"a reputation":   func(p []messages.BidSetPart) { p[1].Bids[0].Reputation++ },
		"one bid less":   func(p []messages.BidSetPart) { p[1].Bids = p[1].Bids[1:] },
		"one bid twice":  func(p []messages.BidSetPart) { p[1].Bids[1] = p[1].Bids[0] },
		"another order":  func(p []messages.BidSetPart) { slices.Reverse(p[1].Bids) },
		"one bid more":   func(p []messages.BidSetPart) { p[1].Bids = append(p[1].Bids, p[1].Bids[0]) },
		"the head":       func(p []messages.BidSetPart) { p[0].Head[70]++ },
		"the signature":  func(p []messages.BidSetPart) { p[0].Signature[3]++ },
		"another keeper": func(p []messages.BidSetPart) { p[0].Keeper[3]++ },
	} {
		_, err := whole(change)
		require.Error(t, err, name)
	}
	other := auction
	other.CloseAt++
	require.ErrorIs(t, set.Verify(other, records.Wallets), ErrSet)
	_, err = Root([]messages.JudgedBid{judged[1], judged[0]})
	require.ErrorIs(t, err, ErrSet)
	_, err = new(Assembler).Set(auction, records.Wallets)
	require.ErrorIs(t, err, ErrSet)
}

// Acknowledgements are not in the root: keepers that hold the same bids have the same one.
func TestTheRootIsOfTheBidsAlone(t *testing.T) {
	k := solana.NewWallet().PrivateKey
	a := []messages.JudgedBid{{Bid: signed(t, k, 1, 5, true)}}
	b := []messages.JudgedBid{{Bid: a[0].Bid, Code: 2, Score: 8}}
	ack, err := SignAck(k, records.AckReveal, a[0].Bid.Commitment, 7)
	require.NoError(t, err)
	b[0].Bid.Acks = []messages.BidAck{ack}
	one, err := Root(a)
	require.NoError(t, err)
	two, err := Root(b)
	require.NoError(t, err)
	require.Equal(t, one, two)
	read, err := Ack(FindAck(b[0].Bid.Acks, k.PublicKey(), records.AckReveal), a[0].Bid.Commitment, records.Wallets)
	require.NoError(t, err)
	require.EqualValues(t, 7, read.ReceivedAt)
	require.Nil(t, FindAck(b[0].Bid.Acks, k.PublicKey(), records.AckCommitment))
	empty, err := Root(nil)
	require.NoError(t, err)
	require.Equal(t, records.Hash{}, empty)
}

func TestJudge(t *testing.T) {
	const now = 1_000_000
	mk := &market.Market{}
	o := &market.Order{Meta: market.Meta{Address: auction.Order}}
	o.Order.Status, o.GpusPerNode, o.MaxPrice, o.AwardDeadline, o.Mode, o.NodesWanted = uint8(market.OrderOpen), 1, 100, now+9, market.ModeSealed, 1
	m := &market.Model{}
	m.Id = 1
	look := func(change func(*market.Node, *market.Provider)) Lookup {
		n, p := &market.Node{}, &market.Provider{}
		n.Node.Status, n.Spec.Model, n.Spec.Gpus, n.Price = uint8(market.NodeActive), 1, 2, 999 // the ask does not matter
		n.UptimeBps, n.RegisteredAt, p.Stake = 10_000, now-1_000, 1
		change(n, p)
		return func(node solana.PublicKey) (*market.Node, *market.Provider, *market.Model, bool) {
			return n, p, m, node == solana.PublicKey{1}
		}
	}
	fine := func(*market.Node, *market.Provider) {}
	bid := func(node byte, price uint64, reveal bool) messages.Bid {
		b := messages.Bid{Node: [32]byte{node}}
		if reveal {
			b.Reveal = &messages.BidPrice{Price: price}
		}
		return b
	}
	for name, c := range map[string]struct {
		bid    messages.Bid
		change func(*market.Node, *market.Provider)
		want   records.OutcomeCode
	}{
		"in the running": {bid(1, 100, true), fine, 0},
		"not revealed":   {bid(1, 0, false), fine, records.OutcomeNotRevealed},
		"too dear":       {bid(1, 101, true), fine, records.OutcomeTooDear},
		"for nothing":    {bid(1, 0, true), fine, records.OutcomeTooDear},
		"asleep":         {bid(1, 50, true), func(n *market.Node, _ *market.Provider) { n.Node.Status = uint8(market.NodeHibernated) }, records.OutcomeUnsuitable},
		"full":           {bid(1, 50, true), func(n *market.Node, _ *market.Provider) { n.GpuMask = 3 }, records.OutcomeUnsuitable},
		"little stake":   {bid(1, 50, true), func(n *market.Node, _ *market.Provider) { n.RequiredStake = 2 }, records.OutcomeUnsuitable},
		"nobody":         {bid(9, 50, true), fine, records.OutcomeUnsuitable},
	} {
		got := Judge(mk, o, []messages.Bid{c.bid}, look(c.change), now)
		require.Equal(t, c.want, records.OutcomeCode(got[0].Code), name)
		if c.want == records.OutcomeUnsuitable && c.bid.Node[0] == 1 {
			require.NotZero(t, got[0].Requirement, name)
		}
	}
	two := Judge(mk, o, []messages.Bid{bid(9, 1, true), bid(1, 1, true)}, look(fine), now)
	require.True(t, bytes.Compare(two[0].Bid.Node[:], two[1].Bid.Node[:]) < 0)
}

func TestEvidence(t *testing.T) {
	k := solana.NewWallet().PrivateKey
	b := signed(t, k, 1, 5, true)
	ack, err := SignAck(k, records.AckReveal, b.Commitment, 7)
	require.NoError(t, err)
	e := BidHistory{
		Order: auction.Order.String(), Node: solana.PublicKey(b.Node).String(), Price: 5, Salt: hexOf(b.Reveal.Salt), Commitment: hexOf(b.Commitment),
		Signature: solana.Signature(b.Signature).String(),
		Acks:      []HistoryAck{{Keeper: k.PublicKey().String(), Stage: 2, ReceivedAt: 7, Signature: solana.Signature(ack.Signature).String()}},
	}
	order, back, err := e.Bid()
	require.NoError(t, err)
	require.Equal(t, auction.Order, order)
	b.Acks = []messages.BidAck{ack}
	require.Equal(t, b, back)
	for name, change := range map[string]func(*BidHistory){
		"order": func(e *BidHistory) { e.Order = "?" }, "node": func(e *BidHistory) { e.Node = "" }, "signature": func(e *BidHistory) { e.Signature = "1" },
		"commitment": func(e *BidHistory) { e.Commitment = "00" }, "salt": func(e *BidHistory) { e.Salt = "zz" },
		"acknowledgement": func(e *BidHistory) { e.Acks = []HistoryAck{{}} },
	} {
		bad := e
		change(&bad)
		_, _, err := bad.Bid()
		require.ErrorIs(t, err, ErrSet, name)
	}
	o := records.Outcome{Commitment: b.Commitment, Code: records.OutcomeOutbid, Price: 1_260_000, Root: records.Hash{1}}
	s, err := SignOutcome(k, o)
	require.NoError(t, err)
	read, err := ReadOutcome(&s, records.Wallets)
	require.NoError(t, err)
	require.Equal(t, o, read)
	w, err := DescribeOutcome(s.Keeper, s.Outcome, s.Signature)
	require.NoError(t, err)
	require.Contains(t, w.Detail, "1.26")
	_, err = DescribeOutcome(s.Keeper, s.Outcome[1:], s.Signature)
	require.ErrorIs(t, err, records.ErrLength)
}
