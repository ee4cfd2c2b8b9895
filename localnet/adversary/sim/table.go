package sim

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteText tells people what a run has shown.
func (r *Result) WriteText(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	o := r.Options
	row("market", "%d keepers, %d nodes, %d periods of %s, seed %d", o.Keepers, o.Nodes, o.Periods, o.Period, o.Seed)
	row("faulty", "%d at a time: %d dishonest keepers, %d that equivocate, %s", o.Faults, r.Dishonest, r.Equivocators, counts(r.Failures, "nothing else"))
	if r.Dishonest > 0 {
		row("dishonest keepers", "%s; %d false statements", r.Collusion, r.FalseStatements)
	}
	row("machines", "%s", counts(r.Conducts, "none"))
	row("network", "%.1f %% lost (%d messages)%s", 100*o.Loss, r.LostMessages, map[bool]string{true: ", keepers split in two once"}[o.Split > 0])
	if e := o.Endpoints; e != (Endpoints{}) {
		row("RPC nodes", "up to %s behind, another block in %.1f %% of periods, %.1f %% errors", e.Lag, 100*e.Fork, 100*e.Mute)
	}
	fmt.Fprintln(t, "\t")
	row("unjust payments", "%d (%d s)", r.UnjustPayments, r.UnjustSeconds)
	row("unjust slashes", "%d", r.UnjustSlashes)
	row("flags that a machine did not deserve", "%d", r.Harmed)
	row("results that no honest keeper saw", "%d", r.Outside)
	row("lost statements that change a result", "%d", r.Lost)
	row("missed periods", "%d of %d", r.Missed, o.Periods)
	fmt.Fprintln(t, "\t")
	row("final after a period's end", "%s", r.ReportLag)
	row("final among more than four roots", "%d of %d", r.Crowded, r.Final)
	row("refused proposals", "%d of %d (%s)", r.RefusedProposals, r.Proposals, counts(r.WhyRefused, "no reasons"))
	row("paid for verified time", "%.2f USDC", float64(r.Paid)/1e6)
	row("statements, transactions", "%d, %d", r.Statements, r.Transactions)
	row("refused transactions", "%s", counts(r.Refusals, "none"))
	row("on chain", "%s", counts(r.Facts, "nothing"))
	row("a node, each period", "%s", r.PerNode)
	row("a keeper, each period", "%s", r.PerKeeper)
	row("a keeper, each node and period", "%s", r.PerKeeperAndNode)
	row("cost of the run", "%s, %d MiB heap, %d events", r.Cost.Wall.Round(time.Millisecond), r.Cost.HeapMB, r.Events)
	row("trace", "%s", r.Trace)
	if err := t.Flush(); err != nil {
		return err
	}
	if len(r.Detection) > 0 {
		fmt.Fprintf(out, "\nfound out after\n")
		t = tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
		fmt.Fprintf(t, "conduct\tmachines\tfirst failed check\tin a final report\tfault opened\n")
		for _, d := range r.Detection {
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\n", d.Conduct, d.Machines, d.Suspected, d.Reported, d.Faulted)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, what := range slices.Concat(r.Violations, r.Notes) {
		fmt.Fprintln(out, what)
	}
	return nil
}

// String shows a spread as its middle, its 95th of a hundred and its largest.
func (s Spread) String() string {
	if s.N == 0 {
		return "–"
	}
	round := func(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
	return fmt.Sprintf("%s (p95 %s, max %s, n %d)", round(s.P50), round(s.P95), round(s.Max), s.N)
}

// String shows traffic as messages and bytes.
func (t Traffic) String() string {
	return fmt.Sprintf("%d messages out, %d in; %s out, %s in", t.MessagesOut, t.MessagesIn, bytesText(t.BytesOut), bytesText(t.BytesIn))
}

func bytesText(n uint64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// counts lists what there is how often.
func counts(m map[string]int, none string) string {
	if len(m) == 0 {
		return none
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%d %s", m[k], k)
	}
	return strings.Join(keys, ", ")
}

// Line is a run in one line.
func (r *Result) Line() string {
	verdict := "ok"
	if r.Failed() {
		verdict = fmt.Sprintf("FAILED: %d unjust payments, %d unjust slashes, %d flags undeserved, %d results outside, %d lost, %d missed",
			r.UnjustPayments, r.UnjustSlashes, r.Harmed, r.Outside, r.Lost, r.Missed)
	}
	return fmt.Sprintf("seed %-6d %2d keepers %3d nodes %2d periods  %d faulty (%d dishonest, %d equivocating)  loss %.1f %%%s  final %s  %s",
		r.Options.Seed, r.Options.Keepers, r.Options.Nodes, r.Options.Periods, r.Options.Faults, r.Dishonest, r.Equivocators,
		100*r.Options.Loss, map[bool]string{true: " split"}[r.Options.Split > 0], r.ReportLag, verdict)
}
