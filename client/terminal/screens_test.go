package terminal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/screen"
)

func to[T any](x T) *T { return &x }

// seen is what `gantry top` sees of a lease after some readings.
func seen(i int) Seen {
	at := time.Unix(1_790_003_000+2*int64(i), 0)
	gpu := service.GPUUse{Name: "NVIDIA H100 80GB HBM3", Percent: to(uint32(100 * i / 40)), MemoryUsedMiB: to(uint64(73_600)), MemoryMiB: 81_559, TempC: to(uint32(62)), PowerMW: to(uint32(534_000 + 1000*(i%7)))}
	return Seen{
		Region: "eu-central", Now: at.Unix(),
		Lease: service.Lease{Address: leases[0].String(), Status: "running", GPUs: 1, Model: "H100-SXM", StartedAt: 1_790_000_000, Reserved: "7.920000", FundedUntil: 1_790_014_400},
		Use: service.Use{
			Lease: leases[0].String(), Measured: at, CPUs: 8.04, CPULimit: 26, CPUSecs: 9000, Memory: 41 << 30, MemoryLimit: 240 << 30, Disk: 74 << 30, DiskLimit: 200 << 30,
			Network: &service.NetworkUse{SentRate: 12.2e6, ReceivedRate: 4.2e6}, GPUs: []service.GPUUse{gpu},
			Cost: service.CostUse{PerHour: "1.98", PaidSecs: 2500, Paid: "1.375000", Used: 3000, Owed: "1.650000", FundedUntil: 1_790_014_400},
		},
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
	golden(t, "top", show(func(*Seen) {}, false))
	golden(t, "top-help", show(func(s *Seen) { s.Use.VolumeSize, s.Use.Volume = 100<<30, 3<<30 }, true))
	golden(t, "top-gpus", show(func(s *Seen) {
		s.Lease.Status, s.Lease.Model = "awarded", "evil\x1b[2J"
		s.Use.Network, s.Use.CPULimit = nil, 0
		s.Use.GPUs = append(s.Use.GPUs, service.GPUUse{Name: "NVIDIA H100 80GB HBM3", Missing: true}, service.GPUUse{Name: "fake", Simulated: true})
	}, false))
}

func TestUseAsALine(t *testing.T) {
	s := seen(20)
	require.Equal(t, "at=2026-09-21T15:04:00Z lease="+leases[0].String()+" cpu=8.04 cpu_limit=26 memory_bytes=44023414784 memory_limit_bytes=257698037760 "+
		"disk_bytes=79456894976 disk_limit_bytes=214748364800 sent_bytes_per_second=12200000 received_bytes_per_second=4200000 "+
		"gpu0_percent=50 gpu0_memory_mib=73600 gpu0_memory_size_mib=81559 gpu0_temperature_c=62 gpu0_power_w=540 "+
		"usdc_per_hour=1.98 paid_seconds=2500 paid_usdc=1.375000 used_seconds=3000 owed_usdc=1.650000 funded_until=1790014400", UseLine(&s.Use))
}

// written is what a function writes to a terminal.
func written(t *testing.T, write func(screen.Terminal) error) func(screen.Terminal) string {
	return func(at screen.Terminal) string {
		var out bytes.Buffer
		at.Out = &out
		require.NoError(t, write(at))
		return out.String()
	}
}

func TestTables(t *testing.T) {
	typical := &service.Typical{TOPS: "1031", Of: "class"}
	found := service.Found{Fit: 3, Unfit: map[string]int{"too dear": 61}, Offers: []service.Offer{
		{Address: leases[0].String(), Model: "H100-SXM", GPUs: 8, Free: 6, Price: "1.98", Measured: &service.Measured{TOPS: "1041"}, Typical: typical, Uptime: "99.98", Region: "eu-central", Status: "active", Tier: 2},
		{Address: leases[1].String(), Model: "H100-SXM", GPUs: 1, Free: 1, Price: "1.92", Measured: &service.Measured{TOPS: "956"}, Typical: typical, Uptime: "98.71", Region: "eu-north\n", Status: "active"},
		{Address: order.String(), Model: "H100-NVL", GPUs: 4, Free: 4, Price: "2.05", Uptime: "100.00", Region: "", Status: "active", Simulated: true},
	}}
	golden(t, "search", written(t, func(at screen.Terminal) error { return WriteOffers(at, &found) }))
	golden(t, "gpus", written(t, func(at screen.Terminal) error {
		return WriteGPUs(at, []service.GPUs{
			{Model: "H100-SXM", VRAMMiB: 81_920, Reference: "2.40", Machines: 2, GPUs: 9, Free: 7, MostFree: 6, From: "1.92", To: "1.98", Regions: []string{"eu-central", "eu-north"}},
			{Model: "RTX-4090", VRAMMiB: 24_576, Reference: "0.40", Machines: 1, GPUs: 1},
		})
	}))
	golden(t, "leases", written(t, func(at screen.Terminal) error {
		return WriteLeases(at, []service.Lease{
			{Address: leases[0].String(), Status: "running", GPUs: 1, Model: "H100-SXM", Price: "1.98", Used: 3000, Cost: "1.650000", Paid: "1.375000", Reserved: "7.920000", FundedUntil: 1_790_014_400},
			{Address: leases[1].String(), Status: "ended", EndReason: "customer", GPUs: 8, Model: "A100", Price: "1.26", Used: 90, Cost: "0.252000", Paid: "0.252000", Reserved: "0.252000", EndedAt: 1_789_000_000},
		}, 1_790_003_000)
	}))
}

// watching runs Top on a pseudo-terminal: keys are typed once something is seen.
func watching(t *testing.T, keys string, watch Watch) (next, screenText string, err error) {
	t.Helper()
	master, tty, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(tty, &pty.Winsize{Rows: 30, Cols: 100}))
	at := screen.Of(tty, func(name string) string { return map[string]string{"TERM": "xterm", "LANG": "C.UTF-8"}[name] })
	var mu sync.Mutex
	var got bytes.Buffer
	read := func() string {
		mu.Lock()
		defer mu.Unlock()
		return got.String()
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		buffer := make([]byte, 4096)
		typed := false
		for {
			n, err := master.Read(buffer)
			mu.Lock()
			got.Write(buffer[:n])
			mu.Unlock()
			if !typed && strings.Contains(read(), "quit") {
				_, _ = master.WriteString(keys)
				typed = true
			}
			if err != nil {
				return
			}
		}
	})
	next, err = Top(t.Context(), at, tty, leases[0].String(), watch)
	time.Sleep(50 * time.Millisecond)
	require.NoError(t, tty.Close())
	wg.Wait()
	require.NoError(t, master.Close())
	return next, read(), err
}

// Keys leave top and name a command; the cursor and the terminal's screen come back, also when the watch fails.
func TestTopOnATerminal(t *testing.T) {
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
	for keys, want := range map[string]string{"q": "", "\x03": "", "?s": "gantry stop " + leases[0].String(), "e": "gantry extend " + leases[0].String() + " --hours 1", "l": "gantry logs -f " + leases[0].String()} {
		next, raw, err := watching(t, keys, forever)
		require.NoError(t, err, keys)
		require.Equal(t, want, next, "%q", keys)
		cameBack(t, raw)
	}
	broken := errors.New("the machine is gone")
	_, raw, err := watching(t, "", func(_ context.Context, take func(Seen) error) error {
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

// Nobody looks at a pipe: it is not live, and has no colours.
func TestAPipeIsNoTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	at := screen.Of(w, func(string) string { return "xterm-256color" })
	require.False(t, at.Live)
	require.False(t, at.Colour)
}
