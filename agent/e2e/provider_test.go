package e2e_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// refused runs a command that must fail with an exit code and one line that says why.
func (a *agent) refused(code int, want string, args ...string) {
	a.w.t.Helper()
	out, err := a.try(args...)
	var exit *exec.ExitError
	require.ErrorAs(a.w.t, err, &exit, out)
	require.Equal(a.w.t, code, exit.ExitCode(), out)
	require.Contains(a.w.t, out, "error: ")
	require.Contains(a.w.t, out, want)
}

// Every wrong input is one line that says what to do, and changes nothing.
func TestBadInput(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a := &agent{w: w, dir: filepath.Join(w.dir, "fresh")}
	wallet := w.keys.Providers[0].Path
	at := []string{"--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS}
	cmd := func(name string, more ...string) []string {
		return append(append([]string{name}, at...), more...)
	}
	gpu := []string{"--inventory", "simulated:A100:1"}
	with := func(more ...string) []string { return append(append([]string{}, gpu...), more...) }

	a.refused(2, "gantry-agent init", cmd("register", with("--keypair", wallet, "--price", "1")...)...)
	a.command(cmd("init", with("--skip-benchmark", "--keypair", wallet)...)...)
	key, err := os.ReadFile(filepath.Join(a.dir, "node.json"))
	require.NoError(t, err)
	a.command(cmd("init", with("--skip-benchmark", "--keypair", wallet)...)...)
	again, err := os.ReadFile(filepath.Join(a.dir, "node.json"))
	require.NoError(t, err)
	require.Equal(t, key, again, "init keeps the key that is there")

	a.refused(2, "does not exist", cmd("register", with("--keypair", "/nowhere/id.json", "--price", "1")...)...)
	a.refused(2, "price of 0", cmd("register", with("--keypair", wallet, "--price", "0")...)...)
	a.refused(2, "--price", cmd("register", with("--keypair", wallet, "--price", "cheap")...)...)
	a.refused(2, "--stake", cmd("register", with("--keypair", wallet, "--price", "1", "--stake", "much")...)...)
	a.refused(2, "simulated:A100:N", cmd("register", "--keypair", wallet, "--price", "1", "--inventory", "simulated:T4:1")...)
	a.refused(1, "use --stake 100", cmd("register", with("--keypair", wallet, "--price", "1", "--stake", "99")...)...)
	a.refused(3, "no Solana RPC endpoint answers", "register", "--data-dir", a.dir, "--url", "http://127.0.0.1:1", "--keypair", wallet, "--price", "1")
	poor := filepath.Join(w.dir, "poor.json")
	fresh, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	require.NoError(t, chain.SaveKeypair(poor, fresh))
	a.refused(1, "not enough SOL", cmd("register", with("--keypair", poor, "--price", "1")...)...)
	_, err = w.sender.Send(t.Context(), w.keys.Faucet.Key, nil, transfer(w.keys.Faucet.Address(), fresh.PublicKey(), uint64(chain.SOL)))
	require.NoError(t, err)
	a.refused(1, "not enough stake tokens", cmd("register", with("--keypair", poor, "--price", "1")...)...)
	a.refused(1, "no GPUs to offer", cmd("register", "--keypair", wallet, "--price", "1", "--inventory", "nvml")...)
	a.refused(1, "not registered", cmd("update", "--price", "2")...)
	a.refused(2, "nothing to update", cmd("update")...)
	a.refused(2, "-bogus", cmd("run", "--bogus")...)
	a.refused(2, "no command", "bogus")
	a.refused(2, "not a status", cmd("update", "--status", "asleep")...)

	// The same GPU cannot be registered twice: another provider takes the machine's key along.
	a.command(cmd("register", with("--keypair", wallet, "--price", "1.5")...)...)
	a.refused(1, "registered already", cmd("register", with("--keypair", w.keys.Providers[1].Path, "--price", "1.5")...)...)
	// A machine with other GPUs does not serve the node.
	a.refused(2, "not those of this machine", cmd("run", "--inventory", "simulated:A100:2")...)
}

func transfer(from, to solana.PublicKey, lamports uint64) solana.Instruction {
	data := make([]byte, 12)
	data[0] = 2 // the system program's transfer
	for i := range 8 {
		data[4+i] = byte(lamports >> (8 * i))
	}
	return solana.NewInstruction(solana.SystemProgramID, solana.AccountMetaSlice{
		solana.NewAccountMeta(from, true, true), solana.NewAccountMeta(to, true, false),
	}, data)
}

// From registration to the return of the rent.
func TestComingAndGoing(t *testing.T) {
	t.Parallel()
	w := newTestbed(t, func(p *bindings.Params) { p.PeriodSecs, p.SettleDeadlinePeriods = 2, 1 }) // closing waits for both
	a := w.newAgent(0)
	wallet := w.keys.Providers[0]
	at := []string{"--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS}
	cmd := func(name string, more ...string) []string {
		return append(append([]string{name}, at...), more...)
	}
	node := func() *market.Node {
		n, err := query.Fetch[market.Node](t.Context(), w.chain, a.node, chain.Confirmed)
		require.NoError(t, err)
		return &n
	}
	before, err := w.chain.Balance(t.Context(), a.key, chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, chain.SOL/20, before)
	a.command(cmd("update", "--price", "1.75")...) // with the machine's key alone
	require.EqualValues(t, 1_750_000, node().Price)
	a.command(cmd("drain")...)
	require.Equal(t, market.NodeDraining, node().State())
	a.command(cmd("hibernate", "--keypair", wallet.Path)...)
	require.Equal(t, market.NodeHibernated, node().State())
	require.Contains(t, a.command(cmd("hibernate")...), "already")
	a.start() // commands work beside a running agent
	a.command(cmd("update", "--status", "active", "--price", "1.5")...)
	require.Equal(t, market.NodeActive, node().State())
	screen := a.command(cmd("status")...)
	require.Contains(t, screen, "active · asks 1.50")
	require.Contains(t, a.command(cmd("status", "--json")...), `"running": true`)

	a.command(cmd("retire", "--keypair", wallet.Path)...)
	require.Equal(t, market.NodeRetired, node().State())
	a.refused(1, "waiting time has not passed", cmd("close", "--keypair", wallet.Path)...)
	a.command(cmd("close", "--keypair", wallet.Path, "--wait", "90s")...)
	_, err = query.Fetch[market.Node](t.Context(), w.chain, a.node, chain.Confirmed)
	require.ErrorIs(t, err, chain.ErrAccountNotFound)
	require.Contains(t, a.command(cmd("close", "--keypair", wallet.Path)...), "is closed")
	require.Error(t, a.cmd.Wait(), "the agent of a closed node has nothing to serve")
	a.cmd = nil
	require.Contains(t, a.out.String(), "account was closed")
}

// The simulated cheats say what they are, and a silent machine answers nothing.
func TestSimulatedCheats(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	silence := filepath.Join(w.dir, "silence")
	a := w.newAgent(0, "--simulate-slow-factor", "5000", "--simulate-silence-file", silence)
	a.start()
	require.Contains(t, a.out.String(), "SIMULATION")
	_, err := w.ask(a, messages.CheckLiveness, nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(silence, nil, 0o600))
	began := time.Now()
	_, err = w.ask(a, messages.CheckLiveness, nil)
	require.Error(t, err)
	var refused *p2p.Error
	require.False(t, errors.As(err, &refused), "silence is no answer at all")
	require.Greater(t, time.Since(began), 4*time.Second)
	require.NoError(t, os.Remove(silence))
	_, err = w.ask(a, messages.CheckLiveness, nil)
	require.NoError(t, err)
}

// A customer that does not send its job pays for the machine all the same, from half of the start deadline on; what is
// paid for runs out, and the node ends the lease itself when no keeper does.
func TestLeaseWithoutJob(t *testing.T) {
	t.Parallel()
	w := newTestbed(t, func(p *bindings.Params) { p.StartDeadlineSecs = 6 })
	a := w.newAgent(0)
	a.start()
	spec := job("sleep 600")
	l := w.order(a.node, spec, 6, false)
	l = w.until(l.Address, "it runs", running)
	require.GreaterOrEqual(t, l.StartedAt-l.AwardedAt, int64(2)) // half of 6 s, on a clock of whole seconds
	live, err := w.ask(a, messages.CheckLiveness, nil)
	require.NoError(t, err)
	require.Equal(t, messages.LeaseWaiting, live.Liveness.Leases[0].State)
	require.Empty(t, w.deploy(a, l.Address, spec).Refused) // late, and still welcome
	w.untilStatus(a, l.Address, 3*time.Second, func(st messages.LeaseStatus) bool { return st.State == messages.LeaseRunning })
	l = w.until(l.Address, "it ended", ended)
	require.Equal(t, market.EndedUnfunded, l.Reason())
	require.Equal(t, l.FundedUntil, l.EndedAt)
	w.untilStatus(a, l.Address, 5*time.Second, func(st messages.LeaseStatus) bool { return st.State == messages.LeaseStopped })
}

// kill -9 of register at any moment costs nothing: repeated, it registers once and stakes once.
func TestRegisterInterrupted(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a := &agent{w: w, dir: filepath.Join(w.dir, "interrupted")}
	wallet := w.keys.Providers[0]
	common := []string{"--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS, "--inventory", "simulated:A100:1", "--keypair", wallet.Path}
	a.command(append([]string{"init", "--skip-benchmark"}, common...)...)
	register := append([]string{"register", "--stake", "100", "--price", "1.26"}, common...)
	killed := 0
	for after := 40 * time.Millisecond; after < time.Second; after += 60 * time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		err := exec.CommandContext(ctx, built.path, register...).Run() // killed when ctx ends
		cancel()
		if err != nil {
			killed++
		}
	}
	require.NotZero(t, killed)
	a.command(register...)
	provider, err := query.Fetch[market.Provider](t.Context(), w.chain, market.ProviderAddress(wallet.Address()), chain.Confirmed)
	require.NoError(t, err)
	require.EqualValues(t, 100*market.OneGNT, provider.Stake)
	require.EqualValues(t, 1, provider.NodeCount)
	key, err := chain.LoadKeypair(filepath.Join(a.dir, "node.json"))
	require.NoError(t, err)
	funds, err := w.chain.Balance(t.Context(), key.PublicKey(), chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, chain.SOL/20, funds)
}

// A GPU that is lost while the agent runs is reported on chain by the agent itself: a small part of the stake, and no
// work for thirty days.
func TestADeadGPUIsReported(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	file := filepath.Join(w.dir, "lost")
	a := w.newAgent(0, "--simulate-lost-gpu-file", file, "--report-dead-after", "2s")
	a.start()
	before, ok := w.view.Node(a.node)
	require.True(t, ok)
	require.Equal(t, market.NodeActive, before.State())
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	var node market.Node
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	require.NoError(t, w.view.WaitFor(ctx, func(v *view.View) bool {
		node, _ = v.Node(a.node)
		return node.State() == market.NodeSuspended
	}))
	require.EqualValues(t, 1, node.Deaths)
	require.Equal(t, before.Stake-before.RequiredStake/100, node.Stake)
	require.EqualValues(t, 30*86_400, node.DeadUntil-node.DiedAt)
	require.Eventually(t, func() bool { return strings.Contains(a.out.String(), "a GPU has died and was reported") }, 20*time.Second, 20*time.Millisecond)
}

// How a node isolates jobs is on chain; a change drains an active node for a moment, and stands once it is active again.
func TestANodeSaysHowItIsolatesJobs(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a := w.newAgent(0)
	node := func() *market.Node {
		n, err := query.Fetch[market.Node](t.Context(), w.chain, a.node, chain.Confirmed)
		require.NoError(t, err)
		return &n
	}
	best := node().Spec.Isolation // what this machine can
	update := func(isolation string) string {
		return a.command("update", "--isolation", isolation, "--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS)
	}
	require.Equal(t, uint16(1204), node().Spec.Cuda, "of the simulated driver")
	require.Contains(t, a.command("update", "--cuda", "--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS), "already")
	update("process")
	require.Equal(t, uint16(1204), node().Spec.Cuda)
	require.Zero(t, node().Spec.Isolation)
	require.Equal(t, market.NodeActive, node().State())
	require.Contains(t, update("process"), "already")
	update("auto")
	require.Equal(t, best, node().Spec.Isolation)
	require.Equal(t, market.NodeActive, node().State())
	out, err := a.try("update", "--isolation", "virtual", "--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS)
	require.Error(t, err)
	require.Contains(t, out, "use process, sandbox or volumes, or auto")
}
