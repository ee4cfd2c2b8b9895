package cli_test

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/token"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// A node does not start, and the customer opens the order again, for another one. The lease that follows pays a fee, which becomes stake
// of the provider once it is closed.
func TestReopenAndEmissionByCommand(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.AwardDeadlineSecs, params.EmissionBps, params.EmissionCap = 600, 2_000, uint64(market.OneGNT)
	w.InitMarket(params)
	keeper, provider := w.Keeper(), w.Provider(200*market.OneGNT)
	_, silent := w.Node(provider, testmarket.A100, 1, 3_600_000_000)
	nodeKey, node := w.Node(provider, testmarket.A100, 1, 3_600_000_000)
	customer := w.Customer(50*market.OneUSDC, 50*market.OneUSDC)
	o := w.Order(customer, ix.OrderCreateArgs{
		Nonce: 1, MaxPrice: 3_600_000_000, Duration: 10, Nodes: 1, GPUsPerNode: 1,
		Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	})
	me, owner, other := newShell(t, w, customer), newShell(t, w, provider), newShell(t, w, keeper)
	me.fails(cli.ExitRefused, "is open", "order", "reopen", o.Address.String())
	require.Equal(t, 2, checkWhy(t, me, o.Address, service.WhyOpen).Fit)
	lease := w.Award(keeper, o, silent)
	require.Equal(t, []string{lease.Address.String()}, checkWhy(t, me, o.Address, service.WhyAwarded).Leases)
	checkWhy(t, me, lease.Address, service.WhyAwarded)
	me.fails(cli.ExitRefused, "is awarded", "order", "reopen", o.Address.String())

	w.Until(lease.AwardedAt + int64(params.StartDeadlineSecs) + 1)
	instruction, err := ix.LeaseAbort(ix.LeaseAbortArgs{Lease: lease, OrderRentPayer: o.RentPayer})
	w.Do("lease_abort", []solana.PrivateKey{keeper}, instruction, err)
	checkWhy(t, me, lease.Address, service.WhyNotStarted)
	require.Equal(t, []service.Unserved{{Lease: lease.Address.String(), Why: "it did not start in time"}}, checkWhy(t, me, o.Address, service.WhyUnserved).Unserved)
	other.fails(cli.ExitRefused, "belongs to", "order", "reopen", o.Address.String())
	var opened struct {
		Status, Reserved string
		AwardDeadline    int64
	}
	me.ok(&opened, "order", "reopen", o.Address.String())
	require.Equal(t, "open", opened.Status)
	require.Equal(t, "10.00", opened.Reserved)
	require.Greater(t, opened.AwardDeadline, w.Now())
	w.Wait("the order is open", func(v *view.View) bool {
		now, ok := v.Order(o.Address)
		o = now
		return ok && now.State() == market.OrderOpen
	})

	open := checkWhy(t, me, o.Address, service.WhyOpen)
	require.Equal(t, 1, open.Fit)
	require.Equal(t, map[string]int{"that have declined it or did not start it": 1}, open.Unfit)
	node, _ = w.View.Node(node.Address)
	lease = w.Award(keeper, o, node)
	instruction, err = ix.LeaseStart(ix.LeaseStartArgs{Lease: lease})
	w.Do("lease_start", []solana.PrivateKey{nodeKey}, instruction, err)
	checkWhy(t, me, lease.Address, service.WhyRunning)
	owner.fails(cli.ExitRefused, "has earned no emission", "rewards", "emission")
	other.fails(cli.ExitRefused, "is not a provider", "rewards", "emission")

	lease = w.Lease(lease.Address, func(l market.Lease) bool { return l.State() == market.LeaseRunning })
	w.Until(lease.StartedAt + 4)
	receipt := market.LeaseReceipt(lease, 1, 3)
	byNode, err := receipt.Sign(nodeKey)
	require.NoError(t, err)
	byCustomer, err := receipt.Sign(customer)
	require.NoError(t, err)
	p, _ := w.View.Provider(market.ProviderAddress(provider.PublicKey()))
	ixs, err := ix.LeaseSettleReceipt(ix.LeaseSettleReceiptArgs{
		Lease: lease, Payout: p.Payout, Receipt: receipt, NodeSignature: byNode, CustomerSignature: byCustomer,
	})
	require.NoError(t, err)
	_, err = w.Try("lease_settle_receipt", []solana.PrivateKey{nodeKey}, ixs...)
	require.NoError(t, err)
	instruction, err = ix.LeaseEnd(ix.LeaseEndArgs{Authority: customer.PublicKey(), Lease: lease})
	w.Do("lease_end", []solana.PrivateKey{customer}, instruction, err)
	lease = w.Lease(lease.Address, func(l market.Lease) bool { return l.State() == market.LeaseEnded })
	w.Until(lease.EndedAt + 3*int64(params.PeriodSecs) + 1)
	instruction, err = ix.LeaseClose(ix.LeaseCloseArgs{Authority: customer.PublicKey(), Lease: lease, Emission: true})
	w.Do("lease_close", []solana.PrivateKey{customer}, instruction, err)

	owner.fails(cli.ExitRefused, "the emission vault is empty", "rewards", "emission")
	vault := w.Give(w.Authority.PublicKey(), w.StakeMint, uint64(market.OneGNT))
	_, err = w.Try("fill", []solana.PrivateKey{w.Authority}, token.NewTransferInstruction(
		uint64(market.OneGNT), vault, market.EmissionVaultAddress(), w.Authority.PublicKey(), nil).Build())
	require.NoError(t, err)
	var emitted struct{ Provider, Staked, Left string }
	other.ok(&emitted, "rewards", "emission", "--provider", provider.PublicKey().String())
	require.Equal(t, provider.PublicKey().String(), emitted.Provider)
	staked, err := market.ParseGNT(emitted.Staked)
	require.NoError(t, err)
	require.Positive(t, staked)
	left, err := market.ParseGNT(emitted.Left)
	require.NoError(t, err)
	require.Zero(t, left)
	w.Wait("the stake", func(v *view.View) bool {
		p, _ := v.Provider(market.ProviderAddress(provider.PublicKey()))
		return market.GNT(p.Stake) > 100*market.OneGNT
	})
}

// checkWhy asks why an order or a lease is as it is.
func checkWhy(t *testing.T, me shell, address solana.PublicKey, reason string) (w service.Why) {
	t.Helper()
	me.ok(&w, "why", address.String())
	require.Equal(t, reason, w.Reason, w.Says)
	require.NotEmpty(t, w.Says)
	return w
}
