package cli_test

import (
	"context"
	"slices"
	"strings"
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

// onScreen runs a command on a terminal of 100 columns, where a person answers its question with yes. It returns what stands there in the end.
func (s shell) onScreen(ctx context.Context, args ...string) (code int, text string) {
	s.t.Helper()
	p := screentest.OpenPty(s.t, 100, 40)
	over := make(chan int, 1)
	go func() {
		over <- cli.Run(ctx, cli.Streams{In: p.TTY, Out: p.TTY, Err: p.TTY, Terminal: true, Screen: true, OnOut: p.Terminal, OnErr: p.Terminal},
			append(slices.DeleteFunc(slices.Clone(s.args), func(a string) bool { return a == "--yes" }), args...))
	}()
	for answered := false; ; {
		select {
		case code = <-over:
			var e screentest.Emulator
			e.Show(s.t, p.Close(s.t))
			require.False(s.t, e.Hidden, "the cursor is back")
			return code, e.Text()
		case <-time.After(10 * time.Millisecond):
			if !answered && strings.HasSuffix(p.Read(), "continue? [y/N] ") {
				answered = true
				p.Type(s.t, "y\n")
			}
		}
	}
}

// On a terminal, deploy asks, shows its steps in place, and then the output of the job. Tables have bars there. An order that nobody
// awards leaves its step marked, and the cursor back.
func TestCommandsOnATerminal(t *testing.T) {
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.StartDeadlineSecs, params.AwardDeadlineSecs, params.PeriodSecs = 60, 60, 60
	w.InitMarket(params)
	m := &machine{w: w, keeper: w.Keeper(), output: "what the job wrote\n", hold: make(chan struct{}), jobs: map[[32]byte]messages.JobSpec{}, started: map[solana.PublicKey]bool{}}
	close(m.hold)
	m.provider = w.Provider(2_000 * market.OneGNT)
	m.payout = market.TokenAddress(m.provider.PublicKey(), w.PaymentMint)
	var node market.Node
	m.key, node = w.Node(m.provider, testmarket.A100, 8, 3_600_000)
	m.serve(t)
	customer := w.Customer(500*market.OneUSDC, 400*market.OneUSDC)
	me := newShell(t, w, customer)
	buy := []string{"deploy", "--gpu", "A100", "--duration", "10m", "--max-price", "4", "--job", "--allow-simulated", "--", "true"}

	// Nobody awards, and the person gives up.
	ctx, stop := context.WithCancel(context.Background())
	time.AfterFunc(5*time.Second, stop)
	code, text := me.onScreen(ctx, buy...)
	t.Log("\n" + text)
	require.Equal(t, cli.ExitInterrupted, code)
	require.Contains(t, text, "continue? [y/N] y\n  ✓ Reserved  $0.67")
	require.Contains(t, text, "  · Awarded   a keeper looks for the best machine")
	require.Contains(t, text, "interrupted while order")
	require.NotContains(t, text, "Ctrl-C")

	s := &shop{w: w, m: m, node: node.Address, orders: map[solana.PublicKey]bool{}}
	ctx, stop = context.WithCancel(context.Background())
	defer stop()
	var serving errgroup.Group
	serving.Go(func() error { return s.serve(ctx, customer.PublicKey()) })
	code, text = me.onScreen(context.Background(), buy...)
	t.Log("\n" + text)
	require.Equal(t, cli.ExitDone, code)
	for _, says := range []string{"✓ Reserved  $0.67", "✓ Awarded   1 × A100", "✓ Job", "✓ Running", "billing has begun", "\nwhat the job wrote\n", "exit code 0"} {
		require.Contains(t, text, says)
	}
	require.NotContains(t, text, "waiting for")
	code, text = me.onScreen(context.Background(), "leases")
	t.Log("\n" + text)
	require.Equal(t, cli.ExitDone, code)
	require.Contains(t, text, "MONEY")
	code, text = me.onScreen(context.Background(), "search", "gpu=A100")
	t.Log("\n" + text)
	require.Equal(t, cli.ExitDone, code)
	require.Contains(t, text, "8 × A100")
	require.Contains(t, text, "1 machine fits")
	code, text = me.onScreen(context.Background(), "gpus")
	t.Log("\n" + text)
	require.Equal(t, cli.ExitDone, code)
	require.Contains(t, text, " of 8")
	stop()
	require.NoError(t, serving.Wait())
}
