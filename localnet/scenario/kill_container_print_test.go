//go:build e2e

package scenario

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// containersTitle begins the containers' part of the page.
const containersTitle = "\n## Containers\n"

// containersPage is that part, without its figures.
const containersPage = `
` + "`make kill-test PART=containers KILLS=200`" + ` kills what containers need: agents, supervisors of jobs, sandboxes, processes
that pull, the gateway, the registry and commands of customers. It kills whole machines, with everything on them; half
of them stay away for up to %s, one for ever. It also stops the bucket of the backups: its connections break, and none
is accepted for as long. It does so while images are pulled and containers with volumes are started, run, kept and
moved. One market has gVisor's runsc, a registry of images, an S3 server and a gateway in front. Each
machine has its own namespaces and starts its agent again, as a service manager does. Three quarters of the customers'
commands stay, and their leases may move. Keepers vote outages. Jobs keep a numbered diary in their volume, fsync each
entry, and say so afterwards.

The test (` + "`TestKilledContainersLoseNothing`" + `) fails if

- an order has several leases that continue none; a lease is started twice, or neither started, given back nor closed,
- a lease that ends with its job is billed for more than %s after the job last said that it was alive. The same bound
  holds for a lease whose job never began. A lease that its customer keeps (--detach) is paid for until it is stopped,
  also when its job is over. Its machine ends the lease where it has lost the job,
- a lease is over as done whose job neither ended nor was killed; or as failed whose machine was not killed,
- a snapshot that a machine has made cannot be read with the customer's key, or lacks an entry that was on the disk when
  it was begun,
- a lease that was moved does not continue with exactly the entries of the snapshot that is on chain,
- a diary or the block next to it is torn,
- somebody sees another customer's page at the gateway, or a lease that ran for a minute was never reached through it,
- what a customer has left and what its leases paid is not its deposit; any sum on chain is wrong; or ` + "`gantry audit`" + ` of a lease fails,
- when no lease is left, a machine has a process, mount, loop device, control group, interface, table of nftables or volume file of one.

The seed is printed, and so is every kill where the test fails.

### Result of %d kills
%s
`

// printContainers shows the result, and writes its part of the page where one was asked for.
func (k *containerRun) printContainers(r containerResult, took time.Duration) {
	var b strings.Builder
	row := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	row(append([]string{"moment"}, hitKinds...)...)
	row(slices.Repeat([]string{"---"}, len(hitKinds)+1)...)
	sum := map[string]int{}
	line := func(name string, of map[string]int) {
		cells := []string{name}
		for _, kind := range hitKinds {
			cells = append(cells, fmt.Sprint(of[kind]))
		}
		row(cells...)
	}
	for _, moment := range slices.Sorted(maps.Keys(k.moments)) {
		line(moment, k.moments[moment])
		for kind, n := range k.moments[moment] {
			sum[kind] += n
		}
	}
	line("all", sum)
	b.WriteString("\n")
	row("", "")
	row("---", "---")
	row("network", fmt.Sprintf("%s, %d keepers, %d machines, %d customers, %s, seed %d", k.n.EngineKind(), diaryKeepers, diaryNodes, diaryCustomers, took.Round(time.Second), k.seed))
	row("rented", fmt.Sprintf("%d purchases, %d orders, %d leases that started, %d moves, %d orders refunded in full", len(k.purchases), r.orders, r.leases, r.moved, r.refunded))
	var ends []string
	for _, reason := range slices.Sorted(maps.Keys(r.ends)) {
		ends = append(ends, fmt.Sprintf("%s %d", reason, r.ends[reason]))
	}
	row("ended", strings.Join(ends, ", "))
	row("billed", fmt.Sprintf("%d s; jobs ran %.0f s. The most that a lease was billed beyond its job's last entry is %.1f s. %d leases had no job. %.0f s were of leases that their customers kept when the job was over", r.billed, r.ran.Seconds(), r.most.Seconds(), r.bare, r.kept.Seconds()))
	row("volumes", fmt.Sprintf("%d entries written; %d snapshots read, %d leases went on from one", r.entries, r.snapshots, r.restored))
	row("gateway", fmt.Sprintf("%d pages of %d leases", r.pages, len(k.visited)))
	row("sums", fmt.Sprintf("%d checks while it ran and one at the end, none wrong; %d leases audited", k.checks, r.leases))
	k.t.Logf("\n%s", b.String())
	if path := os.Getenv(killReportVariable); path != "" && !k.t.Failed() {
		processes, _, _ := strings.Cut(readPage(path), containersTitle)
		page := processes + containersTitle + fmt.Sprintf(containersPage, longestAway, billTolerance, k.all, strings.TrimSpace(b.String()))
		require.NoError(k.t, os.WriteFile(path, []byte(page), 0o644))
	}
}
