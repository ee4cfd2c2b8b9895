package leasebench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gantry-market/gantry/localnet/bench"
)

// Row is what was measured of one thing, and of a peer or a part of it that is compared.
type Row struct {
	What, Unit string
	Values     []float64
}

// median of the values, the mean of the middle two for an even number; 0 for none.
func (r Row) median() float64 {
	v := slices.Sorted(slices.Values(r.Values))
	if len(v) == 0 {
		return 0
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// line is the row of the table, with how it compares with a row above it.
func (r Row) line(to *Row) string {
	compared := "–"
	if to != nil && to.median() > 0 {
		compared = fmt.Sprintf("%.3f × %s", r.median()/to.median(), to.What)
	}
	return fmt.Sprintf("| %s | %s | %d | %s | %s | %s | %s |\n", r.What, r.Unit, len(r.Values),
		figure(r.median()), figure(slices.Min(r.Values)), figure(slices.Max(r.Values)), compared)
}

// figure has no more digits than mean something.
func figure(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// Table is rows of one subject; ratios are to the first.
type Table struct {
	Title string
	Rows  []Row
	// Skipped says what was not measured, and why.
	Skipped []string
}

// Result is what was measured.
type Result struct {
	Started time.Time
	Engine  string
	Tables  []Table
}

// picture is drawn from the tables by make plots.
const picture = "![Medians and ranges of the tables below: commands over SSH, a file of 200 MB, and forwarded TCP on one computer and over a link of 1,000 Mbit/s.](images/leases.svg)"

// begin is the page before the figures.
const begin = `# Leases as containers: what they take

` + "`make bench-lease`" + ` measures this on a local network of real binaries, with its peers in the same run, one after the
other in turns. Containers run in gVisor on a machine with its own namespaces and without GPUs. Nothing here is a test:
the figures depend on the computer and on what else it does. The design sets the targets. From order to first output: 3
s, of it the container 0.3 s. A prompt: within 1.5 s. Forwarded TCP: 80 % of iperf3 between two hosts. Loopback is not a
link between hosts. A forwarded stream reaches there what the processors can do for both ends, and for a relay of the
local network between them. A second machine is reached by a link of 1,000 Mbit/s each way, as from another computer.
The link is a pair of virtual interfaces, limited by a token bucket. Its peer is iperf3 between the same two ends.

- **order → first output**: from the start of ` + "`gantry deploy --image`" + ` until its customer reads the job's first line; the machine has the image. *The container* is the
  part from the start of the job by the agent's runtime until its first line, measured alone, without a network.
- **a command over SSH**: from the start of the client until it has ended, the command being ` + "`true`" + `. ` + "`gantry ssh`" + ` runs OpenSSH's client over the market's own
  streams, and looks the lease up on chain first; ` + "`gantry exec`" + ` has a client built in. The peer is OpenSSH's client and server on loopback.
- **forwarded TCP**: one iperf3 stream of three seconds through ` + "`gantry port`" + `, or OpenSSH's ` + "`ssh -L`" + `, to a server in the
  container. A provider's machine itself reaches no container except so. For comparison the same client and server run
  on loopback without a container, through OpenSSH's own server there, and both in one container.
- **a file of 200 MB**: from the start of the client until it has ended. The peer is OpenSSH's client and server on loopback.
- **image of 200 MB**: random bytes in one layer, from a registry on loopback, fetched and unpacked; the second pull asks the registry and finds all there.
`

// Markdown writes the page.
func (r *Result) Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(begin)
	fmt.Fprintf(&b, "\n## Measured\n%s\n\n%s\n", bench.Conditions(r.Started, r.Engine), picture)
	for _, t := range r.Tables {
		fmt.Fprintf(&b, "\n### %s\n", t.Title)
		if len(t.Rows) > 0 {
			b.WriteString("| what | unit | n | median | least | most | compared |\n| --- | --- | --- | --- | --- | --- | --- |\n")
		}
		for i, row := range t.Rows {
			var to *Row
			if i > 0 {
				to = &t.Rows[0]
			}
			b.WriteString(row.line(to))
		}
		for _, s := range t.Skipped {
			fmt.Fprintf(&b, "\nNot measured: %s.\n", s)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
