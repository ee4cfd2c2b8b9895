package invariants_test

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

func TestInstructionNames(t *testing.T) {
	require.Equal(t, "lease_close", invariants.InstructionName(bindings.Instruction_LeaseClose[:]))
	require.Equal(t, "0102030405060708", invariants.InstructionName([]byte{1, 2, 3, 4, 5, 6, 7, 8}))
	require.Equal(t, "?", invariants.InstructionName(nil))
}

// A lease by hand, from deposit to close: every snapshot is sound, the flows add up, the rent is back, and the checker
// sees it when a figure is wrong.
func TestMoneyOfALease(t *testing.T) {
	m := testmarket.NewSeeded(t, seed.Counts{Keepers: 1, Providers: 1, Customers: 1})
	m.Seed()
	w := m.Keys
	mints := invariants.Mints{Payment: w.PaymentMint, Stake: w.StakeMint}
	checker := invariants.NewChecker()
	snap := func() invariants.Snapshot {
		t.Helper()
		s, err := invariants.Take(t.Context(), m.Chain, mints)
		require.NoError(t, err)
		require.Empty(t, checker.Check(s))
		return s
	}
	before := snap()
	nodeKey := solana.NewWallet().PrivateKey
	keeper, provider, customer := w.Keepers[0], w.Providers[0], w.Customers[0]
	require.NoError(t, seed.Fund(t.Context(), seed.Sender{Chain: m.Chain}, w, nodeKey.PublicKey(), chain.SOL, 0, 0))
	start, err := m.Chain.Slot(t.Context(), chain.Confirmed)
	require.NoError(t, err)
	wallets := map[solana.PublicKey]string{keeper.Address(): "keeper", provider.Address(): "provider", customer.Address(): "customer", nodeKey.PublicKey(): "node"}
	lamports := func() map[solana.PublicKey]chain.Lamports {
		out := map[solana.PublicKey]chain.Lamports{}
		for key := range wallets {
			var err error
			out[key], err = m.Chain.Balance(t.Context(), key, chain.Confirmed)
			require.NoError(t, err)
		}
		return out
	}
	sol := lamports()

	m.Send(keeper, nil, func() (solana.Instruction, error) {
		return ix.KeeperRegister(ix.KeeperRegisterArgs{Wallet: keeper.Address(), StakeMint: w.StakeMint, Bond: seed.Bond, Multiaddr: "/ip4/127.0.0.1/tcp/1"})
	})
	m.Send(provider, nil, func() (solana.Instruction, error) {
		return ix.ProviderRegister(ix.ProviderRegisterArgs{Wallet: provider.Address(), PaymentMint: w.PaymentMint, StakeMint: w.StakeMint})
	})
	m.Send(provider, nil, func() (solana.Instruction, error) {
		return ix.ProviderStake(ix.ProviderStakeArgs{Wallet: provider.Address(), StakeMint: w.StakeMint, Amount: 100 * market.OneGNT})
	})
	m.Send(provider, []solana.PrivateKey{nodeKey}, func() (solana.Instruction, error) {
		return ix.NodeRegister(ix.NodeRegisterArgs{
			Wallet: provider.Address(), NodeKey: nodeKey.PublicKey(), Price: 1_260_000, Devices: [][32]byte{{7}},
			Spec: market.NodeSpec{Region: market.Text16("us-west-2"), VramMib: 40_960, Model: seed.A100, Gpus: 1, Simulated: 1},
		})
	})
	m.Send(customer, nil, func() (solana.Instruction, error) {
		return ix.CreditsDeposit(ix.CreditsArgs{Customer: customer.Address(), PaymentMint: w.PaymentMint, Amount: 100 * market.OneUSDC})
	})
	time.Sleep(1500 * time.Millisecond) // the activation delay
	m.Send(keeper, nil, func() (solana.Instruction, error) { return ix.KeeperActivate(keeper.Address()) })
	m.Send(customer, nil, func() (solana.Instruction, error) {
		return ix.OrderCreate(ix.OrderCreateArgs{
			Customer: customer.Address(), Nonce: 1, MaxPrice: 1_600_000, Duration: 600, Nodes: 1, GPUsPerNode: 1,
			Requirement: market.Requirement{Models: market.Models(seed.A100), AllowSimulated: 1},
		})
	})
	snap()
	providerAccount := market.ProviderAddress(provider.Address())
	node := market.Node{Meta: market.Meta{Address: market.NodeAddress(providerAccount, nodeKey.PublicKey())}}
	node.Provider, node.Spec.Model = providerAccount, seed.A100
	order := market.Order{Meta: market.Meta{Address: market.OrderAddress(customer.Address(), 1)}}
	order.Customer, order.RentPayer = customer.Address(), customer.Address()
	m.Send(keeper, nil, func() (solana.Instruction, error) {
		return ix.OrderAward(ix.OrderAwardArgs{Keeper: keeper.Address(), Order: order, Node: node})
	})
	leaseKey := market.LeaseAddress(order.Address, node.Address)
	lease := market.Lease{Meta: market.Meta{Address: leaseKey}}
	refresh := func() {
		s := snap()
		lease = *s.Leases[leaseKey]
	}
	refresh()
	nodeWallet := seed.Wallet{Name: "node", Key: nodeKey}
	m.Send(nodeWallet, nil, func() (solana.Instruction, error) { return ix.LeaseStart(ix.LeaseStartArgs{Lease: lease}) })
	time.Sleep(2 * time.Second)
	refresh()
	m.Send(customer, nil, func() (solana.Instruction, error) {
		return ix.LeaseEnd(ix.LeaseEndArgs{Authority: customer.Address(), Lease: lease})
	})
	running := snap()

	t.Run("wrong figures are found", func(t *testing.T) {
		for name, spoil := range map[string]struct {
			invariant int
			change    func(*invariants.Snapshot)
		}{
			"credits":  {1, func(s *invariants.Snapshot) { s.Credits[customer.Address()].Balance++ }},
			"reserved": {1, func(s *invariants.Snapshot) { s.Leases[leaseKey].Reserved++ }},
			"supply":   {2, func(s *invariants.Snapshot) { s.Supply[w.StakeMint]++ }},
			"stake":    {3, func(s *invariants.Snapshot) { s.Providers[providerAccount].Unstaking++ }},
			"locked":   {3, func(s *invariants.Snapshot) { s.Providers[providerAccount].LockedStake++ }},
			"bond":     {3, func(s *invariants.Snapshot) { s.Keepers[keeper.Address()].Bond++ }},
			"gpu":      {4, func(s *invariants.Snapshot) { s.Nodes[node.Address].GpuMask = 1 }},
			"device":   {4, func(s *invariants.Snapshot) { s.Devices[[32]byte{9}] = &market.Device{Node: node.Address} }},
			"time":     {5, func(s *invariants.Snapshot) { s.Leases[leaseKey].PaidSecs = 1_000 }},
			"weight":   {6, func(s *invariants.Snapshot) { s.Market.TotalWeight++ }},
			"double vote": {6, func(s *invariants.Snapshot) {
				r := &market.Report{Report: bindings.Report{TotalWeight: 2, CandidateCount: 2}}
				r.Voters[0], r.Candidates[0].Voters[0], r.Candidates[1].Voters[0] = 1, 1, 1
				s.Reports[1] = r
			}},
			"double vote behind": {6, func(s *invariants.Snapshot) {
				r := &market.Report{Report: bindings.Report{TotalWeight: 2, CandidateCount: 4}, Tail: make([]bindings.Candidate, 1)}
				r.Voters[0], r.Candidates[3].Voters[0], r.Tail[0].Voters[0] = 1, 1, 1
				s.Reports[1] = r
			}},
			"heavy root behind": {6, func(s *invariants.Snapshot) {
				r := &market.Report{Report: bindings.Report{TotalWeight: 2, CandidateCount: 4}, Tail: make([]bindings.Candidate, 1)}
				r.Voters[0], r.Tail[0].Voters[0], r.Tail[0].Weight = 1, 1, 1
				s.Reports[1] = r
			}},
		} {
			t.Run(name, func(t *testing.T) {
				s, err := invariants.Take(t.Context(), m.Chain, mints)
				require.NoError(t, err)
				spoil.change(&s)
				found := invariants.NewChecker().Check(s)
				require.NotEmpty(t, found)
				require.Equal(t, spoil.invariant, found[0].Invariant, "%s", found)
			})
		}
		shrunk, accounts := running, *running.Accounts
		paid := *running.Leases[leaseKey]
		paid.PaidSecs = 1
		accounts.Leases = map[solana.PublicKey]*market.Lease{leaseKey: &paid}
		shrunk.Accounts = &accounts
		c := invariants.NewChecker()
		c.Check(shrunk)
		require.Contains(t, c.Check(running), invariants.Violation{
			Invariant: 5, What: "lease " + leaseKey.String() + " was paid for 1 s, now only for 0 s",
		})
	})

	// Nobody claimed the seconds, so after the settle deadline all of it goes back.
	time.Sleep(11 * time.Second)
	refresh()
	m.Send(customer, nil, func() (solana.Instruction, error) {
		return ix.LeaseClose(ix.LeaseCloseArgs{Authority: customer.Address(), Lease: lease})
	})
	m.Send(customer, nil, func() (solana.Instruction, error) {
		return ix.CreditsWithdraw(ix.CreditsArgs{Customer: customer.Address(), PaymentMint: w.PaymentMint, Amount: 100 * market.OneUSDC})
	})
	m.Send(customer, nil, func() (solana.Instruction, error) {
		return ix.CreditsClose(ix.CreditsArgs{Customer: customer.Address(), PaymentMint: w.PaymentMint})
	})
	after := snap()
	keys := []solana.PublicKey{keeper.Address(), provider.Address(), customer.Address(), nodeKey.PublicKey()}
	history, err := invariants.ReadHistory(t.Context(), m.Chain, keys, start)
	require.NoError(t, err)
	flows := history.Flows()
	require.EqualValues(t, 100*seed.USDC, flows.Deposited)
	require.EqualValues(t, 100*seed.USDC, flows.Withdrawn)
	require.EqualValues(t, 100*seed.GNT, flows.Staked)
	require.Empty(t, flows.Conservation(after, before.Supply[w.StakeMint]-after.Supply[w.StakeMint], 0))
	require.NotEmpty(t, flows.Conservation(after, 1, 0))

	// Lease, order and credits gave their rent back; keeper and provider still hold what they opened.
	rest := map[solana.PublicKey]chain.Lamports{customer.Address(): sol[customer.Address()], nodeKey.PublicKey(): sol[nodeKey.PublicKey()]}
	require.Empty(t, history.RentViolations(rest, lamports(), wallets))
	require.Len(t, history.RentViolations(sol, lamports(), wallets), 2)

	units := map[string]invariants.UnitsRow{}
	for _, row := range history.Units() {
		units[row.Instruction] = row
		require.NotZero(t, row.Least, row.Instruction)
		require.GreaterOrEqual(t, row.Most, row.Mean)
	}
	for _, name := range []string{"keeper_register", "order_create", "order_award", "lease_start", "lease_end", "lease_close", "credits_close"} {
		require.Equal(t, 1, units[name].Calls, name)
	}
}
