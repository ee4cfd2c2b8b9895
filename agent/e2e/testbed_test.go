// Package e2e_test runs the real gantry-agent binary against a real local Solana node with the market's program. The
// test plays a keeper and a customer, over the network and with their own keys.
package e2e_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/localnode"
	"github.com/gantry-market/gantry/internal/testkit/meter"
	"github.com/gantry-market/gantry/internal/testkit/syncbuf"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/process"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// built is the agent, built once.
var built struct {
	path string
	err  error
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "gantry-agent-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.path = filepath.Join(dir, "gantry-agent")
	out, err := exec.Command("go", "build", "-o", built.path, "github.com/gantry-market/gantry/agent/cmd/gantry-agent").CombinedOutput()
	if err != nil {
		built.err = fmt.Errorf("build gantry-agent: %w: %s", err, out)
	}
	// The tests mostly wait, for periods and deadlines: all of them at once take as long as the longest.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// testbed is a market with one keeper and one customer, both played by the test.
type testbed struct {
	t        *testing.T
	at       engine.Endpoint
	dir      string
	keys     seed.Keys
	chain    *chain.Client
	view     *view.View
	sender   seed.Sender
	keeper   *p2p.Node
	customer *p2p.Node
}

// newTestbed starts a node with a seeded market; change alters its parameters.
func newTestbed(t *testing.T, change ...func(*bindings.Params)) *testbed {
	return testbedOf(t, "", change...)
}

// testbedOf is a market on a cluster whose genesis hash is another; empty for the node's own.
func testbedOf(t *testing.T, genesis string, change ...func(*bindings.Params)) *testbed {
	require.NoError(t, built.err)
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	w := &testbed{t: t, dir: t.TempDir()}
	var err error
	w.keys, err = seed.OpenKeys(filepath.Join(w.dir, "keys"), seed.Counts{Keepers: 2, Providers: 2, Customers: 2})
	require.NoError(t, err)
	w.at = localnode.Start(t, engine.Surfnet, localnode.Market(t, w.keys.Authority.Address()))
	if genesis != "" {
		m := meter.New(t, chain.Endpoint{RPC: w.at.RPC, WS: w.at.WS})
		m.Claim(genesis)
		w.at.RPC, w.at.WS = m.Endpoint().RPC, m.Endpoint().WS
	}
	w.chain, err = chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: w.at.RPC, WS: w.at.WS}}})
	require.NoError(t, err)
	t.Cleanup(w.chain.Close)
	w.sender = seed.Sender{Chain: w.chain}
	params := seed.Params()
	for _, f := range change {
		f(&params)
	}
	require.NoError(t, seed.Seed(t.Context(), w.chain, w.keys, params, seed.Models()))

	w.view = view.New(view.Options{Log: log})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = w.view.Run(ctx, view.Source{Client: w.chain}) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	require.NoError(t, w.view.Ready(t.Context()))
	w.keeper = w.network(w.keys.Keepers[0].Key)
	w.customer = w.network(w.keys.Customers[0].Key)
	w.bond()
	w.deposit(w.keys.Customers[0], 100*market.OneUSDC)
	return w
}

func (w *testbed) network(key solana.PrivateKey) *p2p.Node {
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

// bond registers and activates the test's keeper.
func (w *testbed) bond() {
	k := w.keys.Keepers[0]
	instruction, err := ix.KeeperRegister(ix.KeeperRegisterArgs{
		Wallet: k.Address(), StakeMint: w.keys.StakeMint, Bond: market.GNT(seed.Bond), Multiaddr: w.keeper.Addrs()[0],
	})
	w.send(k, instruction, err)
	time.Sleep(1500 * time.Millisecond) // activation delay
	instruction, err = ix.KeeperActivate(k.Address())
	w.send(k, instruction, err)
}

func (w *testbed) deposit(c seed.Wallet, amount market.USDC) {
	instruction, err := ix.CreditsDeposit(ix.CreditsArgs{Customer: c.Address(), PaymentMint: w.keys.PaymentMint, Amount: amount})
	w.send(c, instruction, err)
}

// order places an order and awards it to the node.
func (w *testbed) order(node solana.PublicKey, job messages.JobSpec, seconds uint32, completes bool) market.Lease {
	w.t.Helper()
	return w.orderWith(node, job, seconds, completes, market.Requirement{Models: market.Models(seed.A100), AllowSimulated: 1})
}

// orderWith is order with other requirements.
func (w *testbed) orderWith(node solana.PublicKey, job messages.JobSpec, seconds uint32, completes bool, needs market.Requirement) market.Lease {
	w.t.Helper()
	c, k := w.keys.Customers[0], w.keys.Keepers[0]
	var nonce [8]byte
	_, err := rand.Read(nonce[:])
	require.NoError(w.t, err)
	n := binary.LittleEndian.Uint64(nonce[:])
	digest, err := job.Digest()
	require.NoError(w.t, err)
	instruction, err := ix.OrderCreate(ix.OrderCreateArgs{
		Customer: c.Address(), Nonce: n, MaxPrice: 5_000_000, Duration: seconds, Nodes: 1, GPUsPerNode: 1,
		RunToCompletion: completes, JobDigest: digest, Requirement: needs,
	})
	w.send(c, instruction, err)
	address := market.OrderAddress(c.Address(), n)
	order, err := query.Fetch[market.Order](w.t.Context(), w.chain, address, chain.Confirmed)
	require.NoError(w.t, err)
	machine, err := query.Fetch[market.Node](w.t.Context(), w.chain, node, chain.Confirmed)
	require.NoError(w.t, err)
	instruction, err = ix.OrderAward(ix.OrderAwardArgs{Keeper: k.Address(), Order: order, Node: machine})
	w.send(k, instruction, err)
	lease, err := query.Fetch[market.Lease](w.t.Context(), w.chain, market.LeaseAddress(address, node), chain.Confirmed)
	require.NoError(w.t, err)
	return lease
}

// until waits for a lease to be as wanted.
func (w *testbed) until(lease solana.PublicKey, what string, cond func(l market.Lease, exists bool) bool) market.Lease {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 40*time.Second)
	defer cancel()
	err := w.view.WaitFor(ctx, func(v *view.View) bool { l, ok := v.Lease(lease); return cond(l, ok) })
	l, ok := w.view.Lease(lease)
	require.NoError(w.t, err, "waiting until %s; it is %v %s", what, ok, l.State())
	return l
}

// agent is a gantry-agent of the test's own.
type agent struct {
	w    *testbed
	dir  string
	args []string
	env  []string // beside the test's own
	at   string   // where it listens; empty where keepers are asked for it
	node solana.PublicKey
	key  solana.PublicKey
	cmd  *exec.Cmd
	out  *syncbuf.Buffer
	// through is where the running agent reaches the node, if not directly.
	through engine.Endpoint
}

// newAgent makes a key, registers a simulated A100 and returns the agent, not running.
func (w *testbed) newAgent(provider int, more ...string) *agent {
	w.t.Helper()
	a := &agent{w: w, dir: filepath.Join(w.dir, fmt.Sprintf("agent-%d", provider)), args: more}
	wallet := w.keys.Providers[provider]
	common := []string{"--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS}
	machine := []string{"--inventory", "simulated:A100:1", "--region", "us-west-2", "--keypair", wallet.Path}
	out := a.command(append(append([]string{"init", "--skip-benchmark"}, common...), machine...)...)
	require.Contains(w.t, out, "SIMULATED")
	require.Contains(w.t, out, "stake 100 GNT (1 × 100)")
	info, err := os.Stat(filepath.Join(a.dir, "node.json"))
	require.NoError(w.t, err)
	require.Equal(w.t, os.FileMode(0o600), info.Mode().Perm())
	key, err := chain.LoadKeypair(filepath.Join(a.dir, "node.json"))
	require.NoError(w.t, err)
	a.key = key.PublicKey()
	register := append(append([]string{"register", "--stake", "100", "--price", "1.26"}, common...), machine...)
	out = a.command(register...)
	require.Contains(w.t, out, "registered node")
	require.Contains(w.t, a.command(register...), "is registered already")
	a.node = market.NodeAddress(market.ProviderAddress(wallet.Address()), a.key)
	w.t.Cleanup(func() {
		a.kill()
		// Supervisors and jobs outlive it, and would write to its folder while the test removes it.
		_, err := process.KillIn(a.dir)
		require.NoError(w.t, err)
		if strings.Contains(a.out.String(), "DATA RACE") { // built with GOFLAGS=-race
			w.t.Error("the agent has a data race")
		}
		if w.t.Failed() {
			w.t.Logf("agent's log:\n%s", a.out)
		}
	})
	a.out = &syncbuf.Buffer{}
	return a
}

func (a *agent) command(args ...string) string {
	a.w.t.Helper()
	out, err := a.try(args...)
	require.NoError(a.w.t, err, out)
	return out
}

func (a *agent) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(a.w.t.Context(), 120*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, built.path, args...)
	cmd.Env = append(os.Environ(), a.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// start runs the agent and waits until it serves.
func (a *agent) start() {
	a.w.t.Helper()
	at := a.w.at
	if a.through != (engine.Endpoint{}) {
		at = a.through
	}
	args := append([]string{"run", "--data-dir", a.dir, "--url", at.RPC, "--ws", at.WS, "--log-level", "debug", "--log-format", "text"}, a.args...)
	served := strings.Count(a.out.String(), " agent serves ")
	a.cmd = exec.Command(built.path, args...)
	a.cmd.Stdout, a.cmd.Stderr = a.out, a.out
	a.cmd.Env = append(os.Environ(), a.env...)
	require.NoError(a.w.t, a.cmd.Start())
	require.Eventually(a.w.t, func() bool { return strings.Count(a.out.String(), " agent serves ") > served }, 20*time.Second, 20*time.Millisecond, "the agent does not serve")
	require.Eventually(a.w.t, func() bool { return a.w.keeper.Connected(a.key) }, 20*time.Second, 20*time.Millisecond, "the agent does not connect to its keeper")
}

// kill ends the agent as a crash would.
func (a *agent) kill() {
	if a.cmd == nil {
		return
	}
	_ = a.cmd.Process.Signal(syscall.SIGKILL)
	_ = a.cmd.Wait()
	a.cmd = nil
}

// stop asks the agent to end.
func (a *agent) stop() {
	a.w.t.Helper()
	require.NoError(a.w.t, a.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(a.w.t, a.cmd.Wait())
	a.cmd = nil
}
