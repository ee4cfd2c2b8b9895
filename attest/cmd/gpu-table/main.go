// Command gpu-table shows what measurements tell apart. Without arguments it is the proving ground of processors: machines of one
// and two threads that claim to be of both classes, in real time. With -gpus it measures the GPUs of this machine for the table
// of classes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gantry-market/gantry/attest/measure/class"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "gpu-table:", err)
		os.Exit(1)
	}
}

var errAcceptance = errors.New("the classes are not told apart")

func run(ctx context.Context) error {
	trials := flag.Int("trials", 200, "trials of each machine, of six checks each")
	report := flag.String("report", "", "`FILE` that the table is written to, too")
	gpus := flag.Bool("gpus", false, "measure the GPUs of this machine")
	classes := flag.String("classes", "", "with -gpus: `FILE` with the table of classes, which the figures are written into")
	repeat := flag.Int("repeat", 10, "with -gpus: measurements of each GPU")
	calibrate := flag.Bool("calibrate", false, "print the figures of this machine's threads, for attest/measure/class, and hold nothing against them")
	flag.Parse()
	if *gpus {
		return gpuTable(ctx, *repeat, *report, *classes)
	}
	if runtime.NumCPU() < 2 {
		return errors.New("a machine of two threads needs two processors")
	}
	began, before := time.Now(), load()
	machines := []*machine{{threads: 1}, {threads: 2}}
	for _, m := range machines {
		err := m.try(ctx, *trials, func(done int) {
			if done%20 == 0 {
				fmt.Fprintf(os.Stderr, "machine of %d threads: %d trials, %d checks, %v\n", m.threads, done, m.tried, time.Since(began).Round(time.Second))
			}
		})
		if err != nil {
			return err
		}
	}
	if *calibrate {
		for _, m := range machines {
			operations, bandwidth := m.figures()
			fmt.Printf("cpu-%d on %s: operations %s, bandwidth %s (10⁹: least, median, most) in %d of %d checks\n", m.threads, processorName(),
				spread(scaled(operations)), spread(scaled(bandwidth)), len(operations), m.tried)
		}
		return nil
	}
	text := table(machines, *trials, before, time.Since(began))
	fmt.Print(text)
	if *report != "" {
		if err := os.WriteFile(*report, []byte(text), 0o644); err != nil { //nolint:gosec // a page of the documentation
			return fmt.Errorf("write the report: %w", err)
		}
	}
	if name := processorName(); !strings.HasPrefix(name, class.Processor) {
		fmt.Fprintf(os.Stderr, "the classes are of %s and this machine has %s: nothing follows from this table; measure its figures with -calibrate\n", class.Processor, name)
		return nil
	}
	half, honest := machines[0].claims(class.Processors[1]), []claims{machines[0].claims(class.Processors[0]), machines[1].claims(class.Processors[1])}
	if half.passed > 0 || slices.ContainsFunc(honest, func(c claims) bool { return c.passed < len(c.means) }) || machines[0].void+machines[1].void > 0 {
		return errAcceptance
	}
	return nil
}

// picture is drawn from the table by make plots.
const picture = "![Means of trials against the bound of 0.7: honest machines and better ones are above it, and the machine with half of the threads is below it.](images/gpu-table.svg)"

// table is the page.
func table(machines []*machine, trials int, before string, took time.Duration) string {
	var b strings.Builder
	p := class.Profile
	fmt.Fprintf(&b, "# What measurements tell apart: the proving ground of processors\n\n")
	fmt.Fprintf(&b, "Written by `make gpu-table` on %s, %d cores, load %s before and %s after it, niceness %s, in %v. The run uses no GPU: a machine is a number of threads. The prover and the\n"+
		"verifier are those of GPUs' [format](../protocol/measurement.md), in real time, and nothing sleeps. GPUs are measured by `make gpu-calibrate` ([what was](gpus.md)).\n\n",
		processorName(), runtime.NumCPU(), before, load(), niceness(), took.Round(time.Second))
	fmt.Fprintf(&b, "A check is a chain of %d ms and walks of %d ms at order %d, at an instant that is drawn, and one opening that is verified. It counts when the prover had at least %.1f of its\n"+
		"threads' time, and is made again otherwise: what other programs take is not the machine's doing. A trial is %d checks that count; a machine is of a class when the mean of its shares, each\n"+
		"capped at 1, is at least %.1f ([0026](../adr/0026-measuring.md)).\n\n", p.ChainMs, p.WalkMs, p.Order, gate, class.Checks, class.Least)
	fmt.Fprintf(&b, "| class | int8 operations a second | bytes a second |\n| --- | ---: | ---: |\n")
	for _, c := range class.Processors {
		fmt.Fprintf(&b, "| %s | %.3g | %.3g |\n", c.Name, c.Operations, c.Bandwidth)
	}
	fmt.Fprintf(&b, "\n## Trials that pass\n%s\n\n| machine | claims | pass | means of six: least, median, most | best of six: most | single checks at %.1f or more |\n| --- | --- | ---: | --- | ---: | ---: |\n", picture, class.Least)
	for _, m := range machines {
		for i, c := range class.Processors {
			r := m.claims(c)
			kind := "honest"
			switch {
			case m.threads < i+1:
				kind = "half of the threads"
			case m.threads > i+1:
				kind = "a better machine"
			}
			fmt.Fprintf(&b, "| %d threads | %s (%s) | %d of %d | %s | %.2f | %d of %d |\n", m.threads, c.Name, kind, r.passed, len(r.means), spread(r.means), most(r.best), r.above, len(r.single))
		}
	}
	fmt.Fprintf(&b, "\n## Checks\n| machine | trials | given up | checks made | that counted | operations: least, median, most (10⁹) | bandwidth: least, median, most (10⁹) |\n| --- | ---: | ---: | ---: | ---: | --- | --- |\n")
	for _, m := range machines {
		operations, bandwidth := m.figures()
		fmt.Fprintf(&b, "| %d threads | %d of %d | %d | %d | %d | %s | %s |\n", m.threads, len(m.trials), trials, m.void, m.tried, len(operations), spread(scaled(operations)), spread(scaled(bandwidth)))
	}
	return b.String()
}

func scaled(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = x / 1e9
	}
	return out
}

func spread(v []float64) string {
	if len(v) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g, %.3g, %.3g", slices.Min(v), class.Median(v), slices.Max(v))
}

func most(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Max(v)
}

func processorName() string {
	raw, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "an unknown processor"
	}
	for line := range strings.Lines(string(raw)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return "an unknown processor"
}

func load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	f := strings.Fields(string(raw))
	return strings.Join(f[:min(3, len(f))], " ")
}

// niceness is how much the kernel prefers this process, and its session, to others.
func niceness() string {
	session := "unknown"
	if raw, err := os.ReadFile("/proc/self/autogroup"); err == nil {
		session = strings.TrimSpace(string(raw)[strings.LastIndex(string(raw), " ")+1:])
	}
	n, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%d (of its session %s)", 20-n, session) // the kernel's answer is never negative
}
