package terminal

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/internal/testkit/screentest"
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
		buy.Wait{For: buy.WaitConfirmed, Kind: "order_create", Order: order},
		buy.Placed{Order: order, Reserved: 9_600_000, Signature: "5ig"},
		buy.Wait{For: buy.WaitAward, Order: order},
		buy.Awarded{Lease: lease(0), Model: "H100-SXM", Region: "eu-central", Released: 1_680_000},
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
		return strings.Join(s.render(t, 0, now.Add(time.Second)), "\n") + "\n"
	}
}

func TestStepsOfAPurchase(t *testing.T) {
	image := buy.Request{Image: "vllm/vllm-openai:v0.12.1", Verify: buy.Always}
	screentest.Golden(t, "deploy-order", drawn(image, bought(true), 1))
	screentest.Golden(t, "deploy-image", drawn(image, bought(true), 6))
	screentest.Golden(t, "deploy-runs", drawn(image, bought(true), 7))
	screentest.Golden(t, "deploy-job", drawn(buy.Request{}, bought(false), 5))
}

func TestStepsOfAnAuction(t *testing.T) {
	screentest.Golden(t, "deploy-auction", drawn(buy.Request{Image: "a/b", Sealed: true, Attest: "{}"}, []any{
		buy.Placed{Order: order, Reserved: 9_600_000},
		buy.AuctionOpened{CloseAt: 1_790_000_060, RevealUntil: 1_790_000_090},
		buy.Wait{For: buy.WaitCommits, Order: order},
		buy.AuctionClosed{},
		buy.AuctionRevealed{},
		buy.Wait{For: buy.WaitAward, Order: order},
		buy.Awarded{Lease: lease(0), Model: "H100-SXM", Region: "eu-central"},
		buy.Wait{For: buy.WaitProof, Order: order},
		buy.Attested{Lease: lease(0), Attestation: service.Attestation{State: service.AttestationPassed, Policy: "mine"}},
	}, 9))
}

// Steps of several machines are counted, and a machine that does not pass leads back to the award.
func TestStepsOfSeveralMachines(t *testing.T) {
	r := buy.Request{Image: "a/b", Nodes: 2}
	events := []any{
		buy.Placed{Order: order, Reserved: 4_000_000_000},
		buy.Awarded{Lease: lease(0), Model: "H100", Released: 50},
		buy.Awarded{Lease: lease(1), Model: "H100"},
		buy.Wait{For: buy.WaitStart, Order: order},
		buy.Measured{Lease: lease(0), Figures: format.Figures{Operations: 1041e12}},
		buy.Measured{Lease: lease(1), Figures: format.Figures{Operations: 500e12}, Typical: 1031e12},
		buy.Running{Lease: lease(0)},
	}
	screentest.Golden(t, "deploy-several", drawn(r, events, len(events)))
	events = append(events[:4:4], buy.Failed{Lease: lease(0), Why: errors.New("it computes \x1b[2J wrong")}, buy.NeverStarted{Lease: lease(0)})
	screentest.Golden(t, "deploy-failed", drawn(r, events, len(events)))
	screentest.Golden(t, "deploy-again", drawn(r, append(events, buy.Declined{Order: order, Why: "bad"}), len(events)+1))
}

// On a terminal the block is drawn in place, lines stand above it, the cursor comes back, and the job's output follows.
func TestABlockOnATerminal(t *testing.T) {
	p := screentest.OpenPty(t, 80, 40)
	var s *Steps
	say := func(text string, args ...any) { fmt.Fprintf(printable.Writer(s), text+"\n", args...) }
	s = NewSteps(t.Context(), p.Terminal, Lines{Say: say}, func(buy.Wait) func() { say("waits"); return func() {} })
	s.Plan(&buy.Request{Image: "vllm/vllm-openai:v0.12.1"})
	s.Event(buy.TimeTaken{Seconds: 3600})
	for _, e := range bought(false) {
		if w, ok := e.(buy.Wait); ok {
			s.Waiting(w)()
		} else {
			s.Event(e.(buy.Event))
		}
		time.Sleep(150 * time.Millisecond)
		say("above")
	}
	s.Event(buy.OutputEnded{Err: errors.New("after")})
	s.Waiting(buy.Wait{For: buy.WaitEnd})()
	_, _ = fmt.Fprintln(p.TTY, "output of the job")
	s.End(nil)
	var e screentest.Emulator
	raw := p.Close(t)
	e.Show(t, raw)
	require.False(t, e.Hidden)
	require.Equal(t, 1, strings.Count(raw, "\x1b[?25l"))
	lines := strings.Split(e.Text(), "\n")
	require.Contains(t, lines[0], " · time     1h0m0s")
	require.Equal(t, []string{"above", "above", "above", "above", "above"}, lines[1:6], e.Text())
	require.Contains(t, lines[6], "✓ Reserved  $9.60")
	require.Contains(t, lines[7], "✓ Awarded   1 × H100-SXM in eu-central, $1.98 /h")
	require.Contains(t, lines[8], "✓ Image     vllm/vllm-openai:v0.12.1")
	require.Contains(t, lines[9], "✓ Running   26 s after the order; billing has begun")
	require.Equal(t, []string{"above", " · output   after", "waits", "output of the job"}, lines[10:], e.Text())
}

// After an error the cursor is back, and what went on is marked.
func TestTheCursorComesBackAfterAnError(t *testing.T) {
	p := screentest.OpenPty(t, 80, 40)
	s := NewSteps(t.Context(), p.Terminal, Lines{}, nil)
	s.Waiting(buy.Wait{For: buy.WaitAward, Order: order})
	s.End(errors.New("no machine"))
	s.End(nil)
	_, _ = fmt.Fprintln(s, "error: no machine")
	var e screentest.Emulator
	e.Show(t, p.Close(t))
	require.False(t, e.Hidden)
	require.Contains(t, e.Text(), "✗ Awarded")
	require.NotContains(t, e.Text(), "Ctrl-C")
	require.True(t, strings.HasSuffix(e.Text(), "\nerror: no machine"), e.Text())
}
