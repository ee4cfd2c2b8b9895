package hostile_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/localnode"
	"github.com/gantry-market/gantry/keeper/check"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/fleet"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// testbed is a market with an assembled agent, and a keeper and a customer that the test plays. The keeper checks with
// the real checker.
type testbed struct {
	t        *testing.T
	keys     seed.Keys
	chain    *chain.Client
	view     *view.View
	sender   seed.Sender
	params   bindings.Params
	keeper   *p2p.Node
	customer *p2p.Node
	node     market.Node

	mu       sync.Mutex
	findings []check.Finding
}

func newTestbed(t *testing.T) *testbed {
	dir := t.TempDir()
	w := &testbed{t: t}
	var err error
	w.keys, err = seed.OpenKeys(filepath.Join(dir, "keys"), seed.Counts{Keepers: 1, Providers: 1, Customers: 2})
	require.NoError(t, err)
	at := localnode.Start(t, engine.Surfnet, localnode.Market(t, w.keys.Authority.Address()))
	w.chain, err = chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: at.RPC, WS: at.WS}}})
	require.NoError(t, err)
	t.Cleanup(w.chain.Close)
	w.sender, w.params = seed.Sender{Chain: w.chain}, seed.Params()
	require.NoError(t, seed.Seed(t.Context(), w.chain, w.keys, w.params, seed.Models()))
	w.view = view.New(view.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = w.view.Run(ctx, view.Source{Client: w.chain}) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	require.NoError(t, w.view.Ready(t.Context()))
	w.keeper, w.customer = w.peer(w.keys.Keepers[0].Key), w.peer(w.keys.Customers[0].Key)
	w.bond()
	i, err := ix.CreditsDeposit(ix.CreditsArgs{Customer: w.keys.Customers[0].Address(), PaymentMint: w.keys.PaymentMint, Amount: 100 * market.OneUSDC})
	w.send(w.keys.Customers[0], i, err)

	machine, err := seed.OpenWallet(dir, "node")
	require.NoError(t, err)
	wg.Go(func() {
		_ = fleet.Run(ctx, fleet.Spec{RPC: at.RPC, WS: at.WS, Members: []fleet.Member{{
			Name: "machine", Wallet: w.keys.Providers[0].Path, NodeKey: machine.Path, DataDir: filepath.Join(dir, "agent"),
			Inventory: "simulated:A100:1", Region: "us-west-2", Price: "1.26",
		}}}, zerolog.Nop())
	})
	wait, stop := context.WithTimeout(t.Context(), 40*time.Second)
	defer stop()
	require.NoError(t, w.view.WaitFor(wait, func(v *view.View) bool { return len(v.NodesByKey(machine.Address())) == 1 }))
	w.node = w.view.NodesByKey(machine.Address())[0]
	require.Eventually(t, func() bool { return w.keeper.Connected(machine.Address()) }, 20*time.Second, 50*time.Millisecond)
	return w
}

func (w *testbed) peer(key solana.PrivateKey) *p2p.Node {
	n, err := p2p.New(p2p.Options{Key: key, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, n.Close()) })
	n.ServeLookup(false)
	return n
}

func (w *testbed) send(payer seed.Wallet, instruction solana.Instruction, err error) {
	w.t.Helper()
	require.NoError(w.t, err)
	_, err = w.sender.Send(w.t.Context(), payer.Key, nil, instruction)
	require.NoError(w.t, err)
}

// bond registers and activates the keeper.
func (w *testbed) bond() {
	k := w.keys.Keepers[0]
	i, err := ix.KeeperRegister(ix.KeeperRegisterArgs{
		Wallet: k.Address(), StakeMint: w.keys.StakeMint, Bond: market.GNT(seed.Bond), Multiaddr: w.keeper.Addrs()[0],
	})
	w.send(k, i, err)
	time.Sleep(1500 * time.Millisecond) // activation delay
	i, err = ix.KeeperActivate(k.Address())
	w.send(k, i, err)
}

// order places an order that stays open.
func (w *testbed) order() {
	i, err := ix.OrderCreate(ix.OrderCreateArgs{
		Customer: w.keys.Customers[0].Address(), Nonce: 1, MaxPrice: 5_000_000, Duration: 600, Nodes: 1, GPUsPerNode: 1,
		JobDigest: [32]byte{1}, Requirement: market.Requirement{Models: market.Models(seed.A100), AllowSimulated: 1},
	})
	w.send(w.keys.Customers[0], i, err)
}

// check runs the keeper's checker until ctx ends.
func (w *testbed) check(ctx context.Context) {
	domain, err := w.chain.Domain(ctx)
	require.NoError(w.t, err)
	var slot [32]byte
	_, err = rand.Read(slot[:])
	require.NoError(w.t, err)
	c, err := check.NewChecker(check.CheckerOptions{
		View: w.view, Asker: check.Network{Node: w.keeper}, Signer: w.keys.Keepers[0].Key, Domain: domain, Secs: w.params.PeriodSecs,
		Timing:   check.Timing{Every: 300 * time.Millisecond, Timeout: 10 * time.Second},
		SlotHash: func(context.Context) ([32]byte, error) { return slot, nil },
		Instants: func(p records.Period) (instant.Instant, bool) {
			return instant.Instant{Period: p, At: time.Now(), Seed: slot}, true
		},
		Record: func(_ context.Context, f check.Finding) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.findings = append(w.findings, f)
		},
		Log: zerolog.Nop(), Now: time.Now,
	})
	require.NoError(w.t, err)
	require.ErrorIs(w.t, c.Run(ctx), context.Canceled)
}

// tally counts findings and empties them.
func (w *testbed) tally() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]int{}
	for _, f := range w.findings {
		how := "failed"
		switch {
		case f.Unknown:
			how = "unknown"
		case f.Passed:
			how = "passed"
		}
		if how == "failed" {
			w.t.Logf("the %s check failed after %v", f.Kind, f.Latency)
		}
		out[fmt.Sprintf("%s %s", f.Kind, how)]++
	}
	w.findings = nil
	return out
}
