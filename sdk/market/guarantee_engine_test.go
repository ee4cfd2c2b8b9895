package market_test

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// TestGuarantees makes two guarantees, lets keepers see that one is kept and one is not, and resolves both.
func TestGuarantees(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.ReportRetentionSecs = 12
	w.InitMarket(params)
	keeper := w.Keeper()
	provider := w.Provider(200 * market.OneGNT)
	_, steady := w.Node(provider, testmarket.A100, 1, 1_000_000)
	nodeKey, shaky := w.Node(provider, testmarket.A100, 1, 1_000_000)
	byKeeper, byProvider := []solana.PrivateKey{keeper}, []solana.PrivateKey{provider}

	until := w.Now() + int64(market.LeastCooldown(&params)) + 1
	guarantee := func(n market.Node, until int64, bps uint16) (solana.Instruction, error) {
		return ix.NodeGuarantee(ix.NodeGuaranteeArgs{Wallet: provider.PublicKey(), Node: n, Until: until, GuaranteeBPS: bps})
	}
	for _, n := range []market.Node{steady, shaky} {
		instruction, err := guarantee(n, until, 9_500)
		w.Do("node_guarantee", byProvider, instruction, err)
	}
	// A guarantee grows, and does not shrink.
	instruction, err := guarantee(shaky, until, 9_900)
	w.Do("node_guarantee", byProvider, instruction, err)
	instruction, err = guarantee(shaky, until, 9_800)
	require.NoError(t, err)
	_, err = w.Try("node_guarantee", byProvider, instruction)
	require.ErrorIs(t, err, bindings.ErrorCodeInvalidGuarantee)
	w.Wait("guarantee", func(v *view.View) bool {
		a, _ := v.Node(steady.Address)
		b, _ := v.Node(shaky.Address)
		steady, shaky = a, b
		return a.GuaranteedUntil == until && b.GuaranteeBps == 9_900
	})
	now := w.Now()
	score, err := shaky.Score(now, until)
	require.NoError(t, err)
	late, err := shaky.Score(now, until+1)
	require.NoError(t, err)
	plain, err := market.Score(shaky.Ask(), shaky.Reputation(now), 0)
	require.NoError(t, err)
	require.Less(t, score, plain)
	require.Equal(t, plain, late, "it ends before the work")

	// It stays.
	instruction, err = ix.NodeUpdate(ix.NodeUpdateArgs{Authority: nodeKey.PublicKey(), Node: shaky, Price: 1, Status: market.NodeHibernated})
	require.NoError(t, err)
	_, err = w.Try("node_update", []solana.PrivateKey{nodeKey}, instruction)
	require.ErrorIs(t, err, bindings.ErrorCodeGuaranteeRunning)
	retire, err := ix.NodeRetire(ix.NodeRetireArgs{Wallet: provider.PublicKey(), Node: shaky})
	require.NoError(t, err)
	_, err = w.Try("node_retire", byProvider, retire...)
	require.ErrorIs(t, err, bindings.ErrorCodeGuaranteeRunning)

	// Keepers see the first whole period.
	period := uint64(shaky.GuaranteedSince) / uint64(params.PeriodSecs)
	leaves := []records.Leaf{
		{Node: steady.Address, Period: records.Period(period), ChecksPassed: 3, ChecksTotal: 3, UpSeconds: params.PeriodSecs},
		{Node: shaky.Address, Period: records.Period(period), ChecksPassed: 1, ChecksTotal: 3, UpSeconds: params.PeriodSecs - 1},
	}
	records.SortLeaves(leaves)
	tree, err := records.LeafTree(leaves)
	require.NoError(t, err)
	end, err := market.PeriodEnd(period, params.PeriodSecs)
	require.NoError(t, err)
	w.Until(end)
	instruction, err = ix.ReportVote(ix.ReportVoteArgs{Keeper: keeper.PublicKey(), Period: period, Root: tree.Root()})
	w.Do("report_vote", byKeeper, instruction, err)
	for i, l := range leaves {
		p, err := tree.Proof(uint32(i))
		require.NoError(t, err)
		instruction, err := ix.ReportApply(ix.NewLeafProof(l, p))
		w.Do("report_apply", byKeeper, instruction, err)
	}
	w.Wait("counted", func(v *view.View) bool {
		a, _ := v.Node(steady.Address)
		b, _ := v.Node(shaky.Address)
		steady, shaky = a, b
		return a.GuaranteeCountedSecs == 2 && a.GuaranteeUpSecs == 2 && b.GuaranteeCountedSecs == 2 && b.GuaranteeUpSecs == 1
	})
	require.True(t, market.GuaranteeKept(steady.GuaranteeUpSecs, steady.GuaranteeCountedSecs, steady.GuaranteeBps))
	require.False(t, market.GuaranteeKept(shaky.GuaranteeUpSecs, shaky.GuaranteeCountedSecs, shaky.GuaranteeBps))

	w.Give(keeper.PublicKey(), w.StakeMint, 0)
	settle := func(n market.Node) solana.Instruction {
		instruction, err := ix.GuaranteeResolve(ix.GuaranteeResolveArgs{Payer: keeper.PublicKey(), Node: n})
		require.NoError(t, err)
		return instruction
	}
	at, ok := shaky.ResolvesAt()
	require.True(t, ok)
	require.Equal(t, until+7, at)
	require.ErrorIs(t, shaky.CanResolveGuarantee(at-1), bindings.ErrorCodeTooEarly)
	require.NoError(t, shaky.CanResolveGuarantee(at))
	w.Until(at)
	for _, n := range []market.Node{steady, shaky} {
		w.Do("guarantee_resolve", byKeeper, settle(n), nil)
		_, err = w.Try("guarantee_resolve", byKeeper, settle(n))
		require.ErrorIs(t, err, bindings.ErrorCodeNotGuaranteed)
	}
	// Only the one that was broken is a fault, which need not wait.
	var fault market.Fault
	w.Wait("fault", func(v *view.View) bool {
		faults := v.Faults()
		if len(faults) == 1 {
			fault = faults[0]
		}
		return len(faults) == 1
	})
	require.Equal(t, market.GuaranteeFaultAddress(shaky.Address, until), fault.Address)
	require.Equal(t, market.FaultGuarantee, fault.Kind)
	instruction, err = ix.SlashApply(ix.SlashApplyArgs{Payer: keeper.PublicKey(), Fault: fault, StakeMint: w.StakeMint})
	w.Do("slash_apply", byKeeper, instruction, err)
	w.Wait("settled", func(v *view.View) bool {
		b, _ := v.Node(shaky.Address)
		p, _ := v.ProviderOf(provider.PublicKey())
		return b.GuaranteedUntil == 0 && p.Stake == uint64(190*market.OneGNT)
	})
	require.Zero(t, w.Tokens(market.TokenAddress(keeper.PublicKey(), w.StakeMint)), "who resolves it earns nothing")
	require.ErrorIs(t, (&market.Node{}).CanResolveGuarantee(at), bindings.ErrorCodeNotGuaranteed)
}
