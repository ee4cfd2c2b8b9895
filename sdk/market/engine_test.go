package market_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

func requirement(model uint16) market.Requirement {
	return market.Requirement{Models: market.Models(model), AllowSimulated: 1, Region: market.Text16("us")}
}

// TestLifeOfALease buys, runs, pays by receipt, ends, rates and closes, all through the builders of this package.
func TestLifeOfALease(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	keeper := w.Keeper()
	provider := w.Provider(100 * market.OneGNT)
	nodeKey, node := w.Node(provider, testmarket.A100, 1, 36_000_000)
	customer := w.Customer(100*market.OneUSDC, 50*market.OneUSDC)
	sign := func(keys ...solana.PrivateKey) []solana.PrivateKey { return keys }

	order := w.Order(customer, ix.OrderCreateArgs{
		Nonce: 7, MaxPrice: 40_000_000, Duration: 600, Nodes: 1, GPUsPerNode: 1, Requirement: requirement(testmarket.A100),
	})
	require.Equal(t, market.OrderOpen, order.State())
	cost, err := market.OrderCost(40_000_000, 1, 600, 1)
	require.NoError(t, err)
	require.Equal(t, uint64(cost), order.Order.Reserved)

	// The formulas choose this node, and the program agrees.
	mk, _ := w.View.Market()
	model, _ := w.View.Model(testmarket.A100)
	p, _ := w.View.ProviderOf(provider.PublicKey())
	require.NoError(t, market.Awardable(&mk, &order, &node, &p, &model, w.Now()))
	lease := w.Award(keeper, order, node)
	require.Equal(t, market.LeaseAwarded, lease.State())

	instruction, err := ix.LeaseStart(ix.LeaseStartArgs{Lease: lease, ConnectionHash: [32]byte{1}})
	w.Do("lease_start", sign(nodeKey), instruction, err)
	lease = w.Lease(lease.Address, func(l market.Lease) bool { return l.State() == market.LeaseRunning })

	instruction, err = ix.LeaseExtend(ix.LeaseExtendArgs{Lease: lease, Seconds: 60})
	w.Do("lease_extend", sign(customer), instruction, err)

	w.Until(lease.StartedAt + 2)
	receipt := market.LeaseReceipt(lease, 1, 2)
	settle := func(r records.Receipt) error {
		bn, err := r.Sign(nodeKey)
		require.NoError(t, err)
		bc, err := r.Sign(customer)
		require.NoError(t, err)
		ixs, err := ix.LeaseSettleReceipt(ix.LeaseSettleReceiptArgs{
			Lease: lease, Payout: p.Payout, Receipt: r, NodeSignature: bn, CustomerSignature: bc,
		})
		require.NoError(t, err)
		_, err = w.Try("lease_settle_receipt", sign(nodeKey), ixs...)
		return err
	}
	require.NoError(t, settle(receipt))
	err = settle(receipt)
	require.ErrorIs(t, err, market.CodeStaleReceipt)
	require.True(t, market.AlreadyDone(err))
	require.ErrorIs(t, settle(market.LeaseReceipt(lease, 2, 500)), market.CodeReceiptTooLarge)
	lease = w.Lease(lease.Address, func(l market.Lease) bool { return l.PaidSecs == 2 })
	require.EqualValues(t, 20_000, lease.Paid)
	require.EqualValues(t, lease.ProviderTotal(), w.Tokens(p.Payout))

	// More time than nothing, and less than was paid.
	longer, err := lease.ExtensionCost(1)
	require.NoError(t, err)
	instruction, err = ix.LeaseExtend(ix.LeaseExtendArgs{Lease: lease, Seconds: 1})
	w.Do("lease_extend_again", sign(customer), instruction, err)
	held, until := lease.Lease.Reserved, lease.FundedUntil
	lease = w.Lease(lease.Address, func(l market.Lease) bool { return l.FundedUntil == until+1 })
	require.EqualValues(t, longer, lease.Lease.Reserved-held)

	instruction, err = ix.LeaseEnd(ix.LeaseEndArgs{Authority: customer.PublicKey(), Lease: lease})
	w.Do("lease_end", sign(customer), instruction, err)
	lease = w.Lease(lease.Address, func(l market.Lease) bool { return l.State() == market.LeaseEnded })
	final := lease.BillableSecs(w.Now())
	require.NoError(t, settle(market.LeaseReceipt(lease, 3, uint64(final))))
	lease = w.Lease(lease.Address, func(l market.Lease) bool { return l.PaidSecs == final })

	require.ErrorIs(t, lease.CanClose(keeper.PublicKey(), &node, &mk.Params, lease.EndedAt), market.CodeTooEarly)
	instruction, err = ix.LeaseRate(ix.LeaseRateArgs{Lease: lease, Stars: 5})
	w.Do("lease_rate", sign(customer), instruction, err)
	w.Until(lease.AddressFreeAt(&mk.Params))
	require.NoError(t, lease.CanClose(customer.PublicKey(), &node, &mk.Params, w.Now()))
	instruction, err = ix.LeaseClose(ix.LeaseCloseArgs{Authority: customer.PublicKey(), Lease: lease})
	w.Do("lease_close", sign(customer), instruction, err)
	w.Wait("lease and order closed", func(v *view.View) bool {
		_, a := v.Lease(lease.Address)
		_, b := v.Order(order.Address)
		return !a && !b
	})
	require.EqualValues(t, lease.FeeTotal(), w.Tokens(market.FeeVaultAddress()))
	c, _ := w.View.CreditsOf(customer.PublicKey())
	require.Equal(t, 50*market.OneUSDC-market.USDC(lease.Paid), c.Free())

	args := ix.CreditsArgs{Customer: customer.PublicKey(), PaymentMint: w.PaymentMint, Amount: market.OneUSDC}
	instruction, err = ix.CreditsWithdraw(args)
	w.Do("credits_withdraw", sign(customer), instruction, err)
	instruction, err = ix.CreditsClose(args)
	w.Do("credits_close", sign(customer), instruction, err)
	require.EqualValues(t, 100*market.OneUSDC-market.USDC(lease.Paid), w.Tokens(market.TokenAddress(customer.PublicKey(), w.PaymentMint)))

	// Everyone leaves.
	node, _ = w.View.Node(node.Address)
	require.EqualValues(t, lease.FeeTotal()*5, node.RatingSum)
	instruction, err = ix.NodeUpdate(ix.NodeUpdateArgs{Authority: nodeKey.PublicKey(), Node: node, Price: 1, Status: market.NodeDraining})
	w.Do("node_update", sign(nodeKey), instruction, err)
	retire, err := ix.NodeRetire(ix.NodeRetireArgs{Wallet: provider.PublicKey(), Node: node})
	require.NoError(t, err)
	_, err = w.Try("node_retire", sign(provider), retire...)
	require.NoError(t, err)
	w.Wait("retired", func(v *view.View) bool {
		n, _ := v.Node(node.Address)
		node = n
		return n.State() == market.NodeRetired
	})
	w.Until(node.ClosesAt)
	claims := w.View.DevicesOf(node.Address)
	require.Len(t, claims, 1)
	instruction, err = ix.NodeClose(ix.NodeCloseArgs{Wallet: provider.PublicKey(), Node: node, Devices: claims})
	w.Do("node_close", sign(provider), instruction, err)
	instruction, err = ix.ProviderSetPayout(ix.ProviderSetPayoutArgs{Wallet: provider.PublicKey(), Payout: p.Payout})
	w.Do("provider_set_payout", sign(provider), instruction, err)
	instruction, err = ix.ProviderRequestUnstake(ix.ProviderRequestUnstakeArgs{Wallet: provider.PublicKey(), Amount: 100 * market.OneGNT})
	w.Do("provider_request_unstake", sign(provider), instruction, err)
	instruction, err = ix.KeeperRequestExit(keeper.PublicKey())
	w.Do("keeper_request_exit", sign(keeper), instruction, err)
	w.Until(w.Now() + int64(mk.Params.UnstakeCooldownSecs))
	out := ix.WithdrawStakeArgs{Wallet: provider.PublicKey(), StakeMint: w.StakeMint}
	instruction, err = ix.ProviderWithdrawStake(out)
	w.Do("provider_withdraw_stake", sign(provider), instruction, err)
	instruction, err = ix.ProviderClose(out)
	w.Do("provider_close", sign(provider), instruction, err)
	k, _ := w.View.KeeperOf(keeper.PublicKey())
	earned := w.Give(keeper.PublicKey(), w.PaymentMint, 0)
	instruction, err = ix.RewardsClaim(ix.RewardsClaimArgs{Keeper: keeper.PublicKey(), PaymentMint: w.PaymentMint})
	w.Do("rewards_claim", sign(keeper), instruction, err)
	require.Positive(t, k.Earned, "by its award")
	require.Equal(t, k.Earned, w.Tokens(earned))
	instruction, err = ix.KeeperWithdraw(ix.WithdrawStakeArgs{Wallet: keeper.PublicKey(), StakeMint: w.StakeMint})
	w.Do("keeper_withdraw", sign(keeper), instruction, err)
	require.EqualValues(t, 100*market.OneGNT, w.Tokens(market.TokenAddress(provider.PublicKey(), w.StakeMint)))
	w.Wait("all closed", func(v *view.View) bool {
		return len(v.Nodes())+len(v.Providers())+len(v.Keepers())+len(v.AllCredits()) == 0
	})
	figures(t, w, "lease_settle_receipt", "lease_end", "lease_close", "order_award", "rewards_claim")
}

// TestReportsAndFaults votes, applies a leaf, opens a fault, appeals one and applies another.
func TestReportsAndFaults(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	fast := testmarket.FastParams()
	// What has to come before a window ends does so on a busy machine, too.
	fast.AppealSecs, fast.UnstakeCooldownSecs, fast.ReportRetentionSecs = 15, 15, 20
	w.InitMarket(fast)
	keeper := w.Keeper()
	provider := w.Provider(300 * market.OneGNT)
	_, honest := w.Node(provider, testmarket.A100, 1, 1_000_000)
	_, cheat := w.Node(provider, testmarket.H100, 1, 1_000_000)
	params, _ := w.View.Params()
	sign := []solana.PrivateKey{keeper}

	vote := func(leaves []records.Leaf) ([]ix.LeafProof, records.Hash) {
		t.Helper()
		records.SortLeaves(leaves)
		tree, err := records.LeafTree(leaves)
		require.NoError(t, err)
		period := uint64(leaves[0].Period)
		end, err := market.PeriodEnd(period, params.PeriodSecs)
		require.NoError(t, err)
		w.Until(end)
		instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: keeper.PublicKey(), Period: period, Root: tree.Root()})
		w.Do("report_vote", sign, instruction, err)
		var proofs []ix.LeafProof
		for i, l := range leaves {
			p, err := tree.Proof(uint32(i))
			require.NoError(t, err)
			lp := ix.NewLeafProof(l, p)
			require.Equal(t, tree.Root(), lp.Root())
			proofs = append(proofs, lp)
		}
		w.Wait("report final", func(v *view.View) bool {
			r, ok := v.Report(period)
			return ok && r.State() == market.ReportFinal
		})
		return proofs, tree.Root()
	}
	leavesOf := func(period uint64) []records.Leaf {
		return []records.Leaf{
			{Node: honest.Address, Period: records.Period(period), ChecksPassed: 3, ChecksTotal: 3, UpSeconds: params.PeriodSecs},
			{Node: cheat.Address, Period: records.Period(period), ChecksPassed: 2, ChecksTotal: 3, UpSeconds: params.PeriodSecs, Flags: records.FlagWorkFailed},
		}
	}
	openFault := func(proofs []ix.LeafProof) market.Fault {
		t.Helper()
		for _, p := range proofs {
			if p.Leaf.Flags == 0 {
				instruction, err := ix.ReportApply(p)
				w.Do("report_apply", sign, instruction, err)
				_, err = w.Try("report_apply", sign, instruction)
				require.True(t, market.AlreadyDone(err), "%v", err)
				continue
			}
			instruction, err := ix.ReportApply(p)
			require.NoError(t, err)
			_, err = w.Try("report_apply", sign, instruction)
			require.ErrorIs(t, err, market.CodeLeafCarriesFault)
			instruction, err = ix.FaultOpen(ix.FaultOpenArgs{Payer: keeper.PublicKey(), Node: cheat, OfNode: true, Proof: p})
			w.Do("fault_open", sign, instruction, err)
			_, err = w.Try("fault_open", sign, instruction)
			require.True(t, market.AlreadyDone(err), "%v", err)
		}
		var f market.Fault
		w.Wait("fault open", func(v *view.View) bool {
			faults := v.FaultsOf(cheat.Address)
			if len(faults) == 1 {
				f = faults[0]
			}
			return len(faults) == 1
		})
		return f
	}

	mk, _ := w.View.Market()
	first := uint64(w.Now())/uint64(params.PeriodSecs) + 1
	proofs, _ := vote(leavesOf(first))
	fault := openFault(proofs)
	require.EqualValues(t, 20*market.OneGNT, fault.Amount)

	statement := records.CheckStatement{
		Domain: records.Domain(mk.Domain), Node: cheat.Address, Period: records.Period(first), Kind: records.CheckWork, Passed: true,
		Figures: records.Figures{First: 9_000}, CheckedAt: w.Now(),
	}
	sig, err := statement.Sign(keeper)
	require.NoError(t, err)
	ixs, err := ix.SlashAppeal(ix.SlashAppealArgs{Fault: fault, Keeper: keeper.PublicKey(), Statement: statement, Signature: sig})
	require.NoError(t, err)
	_, err = w.Try("slash_appeal", sign, ixs...)
	require.NoError(t, err)
	w.Wait("fault voided", func(v *view.View) bool {
		n, _ := v.Node(cheat.Address)
		return len(v.Faults()) == 0 && n.State() == market.NodeHibernated
	})

	second := uint64(w.Now())/uint64(params.PeriodSecs) + 1
	proofs, _ = vote(leavesOf(second))
	fault = openFault(proofs)
	apply, err := ix.SlashApply(ix.SlashApplyArgs{Payer: keeper.PublicKey(), Fault: fault, StakeMint: w.StakeMint})
	require.NoError(t, err)
	_, err = w.Try("slash_apply", sign, apply)
	require.ErrorIs(t, err, market.CodeAppealWindowOpen)
	w.Until(fault.ApplicableAt)
	w.Do("slash_apply", sign, apply, nil)
	_, err = w.Try("slash_apply", sign, apply)
	require.True(t, market.AlreadyDone(err), "%v", err)
	w.Wait("slashed", func(v *view.View) bool {
		p, _ := v.ProviderOf(provider.PublicKey())
		return p.Stake == 280*uint64(market.OneGNT) && p.SlashedTotal == 20*uint64(market.OneGNT)
	})
	var applied market.Fault
	w.Wait("the time for claims", func(v *view.View) (ok bool) {
		applied, ok = v.Fault(fault.Address)
		return ok && applied.Applied()
	})
	w.Until(applied.ClaimsUntil)
	instruction, err := ix.SlashClose(applied, w.StakeMint)
	w.Do("slash_close", sign, instruction, err)

	r, _ := w.View.Report(first)
	end, err := market.PeriodEnd(first, params.PeriodSecs)
	require.NoError(t, err)
	w.Until(max(end, r.FinalisedAt) + int64(params.ReportRetentionSecs) + 1)
	instruction, err = ix.ReportClose(r)
	w.Do("report_close", sign, instruction, err)
	w.Wait("report closed", func(v *view.View) bool { _, ok := v.Report(first); return !ok })
	figures(t, w, "report_apply", "report_close", "fault_open", "slash_appeal", "slash_apply", "slash_close")
}

// figures says what transactions took. Nodes cut the log of a transaction above 10,000 bytes, and audits read events in it:
// eight of what keepers put together have to stay below.
func figures(t *testing.T, w *testmarket.Testbed, together ...string) {
	t.Helper()
	for _, kind := range slices.Sorted(maps.Keys(w.Units)) {
		t.Logf("%-26s %7d compute units, %5d bytes of log", kind, w.Units[kind], w.Logs[kind])
	}
	for _, kind := range together {
		require.NotZero(t, w.Logs[kind], kind)
		require.Less(t, 8*w.Logs[kind], 10_000, kind)
	}
}
