package hostile

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Markdown writes the result as a page.
func (r *Result) Markdown(w io.Writer) error {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("# Hostile peers\n")
	p("Written by `make hostile-network REPORT=docs/reports/hostile-network.md`. The targets are %d keepers, %d machines and a gateway. They are the real", keepers, machines)
	p("binaries, with their own addresses in network namespaces. Eleven peers attacked them for %s. One is a stranger with %d addresses of one", r.For, crowdAddresses)
	p("IPv6 /64. The others have one address of IPv4 and of IPv6 each. Six of them are three strangers with free keys, a customer with credits only, the")
	p("tenant of a running lease, and a registered machine. The others are keepers that wait, are active, leave and are expelled.")
	p("Attackers take turns of %s or %s with different attacks at a time. The registered machine and the keepers also lie all the time. Attackers run", turnShort, turnLong)
	p("at the lowest priority of this computer's processors, which they share with what they attack.\n")
	p("## What attackers achieved\n")
	p("| attack | what it is | by | attempts | answered or taken | refused | sent |\n| --- | --- | --- | ---: | ---: | ---: | ---: |")
	for _, x := range attacks() {
		c := r.Attacks[x.name]
		by := "all"
		if x.by != nil {
			var names []string
			for _, role := range x.by {
				names = append(names, string(role))
			}
			by = strings.Join(names, ", ")
		}
		p("| %s | %s | %s | %d | %d | %d | %s |", x.name, x.what, by, c.Attempts, c.Answered, c.Refused, mib(c.Bytes))
	}
	p("\nAnswered or taken is also what was written without an error and refused or dropped afterwards: idle and unfinished requests, slow readers")
	p("and gossip have no answer.\n")
	p("The victim of reflection takes no part; a waiting and a leaving keeper have its address on chain. It got %d connections and %d bytes in total;",
		r.Reflected.Attempts, r.Reflected.Bytes)
	p("at most %d connections a minute are allowed.\n", reflectedMost)
	r.use(p)
	p("## How the honest fared\n")
	p("| | | bound |\n| --- | ---: | ---: |")
	p("| periods under attack | %d | |", r.Periods)
	p("| … without a final report | %d | 0 |", len(r.Missed))
	p("| checks of honest machines that failed | %d of %d | 0 |", len(r.Checks.Failed), len(r.Checks.Failed)+r.Checks.Passed)
	p("| a keeper saw a machine alive in a period | %d of %d | %d %% |", r.Checks.Seen, r.Checks.Periods, seenShare)
	p("| faults of honest machines on chain | %d | 0 |", len(r.Faults))
	p("| newcomers whom the market does not know yet, turned away | %d of %d | 0 |", len(r.Newcomers.Turned), r.Newcomers.Came)
	p("| copies of an honest machine that did not stop | %d of %d | 0 |", len(r.Copies.Served), r.Copies.Came)
	p("| bombs of 256 MiB from the RPC endpoint of one machine, whose memory is in the table below | %d | |", r.Bombs)
	p("| jobs done | %d of %d | all |", r.Jobs.Done, r.Jobs.Placed)
	p("| longest time from order to end of a job of 3 s | %s (quiet: %s) | |", r.Jobs.Longest.Round(100*time.Millisecond), r.QuietJobs.Longest.Round(100*time.Millisecond))
	p("| daemons that ended | %d | 0 |\n", len(r.Ended))
	wrong := r.Wrong()
	p("Bounds that were broken: %d.", len(wrong))
	for _, t := range wrong {
		p("- %s", t)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// use is the table of what daemons used.
func (r *Result) use(p func(string, ...any)) {
	p("## What daemons used\n")
	p("The most while quiet (with jobs, checks and reports going on), under attack and in the %s after it; logs in bytes a minute.\n", afterwards)
	p("![Memory of each daemon from quiet to attacked, with its bound of twice the memory while quiet.](images/hostile-network.svg)\n") // drawn by make plots
	p("| daemon | | quiet | attacked | after | ratio | bound |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |")
	for _, name := range slices.Sorted(maps.Keys(r.Use)) {
		u := r.Use[name]
		row := func(what string, of func(Use) float64, format, bound string) {
			q, a := of(u[Quiet]), of(u[Attacked])
			ratio := "–"
			if q > 0 {
				ratio = fmt.Sprintf("%.2f", a/q)
			}
			p("| %s | %s | "+format+" | "+format+" | "+format+" | %s | %s |", name, what, q, a, of(u[After]), ratio, bound)
		}
		row("memory, MiB", func(u Use) float64 { return float64(u.Resident) / (1 << 20) }, "%.1f", fmt.Sprintf("× %d", memoryTimes))
		row("descriptors", func(u Use) float64 { return float64(u.Files) }, "%.0f", fmt.Sprintf("+ %d", mostFiles))
		if u[Quiet].Goroutines > 0 {
			row("goroutines", func(u Use) float64 { return float64(u.Goroutines) }, "%.0f", fmt.Sprintf("+ %d", mostGoroutines))
		}
		row("log, bytes/min", func(u Use) float64 { return u.aMinute(u.Log) }, "%.0f", fmt.Sprintf("+ %d", mostLog))
		row("files, MiB", func(u Use) float64 { return float64(u.Disk) / (1 << 20) }, "%.1f", fmt.Sprintf("+ %d", mostDisk>>20))
		row("processor, %", func(u Use) float64 { return 100 * u.CPU.Seconds() / max(u.Took.Seconds(), 1) }, "%.0f", "")
	}
	p("")
}
