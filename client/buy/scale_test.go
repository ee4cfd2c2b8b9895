package buy

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Machines that are added get their part of what is left of the cluster's budget, by their number, and at least what they reserve. Whatever
// is added and extended, the sum stays within the budget.
func TestAddedMachinesShareTheBudget(t *testing.T) {
	order := func(id byte, nodes uint8) purchase.Purchase {
		p := purchase.Purchase{Order: solana.PublicKey{id}, Stage: purchase.Handed, UntilStopped: true}
		p.Args.MaxPrice, p.Args.GPUsPerNode, p.Args.Duration, p.Args.Nodes = 36_000_000, 1, 100, nodes // 1 USDC a machine
		return p
	}
	first := order(1, 2)
	first.Budget = uint64(12 * market.OneUSDC)
	all := []purchase.Purchase{first}
	add := func(p purchase.Purchase, nodes int) (market.USDC, error) {
		p.Joins = first.Order
		reserves, err := p.Spent()
		require.NoError(t, err)
		if err := shareBudget(&p, all, &first, reserves, nodes); err != nil {
			return 0, err
		}
		all = append(all, p)
		left, err := purchase.Left(&first, all)
		require.NoError(t, err)
		spent := market.USDC(first.Budget) - left
		require.LessOrEqual(t, spent, market.USDC(first.Budget))
		return market.USDC(p.Budget), nil
	}
	part, err := add(order(2, 2), 4) // 10 are left, 2 of them reserved: half of the machines get half of the other 8
	require.NoError(t, err)
	require.Equal(t, 6*market.OneUSDC, part)
	attended := order(3, 3) // nobody extends it: it takes what it reserves
	attended.UntilStopped = false
	part, err = add(attended, 7)
	require.NoError(t, err)
	require.Zero(t, part)
	_, err = add(order(4, 2), 9)
	require.ErrorContains(t, err, "the cluster's budget of 12.00 USDC has 1.00 left, and the machines reserve 2.00")
	part, err = add(order(5, 1), 8)
	require.NoError(t, err)
	require.Equal(t, market.OneUSDC, part)
	left, err := purchase.Left(&first, all)
	require.NoError(t, err)
	require.Zero(t, left)
}

// An order of machines that was stored and never sent, because no machine suited or the program died, keeps neither a part of the
// cluster's budget nor the cluster from growing. One that may have been sent stays.
func TestAnAdditionThatWasNotSentIsForgotten(t *testing.T) {
	node, _, b := buyerOf(t)
	keep := func(p purchase.Purchase) *purchase.Held {
		held, err := b.folder.Hold(p.Order)
		require.NoError(t, err)
		require.NoError(t, held.Write(p))
		return held
	}
	first := purchase.Purchase{Order: solana.PublicKey{1}, Stage: purchase.Handed, UntilStopped: true, Budget: 9, Group: make([]messages.GroupMember, 2), Created: time.Now()}
	require.NoError(t, keep(first).Release())
	added := purchase.Purchase{Order: solana.PublicKey{2}, Joins: first.Order, First: 2, Stage: purchase.Intended, UntilStopped: true, Budget: 9, Created: time.Now()}
	held := keep(added)
	family := func() []purchase.Purchase { return purchase.Cluster(b.purchases(), first.Order) }
	require.Len(t, family(), 2)
	err := b.finishAdded(t.Context(), family())
	require.ErrorContains(t, err, "another command adds machines", "it may be about to send it")
	require.Equal(t, service.CodeRefused, classify(err).Code)
	require.NoError(t, held.Release())
	require.NoError(t, b.finishAdded(t.Context(), family()))
	require.Len(t, family(), 1)
	left, err := purchase.Left(&first, b.purchases())
	require.NoError(t, err)
	require.Equal(t, market.USDC(9), left)

	added.Order = solana.PublicKey{3}
	held = keep(added)
	node.Answer("getLatestBlockhash", map[string]any{"context": map[string]any{"slot": 1}, "value": map[string]any{"blockhash": solana.Hash{7}.String(), "lastValidBlockHeight": 100}})
	node.Answer("simulateTransaction", map[string]any{"context": map[string]any{"slot": 1}, "value": map[string]any{"err": nil, "unitsConsumed": 1, "logs": []string{}}})
	node.Answer("getRecentPrioritizationFees", []any{})
	node.Answer("sendTransaction", solana.Signature{1}.String())
	m, end, err := b.sender().Open(t.Context(), held.Transactions(), 0)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	go func() {
		_, _ = m.Submit(ctx, txm.Intent{ID: "order_create", Kind: "order_create", Instructions: []solana.Instruction{solana.NewInstruction(solana.PublicKey{9}, nil, nil)}})
	}()
	require.Eventually(t, func() bool {
		e, err := m.Get("order_create")
		return err == nil && e.Current != nil
	}, 20*time.Second, 10*time.Millisecond)
	end(true)
	require.NoError(t, held.Release())
	forgotten, err := b.forgetUnsent(t.Context(), added.Order)
	require.NoError(t, err)
	require.False(t, forgotten)
	require.Len(t, family(), 2)
}

// Of two commands that grow a cluster at once, the second neither counts the same machines as missing nor takes the same places.
func TestOneCommandGrowsACluster(t *testing.T) {
	_, _, b := buyerOf(t)
	first := purchase.Purchase{Order: solana.PublicKey{1}, Stage: purchase.Handed, Created: time.Now()}
	held, err := b.folder.Hold(first.Order)
	require.NoError(t, err)
	defer held.Release() // a command attends the cluster
	require.NoError(t, held.Write(first))
	other, err := b.folder.HoldGrowth(first.Order)
	require.NoError(t, err)
	_, _, err = b.add(t.Context(), nil, first.Order, 4, 60, nil)
	require.ErrorContains(t, err, "another command adds machines")
	require.NoError(t, other.Close())
	v := view.New(view.Options{})
	_, _, err = b.add(t.Context(), v, first.Order, 4, 60, nil)
	require.ErrorContains(t, err, "no machine of the cluster runs", "the attending command is no reason")
}

// A record that cannot be read may be of machines that were added: until it can be, nothing is paid from the cluster's budget.
func TestABudgetNeedsAllRecords(t *testing.T) {
	_, _, b := buyerOf(t)
	first := purchase.Purchase{Order: solana.PublicKey{1}, Stage: purchase.Handed, UntilStopped: true, Budget: uint64(9 * market.OneUSDC), Job: &messages.JobSpec{Image: "debian"}, Created: time.Now()}
	first.Args.MaxPrice, first.Args.GPUsPerNode, first.Args.Duration, first.Args.Nodes = 36_000_000, 1, 100, 2
	held, err := b.folder.Hold(first.Order)
	require.NoError(t, err)
	require.NoError(t, held.Write(first))
	l := market.Lease{}
	l.Gpus, l.Price, l.Status = 1, 36_000_000, uint8(market.LeaseRunning)
	d := &deal{b: b, p: first, held: held}
	seconds, _, err := d.book("a", &l)
	require.NoError(t, err)
	require.EqualValues(t, 100, seconds)
	bad := filepath.Join(b.folder.Dir(), "orders", solana.PublicKey{2}.String())
	require.NoError(t, os.Mkdir(bad, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(bad, "purchase.json"), []byte("{"), 0o600))
	_, _, err = d.book("b", &l)
	require.ErrorIs(t, err, purchase.ErrRecord)
	require.NotContains(t, d.p.Renewals, "b")
	_, _, err = b.add(t.Context(), view.New(view.Options{}), first.Order, 4, 60, nil)
	require.ErrorIs(t, err, purchase.ErrRecord)
	d.p.Args.Nodes = 1 // nothing is added to a single machine
	_, _, err = d.book("b", &l)
	require.NoError(t, err)
}

// Machines that are added for the last minute of a cluster reserve the time that they may wait for the job.
func TestAnAdditionReservesTheStartDeadline(t *testing.T) {
	p := purchase.Purchase{}
	p.Args.MaxPrice, p.Args.GPUsPerNode, p.Args.Duration, p.Args.Nodes = 36_000_000, 1, 60, 2
	for start, want := range map[uint32]market.USDC{30: 1_200_000, 600: 12 * market.OneUSDC} {
		got, err := reserves(&p, start)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// buyerOf is a buyer of a chain that answers nothing unasked.
func buyerOf(t *testing.T) (*fakerpc.Server, *chain.Client, *Buyer) {
	t.Helper()
	node := fakerpc.New(t)
	client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: node.URL(), WS: node.WS()}}})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	b, err := New(t.Context(), Options{Client: client, Key: solana.NewWallet().PrivateKey, Root: t.TempDir()})
	require.NoError(t, err)
	return node, client, b
}
