package market_test

import (
	"testing"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/txform"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/records"
)

// sampleOmitted is an award that left a bid of 1 market.USDC out, where the winner is paid 1.5.
func sampleOmitted(t *testing.T) market.OmittedBid {
	t.Helper()
	node, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	keeper, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	n, m, r := market.SampleNode()
	n.Address, n.Provider, n.NodeKey = solana.PublicKey{1}, solana.PublicKey{2}, node.PublicKey()
	n.StartAvailability(1)
	b := market.OmittedBid{Model: m, ReceivedAt: 1_020}
	o, a, l := &b.Order, &b.Auction, &b.Lease
	o.Address, l.Address, a.Address = solana.PublicKey{5}, solana.PublicKey{6}, market.AuctionAddress(solana.PublicKey{5})
	o.NodesWanted, o.GpusPerNode, o.MaxPrice, o.Mode, o.AuctionClose = 1, 2, 2_000_000, market.ModeSealed, 1_000
	o.DurationSecs, o.Requirement = 3_600, r
	a.Auction.Order, a.CloseAt, a.RevealUntil, a.AwardedAt, a.ChallengeUntil = o.Address, 1_000, 1_020, 1_025, 1_125
	a.Keeper, a.BarNode = keeper.PublicKey(), solana.PublicKey{7}
	l.Lease.Order, l.AwardedAt, l.Lease.Node, l.Lease.Keeper = o.Address, 1_025, solana.PublicKey{9}, keeper.PublicKey()
	l.Price, l.Lease.Score, l.Gpus = 1_500_000, 1_600_000, 2
	b.Bar = &market.Node{Meta: market.Meta{Address: a.BarNode}}
	bid := market.OrderBid(records.Domain{1}, *o, n.Address, 1_000_000, [32]byte{3})
	b.Omitted = market.SealedBid{Node: n, Bid: bid}
	b.Omitted.Signature, err = bid.Sign(node)
	require.NoError(t, err)
	b.Ack, err = records.Ack{Stage: records.AckReveal, Commitment: bid.Commitment(), ReceivedAt: b.ReceivedAt}.Sign(keeper)
	require.NoError(t, err)
	return b
}

func TestOmittedBid(t *testing.T) {
	b := sampleOmitted(t)
	score, ok := b.Score(1_125)
	require.True(t, ok)
	want, err := market.Score(1_000_000, b.Omitted.Node.Reputation(970), 0)
	require.NoError(t, err)
	require.Equal(t, want, score)
	ixs, err := ix.ProveOmittedBid(b, solana.PublicKey{8}, 1_125)
	require.NoError(t, err)
	require.Len(t, ixs, 3)
	data, err := ixs[2].Data()
	require.NoError(t, err)
	require.Equal(t, bindings.Instruction_ProveOmittedBid[:], data[:8])
	require.Len(t, data, 8+8+32+8)
	require.True(t, txform.Legacy.Holds(solana.PublicKey{8}, ixs...), "with the compute budget it fits a transaction")

	for name, change := range map[string]func(*market.OmittedBid){
		"contested before":              func(b *market.OmittedBid) { b.Lease.Lease.Score = 0 },
		"instant":                       func(b *market.OmittedBid) { b.Order.Mode = 0 },
		"several nodes":                 func(b *market.OmittedBid) { b.Order.NodesWanted = 2 },
		"another auction":               func(b *market.OmittedBid) { b.Order.AuctionClose++ },
		"another order's auction":       func(b *market.OmittedBid) { b.Auction.Auction.Order = solana.PublicKey{77} },
		"another keeper's":              func(b *market.OmittedBid) { b.Auction.Keeper = solana.PublicKey{77} },
		"another award":                 func(b *market.OmittedBid) { b.Lease.AwardedAt-- },
		"window":                        func(b *market.OmittedBid) { b.Auction.ChallengeUntil = 1_124 },
		"late":                          func(b *market.OmittedBid) { b.ReceivedAt = 1_021 },
		"the awarded":                   func(b *market.OmittedBid) { b.Lease.Lease.Node = b.Omitted.Node.Address },
		"the bar":                       func(b *market.OmittedBid) { b.Auction.BarNode = b.Omitted.Node.Address },
		"the bar is not known":          func(b *market.OmittedBid) { b.Bar = nil },
		"the bar's record":              func(b *market.OmittedBid) { b.Bar.RecordSince, b.Bar.PreviousSince = 1_026, 970 },
		"not active":                    func(b *market.OmittedBid) { b.Omitted.Node.Status = uint8(market.NodeDraining) },
		"active since":                  func(b *market.OmittedBid) { b.Omitted.Node.AvailableSince = 970 },
		"freed":                         func(b *market.OmittedBid) { b.Omitted.Node.StartAvailability(970) },
		"record":                        func(b *market.OmittedBid) { b.Omitted.Node.RecordSince, b.Omitted.Node.PreviousSince = 1_025, 970 },
		"claims":                        func(b *market.OmittedBid) { b.Omitted.Node.ClaimsMissing = 1 },
		"stake":                         func(b *market.OmittedBid) { b.Omitted.Node.RequiredStake = 1 },
		"stake since":                   func(b *market.OmittedBid) { b.Omitted.Node.CoveredSince = 970 },
		"model since":                   func(b *market.OmittedBid) { b.Model.Since = 970 },
		"price":                         func(b *market.OmittedBid) { b.Order.MaxPrice = 999_999 },
		"no price":                      func(b *market.OmittedBid) { b.Omitted.Bid.Price = 0 },
		"requirement":                   func(b *market.OmittedBid) { b.Order.Requirement.MinTier = 3 },
		"it would have changed nothing": func(b *market.OmittedBid) { b.Lease.Lease.Score = score },
	} {
		b := sampleOmitted(t)
		change(&b)
		_, ok := b.Score(1_125)
		require.False(t, ok, name)
		_, err := ix.ProveOmittedBid(b, solana.PublicKey{8}, 1_125)
		require.ErrorIs(t, err, ix.ErrInstruction, name)
	}
	for name, change := range map[string]func(*market.OmittedBid){
		"another price": func(b *market.OmittedBid) { b.Omitted.Bid.Price-- },
		"another time":  func(b *market.OmittedBid) { b.ReceivedAt-- },
		"forged":        func(b *market.OmittedBid) { b.Ack[3] ^= 1 },
	} {
		b := sampleOmitted(t)
		change(&b)
		_, err := ix.ProveOmittedBid(b, solana.PublicKey{8}, 1_125)
		require.ErrorIs(t, err, records.ErrSignature, name)
	}
	// The keeper named no losing bid, and the ask of a sealed order's node is none of its business.
	b = sampleOmitted(t)
	b.Auction.BarNode, b.Bar, b.Omitted.Node.AskSince = solana.PublicKey{}, nil, 1_020
	_, ok = b.Score(1_125)
	require.True(t, ok)
	// What changed after the award leaves what held before.
	b = sampleOmitted(t)
	n := &b.Omitted.Node
	n.Previous, n.PreviousSince, n.RecordSince = bindings.ScoreRecord{UptimeBps: n.UptimeBps, Tier: n.Tier}, n.RecordSince, 1_026
	n.UptimeBps = 0
	got, ok := b.Score(1_125)
	require.True(t, ok)
	require.Equal(t, score, got)
}
