package class

import (
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/work/vram"
)

func TestTable(t *testing.T) {
	all := All()
	require.True(t, sort.SliceIsSorted(all, func(i, j int) bool { return all[i].Name < all[j].Name }))
	for _, c := range all {
		require.NotEmpty(t, c.Source, c.Name)
		require.LessOrEqual(t, len(c.Name), 32, "a name on chain has 32 bytes")
		found, ok := ByName(c.Name)
		require.True(t, ok)
		require.Equal(t, c, found)
		found, ok = ByDevice(c.Device, c.VRAMMiB-c.VRAMMiB/20)
		require.True(t, ok)
		require.Equal(t, c.Name, found.Name)
		// Tensor cores do int8 twice as fast as FP16, and bandwidth is in GB/s.
		require.InDelta(t, 2, c.Int8/c.FP16, 0.03, c.Name)
		require.Greater(t, c.Bandwidth, 250.0, c.Name)
	}
	_, ok := ByName("GTX-9999")
	require.False(t, ok)
	_, ok = ByDevice("NVIDIA H100 80GB HBM3", 40_960)
	require.False(t, ok, "half of the memory is another machine")
	_, ok = ByDevice("NVIDIA H100 80GB HBM3", 90_000)
	require.False(t, ok)
}

func TestLocalModelsAreKnown(t *testing.T) {
	for name, fp16 := range map[string]float64{"A100-SXM4-40GB": 312, "H100-SXM5-80GB": 989} {
		c, ok := ByName(name)
		require.True(t, ok, name)
		require.Equal(t, fp16, c.FP16)
	}
}

func TestBounds(t *testing.T) {
	h100, _ := ByName("H100-SXM5-80GB")
	l4, _ := ByName("L4-PCIe-24GB")
	a100, _ := ByName("A100-SXM4-40GB")
	const n = 4096
	network := 250 * time.Millisecond
	// 2·4096³/1979·10¹² = 69 µs and 3.7 million compressions at 9.3·10⁹ a second.
	require.InDelta(t, 465, float64(h100.Ideal(n).Microseconds()), 10)
	rounds := h100.Rounds(n, network, 0.1)
	require.LessOrEqual(t, float64(network), 0.1*float64(h100.Bound(n, rounds, network))+1)
	require.Greater(t, float64(network), 0.1*float64(h100.Bound(n, rounds-2, network)))
	require.True(t, h100.Separates(l4, n, rounds, network) == (time.Duration(rounds)*l4.Ideal(n) > h100.Bound(n, rounds, network)))
	require.False(t, h100.Separates(h100, n, rounds, network), "an honest machine at its data sheet passes")
	require.False(t, h100.Separates(a100, n, rounds, network), "classes within the margin are not told apart by time")
	require.False(t, h100.Separates(l4, n, 1, network), "one product says nothing against a network's allowance")
	p := h100.Policy(n, network)
	require.EqualValues(t, 252, p.BoundMS)
	require.Equal(t, n, p.N)
}

func TestEveryClassPassesItself(t *testing.T) {
	for _, c := range All() {
		for _, n := range []int{1024, 4096} {
			rounds := c.Rounds(n, 250*time.Millisecond, 0.1)
			require.False(t, c.Separates(c, n, rounds, 0), c.Name)
		}
	}
}

func TestSweeps(t *testing.T) {
	for _, c := range All() {
		bytes := uint64(c.VRAMMiB) << 20 / 10 * 9
		shape, bound := c.Sweep(bytes, 100*time.Millisecond)
		require.NoError(t, shape.Check())
		g := vram.Refill(vram.RefillRate(c.Int32*1e12, shape.Passes), bound, shape)
		t.Logf("%-16s bound %8v, %4d passes, at most %.1f %% recomputed", c.Name, bound.Round(time.Millisecond), shape.Passes, 100*g)
		require.LessOrEqual(t, g, MaxRefill*1.01, c.Name)
		// Host memory over PCI Express 4 (32 GB/s, raw) is too slow for all of them.
		require.Greater(t, float64(bytes)/32, float64(bound), c.Name)
	}
}
