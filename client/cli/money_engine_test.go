package cli_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// TestDisputeAndRewardsByCommand disputes a lease that two keepers find in order: the deposit is lost. The lease's fee is
// shared afterwards.
func TestDisputeAndRewardsByCommand(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.AppealSecs, params.ReportRetentionSecs, params.UnstakeCooldownSecs, params.StartDeadlineSecs = 60, 60, 60, 20
	params.AwardBps = 0 // both keepers earn the same
	w.InitMarket(params)
	key, other := w.Keeper(), w.Keeper()
	provider := w.Provider(100 * market.OneGNT)
	nodeKey, node := w.Node(provider, testmarket.A100, 1, 3_600_000)
	w.Until(w.Now() + 1) // keepers that were active before a dispute vote on it
	customer := w.Customer(50*market.OneUSDC, 5*market.OneUSDC+1_000_000)
	o := w.Order(customer, ix.OrderCreateArgs{
		Nonce: 1, MaxPrice: 3_600_000, Duration: 600, Nodes: 1, GPUsPerNode: 1,
		Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	})
	lease := w.Award(key, o, node)
	at := lease.Address.String()
	file := filepath.Join(t.TempDir(), "complaint.txt")
	require.NoError(t, os.WriteFile(file, []byte("the output is noise"), 0o600))
	sum := sha256.Sum256([]byte("the output is noise"))
	me, keeper, second := newShell(t, w, customer), newShell(t, w, key), newShell(t, w, other)
	open := []string{"dispute", "open", at, "--kind", "bad-output", "--complaint", file}

	me.fails(cli.ExitRefused, "has not started", open...)
	instruction, err := ix.LeaseStart(ix.LeaseStartArgs{Lease: lease})
	w.Do("lease_start", []solana.PrivateKey{nodeKey}, instruction, err)
	me.fails(cli.ExitRefused, "is not disputed", "dispute", "show", at)
	keeper.fails(cli.ExitRefused, "not to your wallet", open...)
	r := me.run(context.Background(), append(open, "--dry-run")...)
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Contains(t, r.out, "nothing was sent")
	require.Contains(t, r.err, "a deposit of ")
	var none []any
	me.ok(&none, "dispute", "show")
	require.Empty(t, none)

	r = me.run(context.Background(), open...)
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Contains(t, r.out, "disputed: bad-output   deposit ")
	require.Contains(t, r.out, hex.EncodeToString(sum[:]))
	me.fails(cli.ExitRefused, "a lease is disputed once", open...)
	var c struct{ Balance, Reserved string }
	me.ok(&c, "credits", "show")
	require.Equal(t, "6.00", c.Balance)

	type dispute struct {
		Lease, Verdict, RejectedWeight, TotalWeight, ComplaintSHA256 string
		RejectedBy, UpheldBy                                         []string
		SecondsLeft                                                  int
	}
	var d dispute
	me.ok(&d, "dispute", "show", at[:6])
	open0, _ := w.View.DisputeOf(lease.Address)
	deposit := market.USDC(open0.Deposit)
	require.Positive(t, deposit)
	require.Equal(t, "no quorum yet", d.Verdict)
	require.Equal(t, hex.EncodeToString(sum[:]), d.ComplaintSHA256)
	require.Positive(t, d.SecondsLeft)
	me.fails(cli.ExitRefused, "is not a keeper", "keeper", "vote-dispute", at, "--uphold")
	keeper.fails(cli.ExitUsage, "say how to vote", "keeper", "vote-dispute", at)
	var voted struct {
		Dispute dispute
		Open    bool
	}
	keeper.ok(&voted, "keeper", "vote-dispute", at, "--reject")
	require.True(t, voted.Open)
	require.Equal(t, "no quorum yet", voted.Dispute.Verdict)
	keeper.fails(cli.ExitRefused, "has voted on this dispute", "keeper", "vote-dispute", at, "--uphold")
	second.ok(&voted, "keeper", "vote-dispute", at, "--reject")
	require.Equal(t, "rejected", voted.Dispute.Verdict)
	var all []dispute
	me.ok(&all, "dispute", "show")
	require.Len(t, all, 1)
	require.ElementsMatch(t, []string{key.PublicKey().String(), other.PublicKey().String()}, all[0].RejectedBy)
	require.Empty(t, all[0].UpheldBy)
	require.Equal(t, all[0].TotalWeight, all[0].RejectedWeight)

	// A keeper's crank closes it, and the deposit is gone.
	w.Wait("the votes", func(v *view.View) bool {
		x, ok := v.DisputeOf(lease.Address)
		return ok && x.RejectedWeight == x.TotalWeight
	})
	x, _ := w.View.DisputeOf(lease.Address)
	lease, _ = w.View.Lease(lease.Address)
	instruction, err = ix.DisputeResolve(ix.DisputeResolveArgs{Dispute: x, Lease: lease, Payout: payoutOf(t, w, lease)})
	w.Do("dispute_resolve", []solana.PrivateKey{key}, instruction, err)
	var account market.Credits
	w.Wait("the deposit", func(v *view.View) (ok bool) {
		account, ok = v.CreditsOf(customer.PublicKey())
		return ok && market.USDC(account.Balance) == 6*market.OneUSDC-deposit
	})
	me.fails(cli.ExitRefused, "is closed", "dispute", "show", at)
	checkAudit(t, me, lease.Address, "order award start dispute vote verdict sum")
	earnFee(t, w, lease, nodeKey, customer)
	claimRewards(t, w, params, []solana.PrivateKey{key, other}, []shell{keeper, second})
}

// started is a lease that runs in a new market, with the keys of its keeper and its customer.
func started(w *testmarket.Testbed, params market.Params) (keeper, customer solana.PrivateKey, lease market.Lease) {
	w.InitMarket(params)
	keeper = w.Keeper()
	provider := w.Provider(100 * market.OneGNT)
	nodeKey, node := w.Node(provider, testmarket.A100, 1, 3_600_000)
	w.Until(w.Now() + 1)
	customer = w.Customer(50*market.OneUSDC, 6*market.OneUSDC)
	o := w.Order(customer, ix.OrderCreateArgs{
		Nonce: 1, MaxPrice: 3_600_000, Duration: 600, Nodes: 1, GPUsPerNode: 1,
		Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	})
	lease = w.Award(keeper, o, node)
	instruction, err := ix.LeaseStart(ix.LeaseStartArgs{Lease: lease})
	w.Do("lease_start", []solana.PrivateKey{nodeKey}, instruction, err)
	return keeper, customer, lease
}

// TestUpheldDisputeByCommand has a keeper uphold a dispute: the deposit is free, and the fault that follows can be
// audited.
func TestUpheldDisputeByCommand(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.AppealSecs, params.ReportRetentionSecs, params.UnstakeCooldownSecs, params.StartDeadlineSecs = 60, 60, 60, 20
	key, customer, lease := started(w, params)
	me, keeper := newShell(t, w, customer), newShell(t, w, key)
	file := filepath.Join(t.TempDir(), "complaint.txt")
	require.NoError(t, os.WriteFile(file, []byte("nothing runs there"), 0o600))
	at := lease.Address.String()
	me.ok(nil, "dispute", "open", at, "--kind", "not-delivered", "--complaint", file)
	var voted struct{ Dispute struct{ Verdict string } }
	keeper.ok(&voted, "keeper", "vote-dispute", at[:8], "--uphold")
	require.Equal(t, "upheld", voted.Dispute.Verdict)
	r := me.run(context.Background(), "dispute", "show", at)
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Contains(t, r.out, "anyone may turn it into a fault")

	w.Wait("the vote", func(v *view.View) bool { x, ok := v.DisputeOf(lease.Address); return ok && x.UpheldWeight > 0 })
	x, _ := w.View.DisputeOf(lease.Address)
	lease, _ = w.View.Lease(lease.Address)
	instruction, err := ix.DisputeUphold(ix.DisputeUpholdArgs{Payer: key.PublicKey(), Dispute: x, Lease: lease, Model: testmarket.A100})
	w.Do("dispute_uphold", []solana.PrivateKey{key}, instruction, err)
	var c struct{ Balance string }
	me.ok(&c, "credits", "show")
	require.Equal(t, "6.00", c.Balance)
	checkAudit(t, me, lease.Address, "order award start dispute vote fault verdict sum")
	var faults []struct{ Address, Lease string }
	me.ok(&faults, "fault", "list")
	require.Len(t, faults, 1)
	require.Equal(t, at, faults[0].Lease)
	var slashes []struct {
		OK    bool
		State string
		Steps []struct{ Text string }
	}
	me.ok(&slashes, "audit", "slash", faults[0].Address)
	require.True(t, slashes[0].OK)
	require.Equal(t, "open", slashes[0].State)
	require.Contains(t, slashes[0].Steps[0].Text, "keepers upheld the dispute of lease "+at)
}

// claimRewards has 5 USDC of the market split and paid out.
func claimRewards(t *testing.T, w *testmarket.Testbed, params market.Params, keys []solana.PrivateKey, keepers []shell) {
	t.Helper()
	type earned struct {
		Wallet, Total string
		Periods       []uint64
	}
	var r struct {
		Pending, ForVotes string
		BuyBack           struct{ Waiting, CostsNow string }
		Keepers           []earned
	}
	me := keepers[0]
	me.ok(&r, "rewards", "show")
	pending, err := market.ParseUSDC(r.Pending)
	require.NoError(t, err)
	require.Positive(t, pending)
	me.fails(cli.ExitRefused, "has nothing to claim", "rewards", "claim")

	period := uint64(w.Now()) / uint64(params.PeriodSecs)
	end, err := market.PeriodEnd(period, params.PeriodSecs)
	require.NoError(t, err)
	w.Until(end)
	for _, key := range keys {
		instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: key.PublicKey(), Period: period, Root: [32]byte{7}})
		w.Do("report_vote", []solana.PrivateKey{key}, instruction, err)
	}
	w.Until(end + int64(params.PeriodSecs))
	mk, _ := w.View.Market()
	instruction, err := ix.RewardsAccrue(ix.RewardsAccrueArgs{Period: period, Treasury: mk.Treasury})
	w.Do("rewards_accrue", keys[:1], instruction, err)

	me.ok(nil, "report", "show", fmt.Sprint(period))
	me.ok(&r, "rewards", "show")
	require.Equal(t, "0.000000", r.Pending)
	require.Len(t, r.Keepers, 2)
	require.Equal(t, []uint64{period}, r.Keepers[0].Periods)
	require.Equal(t, r.Keepers[0].Total, r.Keepers[1].Total)
	share, err := market.ParseUSDC(r.Keepers[0].Total)
	require.NoError(t, err)
	require.Positive(t, share)
	var claimed struct{ Keeper, Total, ByVotes, ByAwards string }
	me.ok(&claimed, "rewards", "claim")
	require.Equal(t, share.Exact(), claimed.ByVotes)
	require.EqualValues(t, share, w.Tokens(market.TokenAddress(keys[0].PublicKey(), w.PaymentMint)))
	me.fails(cli.ExitRefused, "has nothing to claim", "rewards", "claim")
	me.ok(&claimed, "rewards", "claim", "--keeper", keys[1].PublicKey().String())
	require.EqualValues(t, share, w.Tokens(market.TokenAddress(keys[1].PublicKey(), w.PaymentMint)), "whoever sends it, the keeper is paid")

	waiting, err := market.ParseUSDC(r.BuyBack.Waiting)
	require.NoError(t, err)
	require.Positive(t, waiting)
	refusal := me.fails(cli.ExitRefused, "buy-back refused: "+r.BuyBack.Waiting+" USDC cost", "rewards", "buy-back", "--max", "0.000001")
	require.Contains(t, refusal.err, "it never costs less than")
	me.fails(cli.ExitRefused, "the wallet "+keys[0].PublicKey().String()+" holds 0", "rewards", "buy-back", "--max", "1000000")
	stake := w.Give(keys[0].PublicKey(), w.StakeMint, 1_000_000*uint64(market.OneGNT))
	var bought struct{ Burned, Paid string }
	me.ok(&bought, "rewards", "buy-back", "--max", "1000000")
	require.Equal(t, r.BuyBack.Waiting, bought.Paid)
	burned, err := market.ParseGNT(bought.Burned)
	require.NoError(t, err)
	require.EqualValues(t, 1_000_000*market.OneGNT-burned, w.Tokens(stake))
	require.EqualValues(t, share+waiting, w.Tokens(market.TokenAddress(keys[0].PublicKey(), w.PaymentMint)))
	me.fails(cli.ExitRefused, "no fees wait for a buy-back", "rewards", "buy-back", "--max", "1")
}

// payoutOf is where the provider of a lease is paid.
func payoutOf(t *testing.T, w *testmarket.Testbed, l market.Lease) solana.PublicKey {
	t.Helper()
	p, ok := w.View.Provider(l.Provider)
	require.True(t, ok)
	return p.Payout
}

// earnFee pays a second of the lease by a receipt, ends it, and closes it, so that its fee is swept.
func earnFee(t *testing.T, w *testmarket.Testbed, l market.Lease, node, customer solana.PrivateKey) {
	t.Helper()
	receipt := market.LeaseReceipt(l, 1, 1)
	byNode, err := receipt.Sign(node)
	require.NoError(t, err)
	byCustomer, err := receipt.Sign(customer)
	require.NoError(t, err)
	ixs, err := ix.LeaseSettleReceipt(ix.LeaseSettleReceiptArgs{
		Lease: l, Payout: payoutOf(t, w, l), Receipt: receipt, NodeSignature: byNode, CustomerSignature: byCustomer,
	})
	require.NoError(t, err)
	_, err = w.Try("lease_settle_receipt", []solana.PrivateKey{node}, ixs...)
	require.NoError(t, err)
	instruction, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: customer.PublicKey(), Lease: l})
	w.Do("lease_end", []solana.PrivateKey{customer}, instruction, err)
	mk, _ := w.View.Market()
	l = w.Lease(l.Address, func(l market.Lease) bool { return l.State() == market.LeaseEnded })
	w.Until(l.EndedAt + int64(l.SettleSecs) + 1) // the seconds that nobody claimed are waited for
	require.NoError(t, l.CanClose(customer.PublicKey(), &market.Node{}, &mk.Params, w.Now()))
	instruction, err = ix.LeaseClose(ix.LeaseCloseArgs{Authority: customer.PublicKey(), Lease: l})
	w.Do("lease_close", []solana.PrivateKey{customer}, instruction, err)
}
