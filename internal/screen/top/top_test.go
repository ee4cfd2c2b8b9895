package top

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/internal/testkit/screentest"
)

const address = "9LZqn6kFWGkqLMM9bCQbkcyQJU3mZsuHmGJHfXVvgsUn"

// seen is a lease after some readings.
func seen(i int) Seen {
	at := time.Unix(1_790_003_000+2*int64(i), 0)
	return Seen{
		Lease: address, Model: "H100-SXM", Region: "eu-central", State: "running", Runs: true, Count: 1, Began: 1_790_000_000, Ends: 1_790_014_400, Now: at.Unix(),
		Paid: 1_375_000, Owed: 1_650_000, Reserved: 7_920_000, Hour: 1_980_000, At: at,
		CPUs: 8.04, CPULimit: 26, Memory: Size{41 << 30, 240 << 30}, Disk: Size{74 << 30, 200 << 30}, Sent: 12.2e6, Received: 4.2e6,
		GPUs: []GPU{{Line: "NVIDIA H100   62 °C", Percent: float64(100*i) / 40, Watts: float64(534 + i%7), WattsLimit: 700, Temp: 62, Memory: Size{73_600 << 20, 81_559 << 20}}},
	}
}

func TestTheScreenOfALease(t *testing.T) {
	show := func(change func(*Seen), help bool) func(screen.Terminal) string {
		return func(at screen.Terminal) string {
			var u usage
			for i := range 40 {
				s := seen(i)
				change(&s)
				u.take(s)
			}
			u.help = help
			return strings.Join(u.render(at, true), "\n") + "\n"
		}
	}
	screentest.Golden(t, "top", show(func(*Seen) {}, false))
	screentest.Golden(t, "top-help", show(func(s *Seen) { s.Volume = Size{3 << 30, 100 << 30} }, true))
	screentest.Golden(t, "top-gpus", show(func(s *Seen) {
		s.State, s.Runs, s.Began, s.Sent, s.CPULimit = "awarded", false, 0, screen.None, 0
		none := GPU{Percent: screen.None, Watts: screen.None, WattsLimit: screen.None, Temp: screen.None}
		gone, fake := none, none
		gone.Line, gone.Missing, fake.Line, fake.Simulated = "NVIDIA H100   does not answer", true, "fake   SIMULATED: the readings mean nothing", true
		s.GPUs = append(s.GPUs, gone, fake)
	}, false))
}

// On a terminal that shows nothing in place, it is printed once.
func TestItIsWrittenOnce(t *testing.T) {
	p := screentest.OpenPty(t, 100, 20)
	require.NoError(t, Write(p.Terminal, seen(1)))
	got := p.Close(t)
	require.Contains(t, got, "eu-central")
	require.NotContains(t, got, "quit")
	require.NotContains(t, got, "\x1b[?")
}

// shown runs Show on a pseudo-terminal: keys are typed once something is seen.
func shown(t *testing.T, keys string, watch Watch) (next, screenText string, err error) {
	t.Helper()
	p := screentest.OpenPty(t, 100, 30)
	type outcome struct {
		next string
		err  error
	}
	over := make(chan outcome, 1)
	go func() {
		next, err := Show(t.Context(), p.Terminal, p.TTY, address, watch)
		over <- outcome{next, err}
	}()
	if keys != "" {
		require.Eventually(t, func() bool { return strings.Contains(p.Read(), "quit") }, time.Minute, 10*time.Millisecond)
		p.Type(t, keys)
	}
	out := <-over
	return out.next, p.Close(t), out.err
}

// Keys leave and name a command; the cursor and the terminal's own screen come back, also when the watch fails.
func TestKeysOnATerminal(t *testing.T) {
	forever := func(ctx context.Context, take func(Seen) error) error {
		for i := 0; ; i++ {
			if err := take(seen(i % 40)); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	for keys, want := range map[string]string{
		"q": "", "\x03": "", "?s": "gantry stop " + address, "e": "gantry extend " + address + " --hours 1", "l": "gantry logs -f " + address,
	} {
		next, raw, err := shown(t, keys, forever)
		require.NoError(t, err, "%q", keys)
		require.Equal(t, want, next, "%q", keys)
		cameBack(t, raw)
	}
	broken := fmt.Errorf("the machine: %w", errors.New("is gone"))
	_, raw, err := shown(t, "", func(_ context.Context, take func(Seen) error) error {
		_ = take(seen(1))
		return broken
	})
	require.ErrorIs(t, err, broken)
	cameBack(t, raw)
}

// cameBack: what was switched off last is on again.
func cameBack(t *testing.T, raw string) {
	t.Helper()
	require.Greater(t, strings.LastIndex(raw, "\x1b[?25h"), strings.LastIndex(raw, "\x1b[?25l"), "%q", raw)
	require.Greater(t, strings.LastIndex(raw, "\x1b[?1049l"), strings.LastIndex(raw, "\x1b[?1049h"), "%q", raw)
}
