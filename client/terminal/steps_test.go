package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/sdk/market"
)

var (
	order  = solana.MustPublicKeyFromBase58("61cGZ5wDmCkbxnM5JpEbBvGvRWpYPPLwXhDJBkBHHxGa")
	leases = []solana.PublicKey{
		solana.MustPublicKeyFromBase58("9LZqn6kFWGkqLMM9bCQbkcyQJU3mZsuHmGJHfXVvgsUn"), solana.MustPublicKeyFromBase58("3xQeM1z9SdYh7ZoUrxyz5JDzbHhvZtFXTUHTK8nXbAmR"),
	}
)

func lease(i int) market.Lease {
	l := market.Lease{Meta: market.Meta{Address: leases[i]}}
	l.Gpus, l.Price, l.StartedAt = 1, 1_980_000, 1_790_000_000
	return l
}

// bought are the events of a purchase of one machine, in order; some are waits.
func bought(measure bool) []any {
	out := []any{
		buy.Wait{For: buy.WaitConfirmed, Kind: "order_create", Order: order}, buy.Placed{Order: order, Reserved: 9_600_000, Signature: "5ig"},
		buy.Wait{For: buy.WaitAward, Order: order}, buy.Awarded{Lease: lease(0), Model: "H100-SXM", Region: "eu-central", Released: 1_680_000},
		buy.Wait{For: buy.WaitStart, Order: order},
	}
	if measure {
		out = append(out, buy.Measured{Lease: lease(0), Figures: format.Figures{Operations: 1041e12}, Typical: 1031e12})
	}
	return append(out, buy.Running{Lease: lease(0), After: 26 * time.Second})
}

// drawn draws a state after the first n of some events, each two seconds after the one before.
func drawn(r buy.Request, events []any, n int) func(screen.Terminal) string {
	return func(t screen.Terminal) string {
		var s state
		now := time.Unix(1_790_000_000, 0)
		s.plan(&r)
		s.begin(now)
		for _, e := range events[:n] {
			now = now.Add(2 * time.Second)
			if w, ok := e.(buy.Wait); ok {
				s.wait(w, now)
			} else {
				s.take(e.(buy.Event), now)
			}
		}
		return strings.Join(s.render(t, now.Add(time.Second)), "\n") + "\n"
	}
}

func TestStepsOfAPurchase(t *testing.T) {
	image := buy.Request{Image: "vllm/vllm-openai:v0.12.1", Verify: buy.Always}
	golden(t, "deploy-order", drawn(image, bought(true), 1))
	golden(t, "deploy-image", drawn(image, bought(true), 6))
	golden(t, "deploy-runs", drawn(image, bought(true), 7))
	golden(t, "deploy-job", drawn(buy.Request{}, bought(false), 5))
}

func TestStepsOfAnAuction(t *testing.T) {
	golden(t, "deploy-auction", drawn(buy.Request{Image: "a/b", Sealed: true, Attest: "{}"}, []any{
		buy.Placed{Order: order, Reserved: 9_600_000}, buy.AuctionOpened{CloseAt: 1_790_000_060, RevealUntil: 1_790_000_090},
		buy.Wait{For: buy.WaitCommits, Order: order}, buy.AuctionClosed{}, buy.AuctionRevealed{}, buy.Wait{For: buy.WaitAward, Order: order},
		buy.Awarded{Lease: lease(0), Model: "H100-SXM", Region: "eu-central"}, buy.Wait{For: buy.WaitProof, Order: order},
		buy.Attested{Lease: lease(0), Attestation: service.Attestation{State: service.AttestationPassed, Policy: "mine"}},
	}, 9))
}

// Steps of several machines are counted, and a machine that does not pass leads back to the award.
func TestStepsOfSeveralMachines(t *testing.T) {
	r := buy.Request{Image: "a/b", Nodes: 2}
	events := []any{
		buy.Placed{Order: order, Reserved: 4_000_000_000}, buy.Awarded{Lease: lease(0), Model: "H100", Released: 50}, buy.Awarded{Lease: lease(1), Model: "H100"},
		buy.Wait{For: buy.WaitStart, Order: order}, buy.Measured{Lease: lease(0), Figures: format.Figures{Operations: 1041e12}},
		buy.Measured{Lease: lease(1), Figures: format.Figures{Operations: 500e12}, Typical: 1031e12}, buy.Running{Lease: lease(0)},
	}
	golden(t, "deploy-several", drawn(r, events, len(events)))
	events = append(events[:4:4], buy.Failed{Lease: lease(0), Why: errors.New("it computes \x1b[2J wrong")}, buy.NeverStarted{Lease: lease(0)})
	golden(t, "deploy-failed", drawn(r, events, len(events)))
	golden(t, "deploy-again", drawn(r, append(events, buy.Declined{Order: order, Why: "bad"}), len(events)+1))
}

// on is a block on a pseudo-terminal, and what its other end has read.
type on struct {
	steps *Steps
	tty   *os.File
	read  func() string // closes the terminal
}

func onTerminal(t *testing.T, ctx context.Context) on {
	t.Helper()
	master, tty, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(tty, &pty.Winsize{Rows: 40, Cols: 80}))
	at := screen.Of(tty, func(name string) string { return map[string]string{"TERM": "xterm", "LANG": "C.UTF-8"}[name] })
	require.True(t, at.Live)
	require.Equal(t, 80, at.Width)
	var got bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(&got, master) })
	var s *Steps
	say := func(text string, args ...any) { fmt.Fprintf(printable.Writer(s), text+"\n", args...) }
	s = NewSteps(ctx, at, Lines{Say: say}, func(buy.Wait) func() { say("waits"); return func() {} })
	return on{s, tty, func() string {
		time.Sleep(50 * time.Millisecond) // what is written last has to arrive
		require.NoError(t, tty.Close())
		wg.Wait()
		require.NoError(t, master.Close())
		return strings.ReplaceAll(got.String(), "\r\n", "\n")
	}}
}

// On a terminal the block is drawn in place, lines stand above it, the cursor comes back, and the job's output follows.
func TestABlockOnATerminal(t *testing.T) {
	x := onTerminal(t, t.Context())
	x.steps.Plan(&buy.Request{Image: "vllm/vllm-openai:v0.12.1"})
	x.steps.Event(buy.TimeTaken{Seconds: 3600})
	for _, e := range bought(false) {
		if w, ok := e.(buy.Wait); ok {
			x.steps.Waiting(w)()
		} else {
			x.steps.Event(e.(buy.Event))
		}
		time.Sleep(drawEvery * 3 / 2)
		_, _ = fmt.Fprintln(x.steps, "above")
	}
	x.steps.Event(buy.OutputEnded{Err: errors.New("after")})
	_, _ = fmt.Fprintln(x.tty, "output of the job")
	x.steps.End(nil)
	var e emulator
	raw := x.read()
	e.show(t, raw)
	require.False(t, e.hidden)
	require.Equal(t, 1, strings.Count(raw, "\x1b[?25l"))
	lines := strings.Split(e.text(), "\n")
	require.Contains(t, lines[0], " · time     1h0m0s")
	require.Equal(t, []string{"above", "above", "above", "above", "above"}, lines[1:6], e.text())
	require.Contains(t, lines[6], "✓ Reserved  $9.60")
	require.Contains(t, lines[7], "✓ Awarded   1 × H100-SXM in eu-central, $1.98 /h")
	require.Contains(t, lines[8], "✓ Image     vllm/vllm-openai:v0.12.1")
	require.Contains(t, lines[9], "✓ Running   26 s after the order; billing has begun")
	require.Equal(t, []string{"above", " · output   after", "output of the job"}, lines[10:], e.text())
}

// After an error the cursor is back, and what went on is marked.
func TestTheCursorComesBackAfterAnError(t *testing.T) {
	x := onTerminal(t, t.Context())
	x.steps.Waiting(buy.Wait{For: buy.WaitAward, Order: order})
	x.steps.End(errors.New("no machine"))
	x.steps.End(nil)
	_, _ = fmt.Fprintln(x.steps, "error: no machine")
	var e emulator
	e.show(t, x.read())
	require.False(t, e.hidden)
	require.Contains(t, e.text(), "✗ Awarded")
	require.NotContains(t, e.text(), "Ctrl-C")
	require.True(t, strings.HasSuffix(e.text(), "\nerror: no machine"), e.text())
}

// The second interrupt ends the program at once: with the first one the cursor is back.
func TestTheCursorComesBackWithAnInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	x := onTerminal(t, ctx)
	x.steps.Waiting(buy.Wait{For: buy.WaitAward, Order: order})
	cancel()
	time.Sleep(3 * drawEvery)
	var e emulator
	e.show(t, x.read()) // the block still stands, as if the program were gone
	x.steps.End(nil)
	require.False(t, e.hidden)
	require.Contains(t, e.text(), "Ctrl-C leaves the order; all money back: gantry order cancel 61cGZ5")
}

// A question takes the block's place, and the block comes back with the next step.
func TestAQuestionTakesThePlaceOfTheBlock(t *testing.T) {
	x := onTerminal(t, t.Context())
	x.steps.Waiting(buy.Wait{For: buy.WaitAward, Order: order})
	x.steps.Aside()
	_, _ = io.WriteString(x.steps, "continue? [y/N] ")
	_, _ = x.tty.WriteString("y\n") // as it is echoed
	x.steps.Event(buy.Placed{Order: order, Reserved: 1_000_000})
	x.steps.End(nil)
	var e emulator
	e.show(t, x.read())
	require.False(t, e.hidden)
	lines := strings.Split(e.text(), "\n")
	require.Equal(t, "continue? [y/N] y", lines[0])
	require.Contains(t, lines[1], "✓ Reserved  $1.00")
	require.Equal(t, 1, strings.Count(e.text(), "Reserved"))
}
