package honest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gantry-market/gantry/localnet/bench"
)

const begin = `# Honest machines: what they lose under bad RPC nodes and load

` + "`make honest`" + ` runs a local network of real binaries with four keepers. Newcomers join by ` + "`gantry-agent setup`" + `, and their
machines are rented over and over with ` + "`gantry deploy`" + `. Each honest machine and one keeper have a bad RPC node. It is
behind the cluster, breaks WebSockets, and shows other blocks than the cluster has. It answers lists of accounts by
empty ones and reads by null. Other programs keep the processor busy. An honest machine must still keep its stake, its
record and its jobs. Whatever its measurements are, none may be called wrong. Machines that cheat take part, to show
that the run finds cheats.
`

// Markdown writes the page.
func (r *Result) Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(begin)
	o := r.Options
	fmt.Fprintf(&b, "\n## The run\n%s\n\n", bench.Conditions(r.Began, string(o.Engine)))
	fmt.Fprintf(&b, "%s of orders, %s in total; %d periods of %s with a final report, %d without; %d busy processes. RPC nodes are up to %s behind, and a WebSocket lasts %s on average. "+
		"%.0f %% of lists are empty, %.0f %% of reads are null, %.0f %% of blocks differ. The invariants were checked %d times.\n",
		o.For, r.Took.Round(time.Second), r.Periods, o.Period, len(r.Missed), o.Busy, o.Lag, o.Drop, 100*o.Empty, 100*o.Null, 100*o.Disagree, r.Checks)
	r.verdict(&b)
	r.machineTables(&b)
	r.keeperTable(&b)
	r.complaintTable(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Result) verdict(b *strings.Builder) {
	wrong := r.Wrong()
	if len(wrong) == 0 {
		b.WriteString("\n**No honest machine lost stake, a job or its good record; every cheat lost stake.**\n")
		return
	}
	fmt.Fprintf(b, "\n**%d things are wrong:**\n", len(wrong))
	for _, w := range wrong {
		fmt.Fprintf(b, "- %s\n", cell(w))
	}
}

func (r *Result) machineTables(b *strings.Builder) {
	b.WriteString("\n## Machines\n| machine | RPC node behind | stake put in, GNT | left | faults | leases served | failed | checks in reports | downtime, s |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range r.Machines {
		m := &r.Machines[i]
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %d | %d | %d of %d | %d |\n", title(m), m.Lag, m.Put, m.Stake, orNone(m.Faults), m.Completed, m.Failed, m.ChecksPassed, m.ChecksTotal, m.Downtime)
	}
	b.WriteString("\nMeasurements. Runs are the machine's, by how they ended (*over* is the good end). Openings and refusals are its answers\n" +
		"to keepers. *Wrong* and *evaded* are keepers' verdicts, each of one keeper. Of the periods that have a final report,\n" +
		"*measured* ones have figures on chain, the machine was *leased* in some, and *unknown* are the rest.\n\n" +
		"| machine | measured | leased | unknown | runs | openings | refusals | wrong | evaded | why |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range r.Machines {
		m := &r.Machines[i]
		fmt.Fprintf(b, "| %s | %d | %d | %d | %s | %.0f | %s | %d | %d | %s |\n", m.Name, m.Figures, m.Taken, max(0, r.Periods-m.Figures-m.Taken), counts(m.Runs), m.Opened, counts(m.Refusals), m.Wrong, m.Evaded, quoted(counts(m.Whys)))
	}
	b.WriteString("\nOrders. *Done* printed their end, *funded* ran until the funded end, *killed* did neither; *unserved* were refunded, *idle* did not begin and cost nothing.\n\n" +
		"| machine | ordered | done | funded | killed | unserved | idle | why its agent stopped jobs |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range r.Machines {
		if m := &r.Machines[i]; m.Honest() {
			l := m.Leases
			fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %d | %d | %s |\n", m.Name, l.Ordered, l.Done, l.Funded, l.Killed, l.Unserved, l.Idle, counts(m.Stops))
		}
	}
	b.WriteString("\nWhat the RPC nodes of machines and keepers did.\n\n| member | requests | old answers | empty lists | null | other blocks | WebSockets broken |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range r.Machines {
		if m := &r.Machines[i]; m.Spoiled.Requests > 0 {
			fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %d | %d |\n", m.Name, m.Spoiled.Requests, m.Spoiled.Lagged, m.Spoiled.Emptied, m.Spoiled.Nulled, m.Spoiled.Disagreed, m.Spoiled.Dropped)
		}
	}
	for _, k := range r.Keepers {
		if k.Spoiled.Requests > 0 {
			fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %d | %d |\n", k.Name, k.Spoiled.Requests, k.Spoiled.Lagged, k.Spoiled.Emptied, k.Spoiled.Nulled, k.Spoiled.Disagreed, k.Spoiled.Dropped)
		}
	}
}

func (r *Result) keeperTable(b *strings.Builder) {
	b.WriteString("\n## Keepers\nStatements are the keeper's own, cheats included.\n\n| keeper | RPC node behind | bond put in, GNT | left | status | votes | measurements passed | failed | other checks failed |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, k := range r.Keepers {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %.0f | %.0f | %.0f | %.0f |\n", k.Name, k.Lag, k.Put, k.Bond, k.Status, k.Votes, k.Passed, k.Failed, k.Other)
	}
}

// mostComplaints are shown.
const mostComplaints = 20

func (r *Result) complaintTable(b *strings.Builder) {
	if len(r.Complaints) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Logs\nWarnings and errors of keepers and honest machines, the most frequent of %d.\n\n| times | level | message |\n| --- | --- | --- |\n", len(r.Complaints))
	for _, c := range r.Complaints[:min(len(r.Complaints), mostComplaints)] {
		fmt.Fprintf(b, "| %d | %s | %s |\n", c.Times, c.Level, quoted(c.Message))
	}
}

func title(m *Machine) string {
	if m.Honest() {
		return m.Name
	}
	return m.Name + ", which " + m.Does
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, "; ")
}

// quoted marks what a program has said.
func quoted(s string) string {
	if s == "none" {
		return s
	}
	return "`" + cell(s) + "`"
}

// counts lists what was counted, without zeros.
func counts[N int | float64](of map[string]N) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(of)) {
		if of[k] != 0 {
			out = append(out, fmt.Sprintf("%s %v", k, of[k]))
		}
	}
	return orNone(out)
}

// cell is a text that cannot break a table or a list.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s)
}
