package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/device"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/host/bench"
	"github.com/gantry-market/gantry/internal/command"
	"github.com/gantry-market/gantry/sdk/market"
)

// benchDisk is how much is written and read, bytes.
const benchDisk = 128 << 20

// benchmark measures the machine, keeps the result, and prints it.
func benchmark(c *cli.Context, cfg config.Config, m *host.Machine) (r bench.Result, err error) {
	start, inv := time.Now(), m.Inventory
	devices := device.New(m.UUIDs(), inv.Simulated)
	defer func() { err = errors.Join(err, device.Close(devices)) }()
	r, err = bench.Run(c.Context, bench.Options{
		Devices: devices, Simulated: inv.Simulated, DiskPath: cfg.DataDir, DiskBytes: benchDisk,
		Progress: func(step string, done float64) {
			if !command.OnTerminal(os.Stderr) {
				return
			}
			fmt.Fprintf(os.Stderr, "\r\033[K benchmark  %3.0f %%  %s", 100*done, step)
			if done >= 1 {
				fmt.Fprint(os.Stderr, "\r\033[K")
			}
		},
	})
	if err != nil {
		return r, err
	}
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return r, fmt.Errorf("benchmark: %w", err)
	}
	if err := os.WriteFile(cfg.BenchPath(), append(raw, '\n'), 0o600); err != nil {
		return r, fmt.Errorf("benchmark: %w", err)
	}
	printBenchmark(c.App.Writer, r, time.Since(start))
	return r, nil
}

// benchmarkOf is the result that was kept; false for none, or one that is not whole.
func benchmarkOf(path string) (r bench.Result, ok bool) {
	raw, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(raw, &r) != nil {
		return bench.Result{}, false
	}
	return r, r.Complete()
}

// benchmarkText is the result in one line.
func benchmarkText(r bench.Result) string {
	least := r.Weakest()
	what := fmt.Sprintf("%d × %s", len(r.GPUs), r.By)
	if len(r.GPUs) > 1 {
		what += ", the weakest"
	}
	return fmt.Sprintf("%s: %s TOPS int8 · %s GB/s of memory · %d MiB of it used", what, market.TOPS(least.Operations), market.GBs(least.Bandwidth), least.MemoryMiB)
}

func printBenchmark(w io.Writer, r bench.Result, took time.Duration) {
	disk := "disk " + r.Disk.Note
	if r.Disk.Measured {
		disk = fmt.Sprintf("disk %.0f MB/s write, %.0f MB/s read", r.Disk.WriteMBps, r.Disk.ReadMBps)
	}
	fmt.Fprintf(w, " benchmark  %s (measured and verified as keepers do)\n            %s · %s\n", benchmarkText(r), disk, took.Round(100*time.Millisecond))
}

// printClass says for which of the market's models such figures are enough, and whether they are for the machine's own. figures
// may be nothing.
func printClass(w io.Writer, figures bench.Result, own market.Model, all []market.Model) {
	if !figures.Complete() {
		return
	}
	least := figures.Weakest()
	var met []string
	for _, m := range all {
		if m.Calibrated() && market.ShareBPS(least.Operations, least.Bandwidth, m.MinOperations, m.MinBandwidth) >= market.FiguresBPS {
			met = append(met, m.ModelName())
		}
	}
	const head, more = " class      ", "            "
	margin := head
	if len(met) > 0 {
		fmt.Fprintf(w, "%sthese figures are enough for %s\n", margin, strings.Join(met, ", "))
		margin = more
	}
	if !own.Calibrated() {
		fmt.Fprintf(w, "%s%s is not calibrated on hardware: its GPUs are measured, and no figure is required\n", margin, own.ModelName())
		return
	}
	if len(met) == 0 {
		fmt.Fprintf(w, "%sthese figures are enough for no model of the market\n", margin)
		margin = more
	}
	share := market.ShareBPS(least.Operations, least.Bandwidth, own.MinOperations, own.MinBandwidth)
	verdict := "enough for orders, if keepers measure the same"
	if share < market.FiguresBPS {
		verdict = "NOT enough: this machine would get no orders, and lose stake if it stays so; look for other programs on it, its power limit and its cooling"
	}
	fmt.Fprintf(w, "%s%.2f %% of what %s is to reach (%s); %d %% are needed: %s\n",
		margin, float64(share)/100, own.ModelName(), own.ClassText(), market.FiguresBPS/100, verdict)
}
