package market_test

import (
	"math"
	"testing"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
)

// sampleBetter is an award that a better node contests.
func sampleBetter() market.BetterAsk {
	n, m, r := market.SampleNode()
	n.Address, n.Provider = solana.PublicKey{1}, solana.PublicKey{2}
	n.StartAvailability(1)
	b := market.BetterAsk{Better: n, Model: m}
	b.Order.CreatedAt, b.Order.NodesWanted, b.Order.GpusPerNode, b.Order.MaxPrice = 1_000, 1, 2, 2_000_000
	b.Order.Requirement = r
	b.Lease.AwardedAt, b.Lease.Lease.Node, b.Lease.Price = 1_005, solana.PublicKey{9}, 1_500_000
	b.Lease.Lease.Score, b.Lease.ChallengeUntil = 1_500_000, 1_105
	return b
}

func TestBetterAsk(t *testing.T) {
	b := sampleBetter()
	score, ok := b.Score(1_105)
	require.True(t, ok)
	then, err := b.Better.Score(970, b.Order.LatestEnd())
	require.NoError(t, err)
	require.Equal(t, then, score)
	prove, err := ix.ProveBetterAsk(b, solana.PublicKey{8})
	require.NoError(t, err)
	data, err := prove.Data()
	require.NoError(t, err)
	require.Equal(t, bindings.Instruction_ProveBetterAsk[:], data)

	for name, change := range map[string]func(*market.BetterAsk){
		"contested before":  func(b *market.BetterAsk) { b.Lease.Lease.Score = 0 },
		"sealed":            func(b *market.BetterAsk) { b.Order.Mode = 1 },
		"a redundant order": func(b *market.BetterAsk) { b.Order.Redundant = 1 },
		"one of the nodes": func(b *market.BetterAsk) {
			b.Order.NodesWanted, b.Order.AwardedNodes = 2, [2]uint64{math.MaxUint64, math.MaxUint64}
		},
		"window":             func(b *market.BetterAsk) { b.Lease.ChallengeUntil = 1_104 },
		"not active":         func(b *market.BetterAsk) { b.Better.Status = uint8(market.NodeDraining) },
		"active since":       func(b *market.BetterAsk) { b.Better.AvailableSince = 970 },
		"ask since":          func(b *market.BetterAsk) { b.Better.AskSince = 970 },
		"freed":              func(b *market.BetterAsk) { b.Better.StartAvailability(970) },
		"unhealthy":          func(b *market.BetterAsk) { b.Better.Unhealthy.Since, b.Better.Unhealthy.Until = 1_000, 2_000 },
		"record":             func(b *market.BetterAsk) { b.Better.RecordSince, b.Better.PreviousSince = 1_005, 970 },
		"stake":              func(b *market.BetterAsk) { b.Better.RequiredStake = 1 },
		"stake since":        func(b *market.BetterAsk) { b.Better.CoveredSince = 970 },
		"model since":        func(b *market.BetterAsk) { b.Model.Since = 970 },
		"price":              func(b *market.BetterAsk) { b.Order.MaxPrice = 999_999 },
		"the awarded":        func(b *market.BetterAsk) { b.Lease.Lease.Node = b.Better.Address },
		"requirement":        func(b *market.BetterAsk) { b.Order.Requirement.MinTier = 3 },
		"only as good":       func(b *market.BetterAsk) { b.Lease.Lease.Score = score },
		"tier of the record": func(b *market.BetterAsk) { b.Better.RecordSince = 1_006; b.Order.Requirement.MinTier = 1 },
	} {
		b := sampleBetter()
		change(&b)
		_, ok := b.Score(1_105)
		require.False(t, ok, name)
	}
	// A guarantee counts if it lasts until the latest end, and only as it was in the record.
	end := b.Order.LatestEnd()
	for until, better := range map[int64]bool{end - 1: false, end: true} {
		b = sampleBetter()
		b.Lease.Lease.Score, b.Better.GuaranteeBps, b.Better.GuaranteedUntil = score, 9_900, until
		_, ok = b.Score(1_105)
		require.Equal(t, better, ok)
		b.Better.RecordSince = 1_006
		_, ok = b.Score(1_105)
		require.False(t, ok, "the record before had none")
		b.Better.Previous.UptimeBps, b.Better.Previous.Tier = b.Better.UptimeBps, b.Better.Tier
		b.Better.PreviousGuarantee = bindings.Guarantee{Until: until, Bps: 9_900}
		b.Better.GuaranteeBps, b.Better.GuaranteedUntil = 0, 0
		_, ok = b.Score(1_105)
		require.Equal(t, better, ok)
	}
	b = sampleBetter()
	b.Order.Requirement.Guaranteed, b.Order.DurationSecs, b.Better.GuaranteeBps, b.Better.GuaranteedUntil = 1, 1_000, 9_900, 999
	_, ok = b.Score(1_105)
	require.False(t, ok)
	// The record of the time of the award counts after a change.
	b = sampleBetter()
	b.Better.Previous.UptimeBps, b.Better.RecordSince, b.Better.UptimeBps = b.Better.UptimeBps, 1_006, 0
	got, ok := b.Score(1_105)
	require.True(t, ok)
	require.Equal(t, score, got)
}
