package terminal

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/screen/top"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// The use of a volume is shown where the machine tells it: a lease may have none, and an older agent says nothing of it.
func TestTopShowsTheVolume(t *testing.T) {
	before := messages.Use{AtMs: 1000, CPUMs: 500}
	after := messages.Use{AtMs: 3000, CPUMs: 2500, Memory: 64 << 20, Disk: 1 << 20, Volume: 300 << 20, VolumeSize: 1000 << 20}
	var out bytes.Buffer
	use := service.DescribeUse(market.Lease{}, before, after, 0)
	WriteUse(NewPage(&out), &use, top.Seen{})
	require.Contains(t, out.String(), "cpu      1.00 busy")
	require.Contains(t, out.String(), "disk     1.0 MiB\nvolume   300.0 MiB of 1000.0 MiB\n")
	require.Equal(t, []uint64{300 << 20, 1000 << 20}, []uint64{use.Volume, use.VolumeSize})

	out.Reset()
	after.Volume, after.VolumeSize = 0, 0
	use = service.DescribeUse(market.Lease{}, before, after, 0)
	WriteUse(NewPage(&out), &use, top.Seen{})
	require.NotContains(t, out.String(), "volume")
}

func to[T any](x T) *T { return &x }

// A pipe gets one line of what is known; the screen gets the same, and no text of a machine that a terminal obeys.
func TestUseAsALineAndOnTheScreen(t *testing.T) {
	at := time.Unix(1_790_003_040, 0)
	use := service.Use{
		Lease: leases[0].String(), Measured: at, CPUs: 8.04, CPULimit: 26, Memory: 41 << 30, MemoryLimit: 240 << 30, Disk: 74 << 30, Network: &service.NetworkUse{SentRate: 12.2e6, ReceivedRate: 4.2e6},
		GPUs: []service.GPUUse{
			{Name: "H100", Percent: to(uint32(50)), MemoryUsedMiB: to(uint64(73_600)), MemoryMiB: 81_559, TempC: to(uint32(62)), PowerMW: to(uint32(540_000)), PowerLimitMW: to(uint32(700_000))},
			{Name: "evil\x1b[2J", Missing: true, Simulated: true},
		},
		Cost: service.CostUse{PerHour: "1.98", PaidSecs: 2500, Paid: "1.375000", Used: 3000, Owed: "1.650000", FundedUntil: 1_790_014_400},
	}
	require.Equal(t, "at=2026-09-21T15:04:00Z lease="+leases[0].String()+" cpu=8.04 cpu_limit=26 memory_bytes=44023414784 memory_limit_bytes=257698037760 "+
		"disk_bytes=79456894976 sent_bytes_per_second=12200000 received_bytes_per_second=4200000 "+
		"gpu0_percent=50 gpu0_memory_mib=73600 gpu0_memory_size_mib=81559 gpu0_temperature_c=62 gpu0_power_w=540 gpu0_power_limit_w=700 gpu1_simulated=true gpu1_missing=true "+
		"usdc_per_hour=1.98 paid_seconds=2500 paid_usdc=1.375000 used_seconds=3000 owed_usdc=1.650000 funded_until=1790014400", UseLine(&use))
	l := service.Lease{Address: leases[0].String(), Status: "running", GPUs: 2, Model: "evil\x1b[2J", StartedAt: 1_790_000_000, Reserved: "7.920000"}
	seen := SeenOf(&l, "eu-central", &use, at.Unix())
	require.Equal(t, []uint64{1_375_000, 1_650_000, 7_920_000, 1_980_000}, []uint64{seen.Paid, seen.Owed, seen.Reserved, seen.Hour})
	require.Equal(t, []float64{540, 700}, []float64{seen.GPUs[0].Watts, seen.GPUs[0].WattsLimit})
	require.True(t, math.IsNaN(seen.GPUs[1].Watts) && math.IsNaN(seen.GPUs[1].WattsLimit))
	require.Contains(t, seen.GPUs[0].Line, "540 of 700 W")
	require.True(t, seen.Runs)
	require.NotContains(t, seen.Model+seen.GPUs[1].Line, "\x1b")
}
