package soak

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Print writes the result for people.
func (r *Result) Print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	defer w.Flush()
	line := func(what, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", what, fmt.Sprintf(format, args...)) }
	line("network", "%s, %d keepers, %d nodes, periods of %s, %s", r.Engine, r.Keepers, r.Nodes, r.Period, r.Took.Round(time.Second))
	line("orders", "%d placed, %d finished, %d turns found no free customer", r.Placed, r.Finished, r.Waited)
	line("order to running job", "p50 %s, p95 %s", r.StartP50.Round(time.Millisecond), r.StartP95.Round(time.Millisecond))
	line("reports", "%d final, %d missed; %s (p50) and %s (p95) after the end of the period", r.Reports, len(r.Missed), r.LagP50, r.LagP95)
	line("crank", "done within %s (p50) and %s (p95) of being due", r.CrankP50.Round(time.Millisecond), r.CrankP95.Round(time.Millisecond))
	line("invariants", "%d checks, %d violations, %d checks given up because money moved all the time", r.Checks, len(r.Violations), r.Restless)
	line("faults", "%d of honest machines", len(r.Faults))
	if t := r.Injected; t.Requests > 0 {
		line("injected faults", "of %d requests to the node %d refused, %d never answered, %d answers broken off, %d transactions lost, %d old blockhashes, %d fees inflated",
			t.Requests, t.Refused, t.Hung, t.Cut, t.Lost, t.Old, t.Fees)
	}
	for _, k := range r.PerKeeper {
		heap := "too short a run to judge the heap"
		if k.HeapStart > 0 {
			heap = fmt.Sprintf("heap %.1f → %.1f MiB (%+.1f MiB/h)", k.HeapStart, k.HeapEnd, k.HeapGrowth)
		}
		line(k.Name, "%s, resident at most %.0f MiB, %.0f goroutines, %.0f files", heap, k.ResidentMax, k.Goroutines, k.Files)
		line("", "%.1f s of processor (%.0f µs a node and period), %.0f transactions, %.0f lamports (%.0f a node and period), %.0f checks passed, %.0f failed",
			k.CPUSecs, k.CPUPerNode, k.Transactions, k.Fees, k.FeesPerNode, k.Checks["passed"], k.Checks["failed"])
	}
	for _, c := range r.Complaints {
		why := c.Why
		if why == "" {
			why = "NOT EXPLAINED: " + c.Example
		}
		line("log", "%d× %s %s %q: %s", c.Times, c.Level, c.Part, c.Message, why)
	}
}
