package moves

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gantry-market/gantry/localnet/bench"
	"github.com/gantry-market/gantry/localnet/engine"
)

// Result is what was measured.
type Result struct {
	Engine  engine.Kind
	Started time.Time
	Wanted  int
	Moves   []Move
}

// target is the time within which 95 of 100 moves should be done.
const target = 15 * time.Second

// picture is drawn from the table by make plots.
const picture = "![Median, 95th percentile and range of each step of a move, with the target of 15 s.](images/moves.svg)"

const begin = `# Moves: how long a lease stands still when its machine is gone

` + "`make moves`" + ` measures this on local networks of real binaries: three keepers, machines that cost the same, periods of an
hour, so that no report moves a lease. A customer rents a machine with ` + "`gantry deploy --migrate`" + `. Its job puts a
checkpoint on chain. Two to six seconds later the agent ends by SIGKILL, and nobody starts it again. Keepers vote after
8 s without an answer ([decision 20](../adr/0020-outages.md)). Ten leases move in each network, one after the other.
Nothing here is a test: the figures depend on the computer and on what else it does. Chain and peers are on loopback; a
cluster's blocks and distances add to it. The target is a move within 15 s, 95 times of 100.

Times count from the SIGKILL until this program, which follows the chain, sees the step.
`

// Markdown writes the page.
func (r *Result) Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(begin)
	fmt.Fprintf(&b, "\n## Measured\n%s\n\n%d moves.\n\n%s\n\n", bench.Conditions(r.Started, string(r.Engine)), len(r.Moves), picture)
	b.WriteString("| what | least | median | p90 | p95 | most |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, row := range []struct {
		what string
		of   func(Move) time.Duration
	}{
		{"first vote on chain, s", func(m Move) time.Duration { return m.Voted }},
		{"votes of the quorum, s", func(m Move) time.Duration { return m.Decided }},
		{"next machine awarded, s", func(m Move) time.Duration { return m.Awarded }},
		{"**lease runs there, s**", func(m Move) time.Duration { return m.Started }},
		{"work done again (since the checkpoint), s", func(m Move) time.Duration { return m.Redone }},
		{"time that the job lost (work done again, and standing still), s", func(m Move) time.Duration { return m.Redone + m.Started }},
		{"last paid second of the first machine, before its end, s", func(m Move) time.Duration { return -m.Paid }},
	} {
		all := r.sorted(row.of)
		fmt.Fprintf(&b, "| %s | %.1f | %.1f | %.1f | %.1f | %.1f |\n", row.what, at(all, 0), at(all, 0.5), at(all, 0.9), at(all, 0.95), at(all, 1))
	}
	within := 0
	for _, m := range r.Moves {
		if m.Started <= target {
			within++
		}
	}
	fmt.Fprintf(&b, "\n%d of %d leases ran on another machine within %d s. Every job continued once, from its checkpoint. No second was billed twice. Each first lease\n"+
		"was paid for until its machine's last answer at most, each second one from its own start on. The sums of the market were right after each move.\n", within, len(r.Moves), int(target.Seconds()))
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Result) sorted(of func(Move) time.Duration) []time.Duration {
	out := make([]time.Duration, len(r.Moves))
	for i, m := range r.Moves {
		out[i] = of(m)
	}
	slices.Sort(out)
	return out
}

// at is the smallest value that a share of all do not exceed, in seconds (nearest rank).
func at(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	rank := max(1, int(math.Ceil(share*float64(len(sorted)))))
	return sorted[rank-1].Seconds()
}
