package cli_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/screentest"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// onTerminal runs a command on a terminal of 100 columns. A person types keys once the command has written a text. It returns all that the
// command has written.
func (s shell) onTerminal(ctx context.Context, once, keys string, args ...string) (code int, raw string) {
	s.t.Helper()
	p := screentest.OpenPty(s.t, 100, 40)
	over := make(chan int, 1)
	go func() {
		over <- cli.Run(ctx, cli.Streams{In: p.TTY, Out: p.TTY, Err: p.TTY, Terminal: true, Screen: true, OnOut: p.Terminal, OnErr: p.Terminal},
			append(slices.DeleteFunc(slices.Clone(s.args), func(a string) bool { return a == "--yes" }), args...))
	}()
	for typed := false; ; {
		select {
		case code = <-over:
			return code, p.Close(s.t)
		case <-time.After(10 * time.Millisecond):
			if !typed && strings.Contains(p.Read(), once) {
				typed = true
				p.Type(s.t, keys)
			}
		}
	}
}

// onScreen is what stands on the terminal after a command. A question is answered with yes.
func (s shell) onScreen(ctx context.Context, args ...string) (code int, text string) {
	s.t.Helper()
	code, raw := s.onTerminal(ctx, "continue? [y/N] ", "y\n", args...)
	var e screentest.Emulator
	e.Show(s.t, raw)
	require.False(s.t, e.Hidden, "the cursor is back")
	s.t.Log("\n" + e.Text())
	return code, e.Text()
}

// On a terminal, deploy asks, shows its steps in place, and then the output of the job. Tables have bars there. An order that nobody
// awards leaves its step marked, and the cursor back.
func TestCommandsOnATerminal(t *testing.T) {
	w := testmarket.New(t, testmarket.Options{})
	me, s, customer := stall(t, w)
	buy := []string{"deploy", "--gpu", "A100", "--duration", "10m", "--max-price", "4", "--job", "--allow-simulated", "--", "true"}

	// Nobody awards, and the person gives up.
	ctx, stop := context.WithCancel(context.Background())
	time.AfterFunc(5*time.Second, stop)
	code, text := me.onScreen(ctx, buy...)
	require.Equal(t, cli.ExitInterrupted, code)
	require.Contains(t, text, "continue? [y/N] y\n  ✓ Reserved  $0.67")
	require.Contains(t, text, "  · Awarded   a keeper looks for the best machine")
	require.Contains(t, text, "interrupted while order")
	require.NotContains(t, text, "Ctrl-C")

	stop = serving(t, s, customer)
	code, text = me.onScreen(context.Background(), buy...)
	require.Equal(t, cli.ExitDone, code)
	for _, says := range []string{"✓ Reserved  $0.67", "✓ Awarded   1 × A100", "✓ Job", "✓ Running", "billing has begun", "\nwhat the job wrote\n", "exit code 0"} {
		require.Contains(t, text, says)
	}
	require.NotContains(t, text, "waiting for")
	for command, says := range map[string]string{"leases": "MONEY", "search": "1 machine fits", "gpus": " of 8"} {
		code, text = me.onScreen(context.Background(), command)
		require.Equal(t, cli.ExitDone, code)
		require.Contains(t, text, says)
	}
	stop()
}

// serving serves a customer until stop is called.
func serving(t *testing.T, s *shop, customer solana.PublicKey) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var g errgroup.Group
	g.Go(func() error { return s.serve(ctx, customer) })
	return sync.OnceFunc(func() {
		cancel()
		require.NoError(t, g.Wait())
	})
}

// On a terminal, top fills it until a key leaves; a pipe gets a line each time, and once the lines for people.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	me, s, customer := stall(t, w)
	s.stays = true
	defer serving(t, s, customer)()
	var out struct{ Leases []struct{ Address string } }
	me.ok(&out, "deploy", "--gpu", "A100", "--duration", "10m", "--max-price", "4", "--detach", "--allow-simulated", "--", "true")
	lease := out.Leases[0].Address
	code, raw := me.onTerminal(context.Background(), "s stop", "s", "top", lease)
	require.Equal(t, cli.ExitDone, code, raw)
	_, after, left := strings.Cut(raw, "\x1b[?1049l")
	require.True(t, left, raw)
	require.Contains(t, after, "gantry stop "+lease)
	require.Contains(t, raw, "2 / 8")
	require.NotContains(t, raw, "A100\x1b[2J")

	_, text := me.onScreen(context.Background(), "top", lease, "--once")
	require.Contains(t, text, "● running")
	require.Contains(t, text, "2 / 8 ")
	r := me.run(context.Background(), "top", lease, "--once")
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Contains(t, r.out, "SIMULATED: the readings mean nothing")
	require.Contains(t, r.out, "cpu      2.00 of 8 busy")
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	r = me.run(ctx, "top", lease, "--every", "1s")
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Regexp(t, `^at=[^ ]+ lease=`+lease+` cpu=[0-9.]+ cpu_limit=8 memory_bytes=1073741824 .* gpu0_simulated=true gpu0_percent=75 .*usdc_per_hour=3.60 .*\n`, r.out)
}

// stall is a market with a machine that is sold, and a customer.
func stall(t *testing.T, w *testmarket.Testbed) (shell, *shop, solana.PublicKey) {
	t.Helper()
	return stallOf(t, w, market.Process)
}

// stallOf is stall with a machine that keeps jobs apart in a way.
func stallOf(t *testing.T, w *testmarket.Testbed, by market.Isolation) (shell, *shop, solana.PublicKey) {
	t.Helper()
	params := testmarket.FastParams()
	params.StartDeadlineSecs, params.AwardDeadlineSecs, params.PeriodSecs = 60, 60, 60
	w.InitMarket(params)
	m := &machine{w: w, keeper: w.Keeper(), output: "what the job wrote\n", hold: make(chan struct{}), jobs: map[[32]byte]messages.JobSpec{}, started: map[solana.PublicKey]bool{}}
	close(m.hold)
	m.provider = w.Provider(2_000 * market.OneGNT)
	m.payout = market.TokenAddress(m.provider.PublicKey(), w.PaymentMint)
	var node market.Node
	m.key, node = w.Isolated(m.provider, testmarket.A100, 8, 3_600_000, by)
	m.serve(t)
	customer := w.Customer(500*market.OneUSDC, 400*market.OneUSDC)
	return newShell(t, w, customer), &shop{w: w, m: m, node: node.Address, orders: map[solana.PublicKey]bool{}}, customer.PublicKey()
}
