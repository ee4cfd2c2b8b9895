//go:build e2e

package scenario

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// killPage is the page that GANTRY_KILL_REPORT is written to, without its figures.
const killPage = `# Processes that are killed

` + "`make kill-test KILLS=200`" + ` kills keepers, agents and commands of customers with SIGKILL while leases are bought, run,
settled and closed on a local network of real binaries. It starts keepers and agents again at once, as a service manager
does. Customers repeat or resume their command. Half of the customers' commands stay and sign receipts; the others go
away, and reports have to pay. Each job writes down its start, the time four times a second, its end, and whether
another run of the same purchase was alive.

The test ([` + "`localnet/scenario`" + `](../../localnet/scenario), ` + "`TestKilledProcessesLoseNothing`" + `) fails if

- a customer has more orders than purchases, an order more than one lease that started, or one that did not start keeps money,
- a job runs twice, or two at once; a lease is billed without a job, or ends otherwise than with its job or by its customer,
- a lease is billed for more than %s after its job's end. The chain counts whole seconds (2 s), a receipt speaks for its
  interval (1 s), a keeper's check for its own (3 s). Billing begins with the lease; the table below shows how long it
  waits for its job,
- what a customer has left and what its leases paid is not its deposit, to the last µUSDC,
- any sum on chain is wrong, or ` + "`gantry audit`" + ` of any lease fails,
- an order or a lease stays open, a period has no final report, a machine has a fault,
- a keeper has signed two statements or two sets against each other, or what its store does not hold,
- a keeper or an agent was started more often than it was killed: it has refused its own files, or crashed.

%d kills run with every test of the scenarios; the seed is printed.

## Result of %d kills
%s
`

// print shows the result, and writes the page where one was asked for.
func (k *killRun) print(r killResult, took time.Duration) {
	var b strings.Builder
	row := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	row("moment", "keepers", "agents", "commands")
	row("---", "---", "---", "---")
	sum := map[string]int{}
	for _, m := range killMoments {
		counts := k.moments[m.name]
		row(m.name, fmt.Sprint(counts["keeper"]), fmt.Sprint(counts["agent"]), fmt.Sprint(counts["command"]))
		for kind, n := range counts {
			sum[kind] += n
		}
	}
	row("all", fmt.Sprint(sum["keeper"]), fmt.Sprint(sum["agent"]), fmt.Sprint(sum["command"]))
	b.WriteString("\n")
	row("", "")
	row("---", "---")
	row("network", fmt.Sprintf("%s, %d keepers, %d machines, %d customers, %s, seed %d", k.n.EngineKind(), killKeepers, killMachines, killCustomers, took.Round(time.Second), k.seed))
	row("bought", fmt.Sprintf("%d purchases, %d orders, %d leases, %d orders refunded in full, %d jobs run, none twice", r.purchases, r.orders, r.leases, r.refunded, r.jobs))
	row("billed", fmt.Sprintf("%d s; jobs ran %.0f s. One lease differs from its job by %+.1f to %+.1f s; it began at most %.1f s after its lease",
		r.billed, r.ran.Seconds(), r.least.Seconds(), r.most.Seconds(), r.waited.Seconds()))
	row("leases without a job", fmt.Sprint(r.bare))
	row("sums", fmt.Sprintf("%d checks while it ran and one at the end, none wrong; %d leases audited", k.checks, r.leases))
	row("reports", fmt.Sprintf("%d periods, all final; %d statements and %d sets heard, none against another", len(k.periods), r.statements, r.manifests))
	k.t.Logf("\n%s", b.String())
	if path := os.Getenv(killReportVariable); path != "" && !k.t.Failed() {
		page := fmt.Sprintf(killPage, billTolerance, fewKills, k.all, strings.TrimSpace(b.String()))
		_, containers, _ := strings.Cut(readPage(path), containersTitle)
		require.NoError(k.t, os.WriteFile(path, []byte(page+containersTitle+containers), 0o644))
	}
}

// readPage is a page as it was, if there was one: each of the two tests writes its own part.
func readPage(path string) string {
	raw, _ := os.ReadFile(path)
	return string(raw)
}
