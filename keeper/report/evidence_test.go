package report

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/records"
)

// proof is an evidence statement; tier -1 is evidence found false, -2 a changed device.
func proof(keeper, node solana.PublicKey, tier int, at int64) statement.Signed {
	s := stated(keeper, node, records.CheckEvidence, tier >= 0, 0, at)
	switch {
	case tier == -2:
		s.Statement.Figures.First = records.EvidenceDeviceChanged
	case tier > 0:
		s.Statement.Figures.First = uint32(tier)
	}
	if tier >= 0 {
		s.Statement.Detail = [32]byte{keeper[0], byte(tier), byte(at)}
	}
	return s
}

// A period in which a node was not asked for evidence says nothing about it.
func TestLeavesWithoutEvidenceSayNothing(t *testing.T) {
	node := key(100)
	var all []statement.Signed
	for k := byte(1); k <= 3; k++ {
		all = append(all, stated(key(k), node, records.CheckLiveness, true, 30, 5))
	}
	leaf := Build(input(weights(1, 1, 1), all...))[0]
	require.EqualValues(t, records.TierNotAsked, leaf.Tier)
	require.Zero(t, leaf.EvidenceHash)
	// To evade the question is to show nothing.
	for k := byte(1); k <= 3; k++ {
		x := proof(key(k), node, 0, 10)
		x.Statement.Detail = [32]byte{}
		all = append(all, x)
	}
	leaf = Build(input(weights(1, 1, 1), all...))[0]
	require.Zero(t, leaf.Tier)
	require.Zero(t, leaf.EvidenceHash)
}

func TestAgreeOnEvidence(t *testing.T) {
	const none = 9
	for name, c := range map[string]struct {
		weights Weights
		tiers   []int // by keeper; none for no evidence check
		tier    uint8
		hash    [32]byte
		flags   records.Flags
	}{
		"all agree":                         {weights(1, 1, 1), []int{2, 2, 2}, 2, [32]byte{1, 2, 10}, 0},
		"nobody asked":                      {weights(1, 1, 1), []int{none, none, none}, records.TierNotAsked, [32]byte{}, 0},
		"half is not enough":                {weights(1, 1), []int{3, none}, records.TierNotAsked, [32]byte{}, 0},
		"two thirds are not":                {weights(1, 1, 1), []int{3, 3, none}, records.TierNotAsked, [32]byte{}, 0},
		"more than two thirds are":          {weights(1, 1, 1, 1), []int{3, 3, 3, none}, 3, [32]byte{1, 3, 10}, 0},
		"the lower median":                  {weights(1, 1, 1, 1), []int{3, 2, 2, 3}, 2, [32]byte{2, 2, 10}, 0},
		"one dishonest keeper cannot raise": {weights(1, 1, 1), []int{3, 1, 1}, 1, [32]byte{2, 1, 10}, 0},
		"one dishonest keeper cannot lower": {weights(1, 1, 1), []int{0, 2, 2}, 2, [32]byte{2, 2, 10}, 0},
		"the heaviest gives the hash":       {weights(1, 3, 2), []int{2, 2, 2}, 2, [32]byte{2, 2, 10}, 0},
		"tier zero has a hash too":          {weights(1, 1, 1), []int{0, 0, 0}, 0, [32]byte{1, 0, 10}, 0},
		"false":                             {weights(1, 1, 1), []int{-1, -1, -1}, 0, [32]byte{}, records.FlagEvidenceFailed},
		"false for two of three":            {weights(1, 1, 1), []int{-1, -1, 2}, records.TierNotAsked, [32]byte{}, 0},
		"changed":                           {weights(1, 1, 1, 1), []int{-2, -2, -2, 1}, 0, [32]byte{}, records.FlagDeviceChanged},
		"changed for some":                  {weights(1, 1, 1), []int{-2, -2, -1}, 0, [32]byte{}, records.FlagEvidenceFailed},
	} {
		t.Run(name, func(t *testing.T) {
			node := key(100)
			var all []statement.Signed
			for k, tier := range c.tiers {
				all = append(all, stated(key(byte(k+1)), node, records.CheckLiveness, true, 30, 5))
				if tier != none {
					all = append(all, proof(key(byte(k+1)), node, tier, 10))
				}
			}
			leaves := Build(input(c.weights, all...))
			require.Len(t, leaves, 1)
			require.Equal(t, c.tier, leaves[0].Tier)
			require.Equal(t, c.hash, leaves[0].EvidenceHash)
			require.Equal(t, c.flags, leaves[0].Flags)
		})
	}
}

// Of a keeper that asked twice the later answer counts.
func TestLaterEvidenceCounts(t *testing.T) {
	node := key(100)
	var all []statement.Signed
	for k := byte(1); k <= 3; k++ {
		all = append(all, stated(key(k), node, records.CheckLiveness, true, 30, 5), proof(key(k), node, 3, 10), proof(key(k), node, 1, 20))
	}
	leaves := Build(input(weights(1, 1, 1), all...))
	require.EqualValues(t, 1, leaves[0].Tier)
	require.Equal(t, [32]byte{1, 1, 20}, leaves[0].EvidenceHash)
}

// Whatever the order of statements, and whatever a third of the weight says, the tier lies within what the others
// found.
func TestTierIsWithinHonestTiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.IntRange(0, 3).Draw(t, "dishonest")
		n := 3*f + 1 + rapid.IntRange(0, 3).Draw(t, "more")
		w := Weights{}
		var all []statement.Signed
		low, high := 3, 0
		for k := range n {
			w[key(byte(k+1))] = 1
			tier := rapid.IntRange(0, 3).Draw(t, "tier")
			if k < f {
				tier = rapid.IntRange(-2, 3).Draw(t, "lie")
			} else {
				low, high = min(low, tier), max(high, tier)
			}
			all = append(all, stated(key(byte(k+1)), key(100), records.CheckLiveness, true, 30, 5), proof(key(byte(k+1)), key(100), tier, 10))
		}
		want := Build(input(w, all...))
		got := Build(input(w, rapid.Permutation(all).Draw(t, "order")...))
		require.Equal(t, want, got)
		require.Len(t, want, 1)
		require.GreaterOrEqual(t, int(want[0].Tier), low)
		require.LessOrEqual(t, int(want[0].Tier), high)
		require.NotEqual(t, [32]byte{}, want[0].EvidenceHash)
		require.Zero(t, want[0].Flags)
	})
}
