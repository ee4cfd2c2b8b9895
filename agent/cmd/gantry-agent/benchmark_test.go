package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/host/bench"
	"github.com/gantry-market/gantry/sdk/market"
)

func figuresOf(operations, bandwidth uint32) bench.Result {
	return bench.Result{By: bench.ByGPUs, At: time.Unix(1, 0), GPUs: []bench.GPU{{Operations: operations, Bandwidth: bandwidth, MemoryMiB: 9}, {Operations: 1 << 30, Bandwidth: 1 << 30, MemoryMiB: 9}}}
}

func model(name string, operations, bandwidth uint32) market.Model {
	var m market.Model
	copy(m.Name[:], name)
	m.MinOperations, m.MinBandwidth = operations, bandwidth
	return m
}

// An owner sees before registering whether keepers would find the machine too slow.
func TestTheClassOfAMachineIsSaid(t *testing.T) {
	own, less, free := model("H100", 1000, 2000), model("L4", 100, 200), model("B200", 0, 0)
	all := []market.Model{own, less, free}
	for name, c := range map[string]struct {
		figures bench.Result
		own     market.Model
		says    []string
	}{
		"enough":                  {figuresOf(700, 1400), own, []string{"enough for H100, L4", "70.00 % of what H100", "enough for orders"}},
		"too slow":                {figuresOf(699, 2000), own, []string{"enough for L4\n", "69.90 % of what H100", "NOT enough"}},
		"memory alone":            {figuresOf(9000, 1399), own, []string{"enough for L4\n", "69.95 %", "NOT enough"}},
		"nothing":                 {figuresOf(1, 1), own, []string{"enough for no model", "0.05 %"}},
		"not calibrated":          {figuresOf(700, 1400), free, []string{"class      these figures are enough for H100, L4\n", "            B200 is not calibrated on hardware"}},
		"slow and not calibrated": {figuresOf(1, 1), free, []string{" class      B200 is not calibrated on hardware"}},
		"skipped":                 {bench.Result{}, own, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			printClass(&b, c.figures, c.own, all)
			if c.says == nil {
				require.Empty(t, b.String())
			}
			for _, s := range c.says {
				require.Contains(t, b.String(), s)
			}
		})
	}
}

// What another version has written, or half of a file, is measured again.
func TestBenchmarksThatAreNotWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "benchmark.json")
	for _, text := range []string{"", "{", `{"prover":"cpu x2","work":[{"n":256,"gops":1}],"at":"2026-01-01T00:00:00Z"}`, `{"gpus":[],"at":"2026-01-01T00:00:00Z"}`} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, ok := benchmarkOf(path)
		require.False(t, ok, text)
	}
	require.NoError(t, os.WriteFile(path, []byte(`{"by":"GPUs","gpus":[{"operations_g":1,"bandwidth_m":2,"memory_mib":3}],"at":"2026-01-01T00:00:00Z"}`), 0o600))
	r, ok := benchmarkOf(path)
	require.True(t, ok)
	require.EqualValues(t, 2, r.Weakest().Bandwidth)
	require.Contains(t, benchmarkText(r), "1 × GPUs: 0.001 TOPS int8 · 0.002 GB/s of memory")
}
