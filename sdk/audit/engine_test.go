package audit_test

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// TestAFailedLease is paid by a report, fails, is compensated from stake, and is audited after everything is closed.
func TestAFailedLease(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.ReportRetentionSecs = 60
	w.InitMarket(params)
	keeper := w.Keeper()
	provider := w.Provider(100 * market.OneGNT)
	nodeKey, node := w.Node(provider, testmarket.A100, 1, 3_600_000)
	customer := w.Customer(20*market.OneUSDC, 20*market.OneUSDC)
	sign := []solana.PrivateKey{keeper}
	o := w.Order(customer, ix.OrderCreateArgs{
		Nonce: 1, MaxPrice: 4_000_000, Duration: 600, Nodes: 1, GPUsPerNode: 1,
		Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	})
	lease := w.Award(keeper, o, node)
	instruction, err := ix.LeaseStart(ix.LeaseStartArgs{Lease: lease})
	w.Do("lease_start", []solana.PrivateKey{nodeKey}, instruction, err)
	lease = w.Lease(lease.Address, func(l market.Lease) bool { return l.State() == market.LeaseRunning })

	report := func(leaf records.Leaf) ix.LeafProof {
		t.Helper()
		end, err := market.PeriodEnd(uint64(leaf.Period), params.PeriodSecs)
		require.NoError(t, err)
		w.Until(end)
		other := records.Leaf{Node: nodeKey.PublicKey(), Period: leaf.Period}
		leaves := []records.Leaf{leaf, other}
		records.SortLeaves(leaves)
		tree, err := records.LeafTree(leaves)
		require.NoError(t, err)
		instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: keeper.PublicKey(), Period: uint64(leaf.Period), Root: tree.Root()})
		w.Do("report_vote", sign, instruction, err)
		for i, l := range leaves {
			if l == leaf {
				p, err := tree.Proof(uint32(i))
				require.NoError(t, err)
				return ix.NewLeafProof(leaf, p)
			}
		}
		t.Fatal("the leaf is not in its own tree")
		return ix.LeafProof{}
	}
	p := records.Period(uint64(lease.StartedAt)/uint64(params.PeriodSecs) + 1)
	up := params.PeriodSecs
	proof := report(records.Leaf{Node: node.Address, Period: p, ChecksPassed: 2, ChecksTotal: 2, UpSeconds: up, Lease: lease.Address, VerifiedSeconds: up})
	instruction, err = ix.ReportApply(proof)
	w.Do("report_apply", sign, instruction, err)
	pv, _ := w.View.ProviderOf(provider.PublicKey())
	instruction, err = ix.LeaseSettleReport(ix.LeaseSettleReportArgs{Lease: lease, Payout: pv.Payout})
	w.Do("lease_settle_report", sign, instruction, err)

	proof = report(records.Leaf{
		Node: node.Address, Period: p + 1, ChecksTotal: 2, Lease: lease.Address, DowntimeSeconds: up, Flags: records.FlagOffline,
	})
	lease = w.Lease(lease.Address, func(l market.Lease) bool { return l.PaidSecs == up })
	_, _, flags := market.LeafNews(&proof.Leaf, &node, &lease, &market.Params{PeriodSecs: 5})
	require.Equal(t, records.FlagOffline, flags)
	instruction, err = ix.FaultOpen(ix.FaultOpenArgs{Payer: keeper.PublicKey(), Node: node, Proof: proof})
	w.Do("fault_open", sign, instruction, err)
	lease = w.Lease(lease.Address, func(l market.Lease) bool { return l.State() == market.LeaseFailed })
	// What remains may still move to another node: nobody but the customer ends the lease before that time is over.
	w.Until(lease.EndedAt + int64(lease.SettleSecs) + 1)
	require.NoError(t, lease.CanEndByAnyone(&node, w.Now()))
	instruction, err = ix.LeaseEnd(ix.LeaseEndArgs{Authority: keeper.PublicKey(), Lease: lease})
	w.Do("lease_end", sign, instruction, err)

	faults := w.View.FaultsOf(lease.Address)
	require.Len(t, faults, 1)
	w.Until(faults[0].ApplicableAt)
	instruction, err = ix.SlashApply(ix.SlashApplyArgs{Payer: keeper.PublicKey(), Fault: faults[0], StakeMint: w.StakeMint})
	w.Do("slash_apply", sign, instruction, err)
	instruction, err = ix.SlashCompensate(ix.SlashCompensateArgs{Payer: keeper.PublicKey(), Fault: faults[0], Lease: lease})
	w.Do("slash_compensate", sign, instruction, err)
	var applied market.Fault
	w.Wait("compensated", func(v *view.View) bool {
		applied, _ = v.Fault(faults[0].Address)
		return applied.Compensated == 1
	})
	w.Until(applied.ClaimsUntil)
	instruction, err = ix.SlashClose(applied, w.StakeMint)
	w.Do("slash_close", sign, instruction, err)

	lease = w.Lease(lease.Address, func(l market.Lease) bool { return l.State() == market.LeaseEnded && l.PendingFaults == 0 })
	w.Until(lease.EndedAt + int64(lease.SettleSecs) + 1)
	require.NoError(t, lease.CanClose(customer.PublicKey(), &node, &params, w.Now()))
	instruction, err = ix.LeaseClose(ix.LeaseCloseArgs{Authority: customer.PublicKey(), Lease: lease})
	w.Do("lease_close", []solana.PrivateKey{customer}, instruction, err)

	opts := audit.Options{Source: w.Client, Commitment: chain.Confirmed, Params: params}
	a, err := audit.AuditLease(w.Ctx, opts, lease.Address)
	require.NoError(t, err)
	for _, st := range a.Steps {
		require.Empty(t, st.Problems, "%s: %s", st.Name, st.Text)
	}
	require.False(t, a.Open)
	require.Equal(t, 2, a.Leaves)
	require.Equal(t, up, a.PaidSecs)
	require.EqualValues(t, up*1_000, a.Paid)
	require.Equal(t, 600*1_000-market.USDC(up*1_000), a.Refunded)

	// By fault and by node, after the fault is closed.
	for _, key := range []solana.PublicKey{faults[0].Address, node.Address} {
		slashes, err := audit.AuditSlash(w.Ctx, opts, key)
		require.NoError(t, err)
		require.Len(t, slashes, 1)
		s := slashes[0]
		for _, st := range s.Steps {
			require.Empty(t, st.Problems, "%s: %s", st.Name, st.Text)
		}
		require.Equal(t, "applied", s.State)
		require.Equal(t, market.GNT(faults[0].Amount), s.Split.Pool+s.Split.Finder+s.Split.Burned)
	}
	// The machine's own record: what reports say of it, and what was paid.
	record, err := audit.ReadNode(w.Ctx, opts, node.Address, 0)
	require.NoError(t, err)
	require.Len(t, record.Periods, 2)
	require.Equal(t, []records.Period{p + 1, p}, []records.Period{record.Periods[0].Leaf.Period, record.Periods[1].Leaf.Period})
	require.Equal(t, records.FlagOffline, record.Periods[0].Leaf.Flags)
	require.EqualValues(t, 2, record.Periods[1].Leaf.ChecksPassed)
	require.Len(t, record.Payments, 1)
	require.Equal(t, a.Provider, record.Payments[0].Amount)
	require.Equal(t, lease.Address, record.Payments[0].Lease)
	require.Equal(t, market.SourceReport, record.Payments[0].Source)
	require.Equal(t, 1, record.Awards)
	require.False(t, record.More)
	require.False(t, record.Since.IsZero())
	last, err := audit.ReadNode(w.Ctx, opts, node.Address, 1)
	require.NoError(t, err)
	require.True(t, last.More)
	require.Empty(t, last.Payments)

	// The market's past slashes name it.
	shares, err := audit.PastSlashes(w.Ctx, opts, 0)
	require.NoError(t, err)
	require.False(t, shares.More)
	require.Zero(t, shares.Unreadable)
	past := shares.Slashes
	require.Len(t, past, 1)
	require.Equal(t, faults[0].Address, past[0].Address)
	require.Equal(t, node.Address, past[0].Node)
	require.Equal(t, lease.Address, past[0].Lease)
	require.Equal(t, market.GNT(faults[0].Amount), past[0].Amount)
	require.Equal(t, past[0].Amount, past[0].Split.Pool+past[0].Split.Finder+past[0].Split.Burned)

	_, err = audit.AuditLease(w.Ctx, opts, node.Address)
	require.ErrorIs(t, err, audit.ErrNoHistory)
	_, err = audit.AuditSlash(w.Ctx, opts, o.Address)
	require.ErrorIs(t, err, audit.ErrNoHistory)
}
