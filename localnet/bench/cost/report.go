package cost

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txform"
)

// Sizes are the markets of the report.
var sizes = []int{1_000, usual, 1_000_000}

// usual is the size of the market in the tables that show one size.
const usual = 40_000

// fee is a price of a compute unit, with its name.
type fee struct {
	name  string
	price chain.MicroLamports
}

// fees are the prices that are compared.
func (p *page) fees() []fee {
	return []fee{{"quiet", p.assumed.Quiet}, {"congested", p.assumed.Busy}}
}

// goal is the largest share of the price that costs may have, in per cent.
const goal = 0.5

// page gathers a page, and the first error of what stands on it.
type page struct {
	strings.Builder
	bench    Bench
	assumed  Assumptions
	machines []Machine
	err      error
}

// Report is docs/reports/scale.md.
func Report(b Bench, a Assumptions) (string, error) {
	machines, err := Machines()
	if err != nil {
		return "", err
	}
	p := &page{bench: b, assumed: a, machines: machines}
	p.head()
	p.steps()
	p.leaves()
	p.hours()
	p.leases()
	p.shares()
	p.changes()
	p.lists()
	p.read()
	return p.String(), p.err
}

// try keeps the first error.
func try[T any](p *page, v T, err error) T {
	if p.err == nil {
		p.err = err
	}
	return v
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// row writes a row of a table.
func (p *page) row(cells ...string) { p.line("| %s |", strings.Join(cells, " | ")) }

// table begins a table. A column whose name begins with > has numbers.
func (p *page) table(columns ...string) {
	below := make([]string, len(columns))
	for i, c := range columns {
		below[i] = "---"
		if name, right := strings.CutPrefix(c, ">"); right {
			columns[i], below[i] = name, "---:"
		}
	}
	p.line("")
	p.row(columns...)
	p.row(below...)
}

func (p *page) market(machines int) Market { return Market{p.bench, p.assumed, machines} }

func (p *page) hour(machines int, plan Plan, price chain.MicroLamports) Hour {
	h, err := p.market(machines).Hour(plan, price)
	return try(p, h, err)
}

func (p *page) head() {
	p.line("# What a large market costs on chain")
	p.line("")
	p.line("Written by `go test ./localnet/bench/cost -update`, and a test fails when this page is not what the code gives. Compute units are those of")
	p.line("[compute units](compute-units.md). Bytes are of instructions as `sdk/market/ix` builds them. Periods, retention and limits are the")
	p.line("[default parameters](../protocol/parameters.md). A signature costs %s lamports. Priority fees are paid for the limit of a", count(float64(chain.SignatureFee)))
	p.line("transaction, a tenth above its units, as `sdk/txm` sets it.")
	p.line("")
	p.line("## What is assumed")
	p.line("Everything else follows from files of the repository. These numbers stand in `localnet/bench/cost/assumptions.go`.")
	p.table("what", ">value", "date and source")
	for _, a := range p.assumed.List() {
		p.row(a.Name, a.Value, a.Source)
	}
	for _, m := range p.machines {
		p.row(m.name(), decimal(m.Price, 2)+" USDC per GPU-hour", "the [table of classes](../protocol/classes.md)")
	}
}

// recurring are the steps that recur while a market runs.
func (p *page) recurring() []paid {
	b := p.bench
	all := []paid{
		{p.market(usual).leaf(p.market(usual).Leaves()), "keeper"},
		{b.settleByReport(), "keeper"},
		{b.settleByReceipt(), "machine"},
		{b.vote(), "keeper"},
		{b.accrue(), "keeper"},
		{b.claim(), "keeper"},
		{b.shut(), "keeper"},
	}
	return append(all, b.ofLease()...)
}

func (p *page) steps() {
	p.line("")
	p.line("## Transactions")
	p.line("Each instruction in a transaction of its own. A legacy one has two more that bound its compute. `sdk/txm` writes what fits the legacy form in")
	p.line("that one, and lamports are its. The leaf is of a market of 40,000 machines.")
	p.table("instruction", "paid by", ">compute units", ">bytes, legacy", ">bytes, version 1", ">signatures", ">lamports, quiet", ">lamports, congested")
	for _, s := range p.recurring() {
		old, err := Legacy.Of(s.Step, 1)
		try(p, old, err)
		now, err := written(txform.VersionOne, s.Step, 1)
		try(p, now, err)
		p.row("`"+s.Name+"`", s.who, count(float64(s.Units)), count(float64(old.Bytes)), count(float64(now.Bytes)), strconv.Itoa(old.Signatures),
			count(old.Each(p.assumed.Quiet)), count(old.Each(p.assumed.Busy)))
	}
	p.line("")
	p.line("A receipt costs three signatures: its transaction's own, and those of machine and customer. The runtime checks these for the program")
	p.line("and charges for them as for its own, by `calculate_signature_fee` of Agave's crate `solana-fee`.")
	p.line("")
	settle := p.bench.settleByReport()
	old, err := Legacy.Most(settle, crank.MaxBatch)
	try(p, old, err)
	now, err := VersionOne.Most(settle, crank.MaxBatch)
	try(p, now, err)
	p.line("Of settlements by report, %d of different customers fit a legacy transaction, and %d one of version 1.", old.Steps, now.Steps)
}

func (p *page) leaves() {
	p.line("")
	p.line("## Leaves in a transaction")
	p.line("A report has a leaf of each machine and of each lease, and a proof has a hash of 32 bytes for each doubling. Keepers put at most %d actions", crank.MaxBatch)
	p.line("into a transaction. 0 says that not even one fits.")
	p.table(">machines", ">leaves of a report", ">hashes of a proof", ">bytes of one leaf, legacy", ">leaves, legacy", ">leaves, version 1", ">bytes of a fault, legacy", ">faults, legacy", ">faults, version 1")
	for _, n := range sizes {
		all := p.market(n).Leaves()
		leaf, fault := p.market(n).leaf(all), p.market(n).fault(all)
		var cells []string
		for _, s := range []Step{leaf, fault} {
			t, err := Legacy.Of(s, 1)
			try(p, t, err)
			cells = append(cells, count(float64(t.Bytes)))
			for _, f := range []Format{Legacy, VersionOne} {
				t, err := f.Most(s, crank.MaxBatch)
				try(p, t, err)
				cells = append(cells, strconv.Itoa(t.Steps))
			}
		}
		p.row(append([]string{count(float64(n)), count(float64(all)), strconv.Itoa(Depth(all))}, cells...)...)
	}
	p.line("")
	leaf, fault := p.deepest(p.market(1).leaf), p.deepest(p.market(1).fault)
	p.line("A legacy transaction holds a leaf with %d hashes at most: a report of %s leaves. It holds a fault with %d: a report of %s leaves.", leaf, count(float64(int(1)<<leaf)),
		fault, count(float64(int(1)<<fault)))
	p.line("A larger market slashes with transactions of version 1: `TestAFaultOfAMillionMachinesLands` sends one to the local network's engine.")
}

// deepest is the longest proof that a legacy transaction holds.
func (p *page) deepest(step func(leaves int) Step) int {
	for depth := 1; ; depth++ {
		t, err := Legacy.Of(step(1<<depth), 1)
		if try(p, t, err); err != nil || !Legacy.fits(t) {
			return depth - 1
		}
	}
}

func (p *page) hours() {
	p.line("")
	p.line("## A machine-hour")
	p.line("Lamports for a machine and hour, on average over leased and idle ones. Units are with settlements by report. What a lease costs once is spread")
	p.line("over its hours. Rent comes back, so what counts is what the capital would earn elsewhere. With version 1, leaves or settlements that share a")
	p.line("transaction have that form, and all other transactions the legacy one.")
	p.line("")
	p.line("![Lamports of a machine-hour by the size of the market, settled by report and by receipts, with quiet and congested fees, in legacy transactions and those of version 1.](images/scale-machine-hour.svg)") // drawn by make plots
	p.table(">machines", "fees", "format", ">compute units", ">leaves", ">settled by report", ">or by receipts", ">votes and claims", ">leases, once", ">rent", ">sum, by report", ">sum, by receipts", ">SOL a day, by report", ">transactions a second")
	for _, n := range sizes {
		for _, fees := range p.fees() {
			for _, f := range []Format{Legacy, VersionOne} {
				plan := Now()
				plan.Format = f
				h := p.hour(n, plan, fees.price)
				leaves, byReport, byReceipts, day := count(h.Leaves), count(h.ByReports()), count(h.ByReceipts()), decimal(h.ByReports()*float64(n)*24/float64(chain.SOL), 2)
				if h.Leaves == 0 {
					leaves, byReport, byReceipts, day = "do not fit", "–", "–", "–"
				}
				p.row(count(float64(n)), fees.name, f.String(), count(h.Units), leaves, count(h.Settled), count(h.Receipts), count(h.Reports), count(h.LeasesOnce), count(h.Rent),
					byReport, byReceipts, day, decimal(h.Transactions*float64(n)/3600, 1))
			}
		}
	}
}

func (p *page) leases() {
	p.line("")
	p.line("## A lease")
	p.line("What each lease costs once, whoever pays it, and does not depend on the market's size. Settlements come on top: see above.")
	p.table("fees", ">compute units", ">lamports", ">rent held, lamports", ">rent held, SOL", ">what it would earn in an hour, lamports")
	for _, fees := range p.fees() {
		l, err := p.market(sizes[0]).Lease(Legacy, fees.price)
		try(p, l, err)
		p.row(fees.name, count(l.Units), count(l.Fees), count(float64(l.Held)), decimal(float64(l.Held)/float64(chain.SOL), 6), decimal(l.RentHour, 0))
	}
	p.line("")
	p.line("A byte costs %s lamports. The accounts of a node and of its eight GPUs hold %s of them, a report's %s for a week.", count(float64(p.bench.PerByte())),
		count(float64(p.bench.RentOf(nodeBytes)+gpus*p.bench.RentOf(claimBytes))), count(float64(p.bench.RentOf(reportBytes))))
}

func (p *page) shares() {
	p.line("")
	p.line("## The share of the price")
	p.line("All costs of a machine-hour, of what it is paid in an hour on average, in a market of 40,000 machines on a cluster that takes version 1.")
	p.table("machine", ">USDC an hour, on average", ">by report, quiet", ">by report, congested", ">by receipts, quiet", ">by receipts, congested", ">SOL price up to which by report, quiet, is below the goal")
	quiet, busy := p.hour(usual, Now(), p.assumed.Quiet), p.hour(usual, Now(), p.assumed.Busy)
	for _, m := range p.machines {
		p.row(m.name(), decimal(m.Hourly(p.assumed), 2), p.share(m, quiet.ByReports()), p.share(m, busy.ByReports()), p.share(m, quiet.ByReceipts()),
			p.share(m, busy.ByReceipts()), count(p.assumed.most(m, quiet.ByReports(), goal))+" USDC")
	}
}

// share writes which part of a machine's pay an amount is. What misses the goal is bold.
func (p *page) share(m Machine, lamports float64) string {
	s := p.assumed.Share(m, lamports)
	text := decimal(s, 3) + " %"
	if s >= goal {
		return "**" + text + "**"
	}
	return text
}

func (p *page) changes() {
	p.line("")
	p.line("## What keeps it under %s %%", decimal(goal, 1))
	p.line("Shares are the larger of settlements by report and by receipts, in a market of 40,000 machines. Rows are the sets of changes, the smallest first.")
	columns := []string{"what changes"}
	for _, m := range p.machines {
		columns = append(columns, ">"+m.name()+", quiet", ">congested")
	}
	p.table(columns...)
	for _, plan := range Plans() {
		quiet, busy := p.worst(plan, p.assumed.Quiet), p.worst(plan, p.assumed.Busy)
		cells := []string{plan.Name}
		for _, m := range p.machines {
			cells = append(cells, p.share(m, quiet), p.share(m, busy))
		}
		p.row(cells...)
	}
	p.line("")
	p.line("The smallest change that suffices:")
	p.line("")
	for _, m := range p.machines {
		p.line("- %s, quiet: %s. Congested: %s.", m.name(), p.suffices(m, p.assumed.Quiet), p.suffices(m, p.assumed.Busy))
	}
	p.line("")
	p.line("Receipts every six hours are a flag of the agent today (`--settle-interval 6h`). Between them keepers settle by report each period. Waiting needs a price of its own")
	p.line("for what is not urgent. A report stays for a week, and a node takes the leaves of its last 32 periods in any order. Version 1 is SIMD-0385;")
	p.line("[feature gates](feature-gates.md#transactions-of-version-1) says which clusters take it.")
}

// lists says how large the list of all accounts is that a keeper reads at its start.
func (p *page) lists() {
	const mib = 1 << 20
	most := chain.DefaultBound()
	p.line("")
	p.line("## The list of all accounts")
	p.line("A keeper lists all accounts of the market at its start. It reads them one by one and holds no text. The list counts an account's data and")
	p.line("%d bytes for each account. Beyond %d MiB it is refused, unless `--max-list-mib` says more.", chain.AccountOverhead, most.Bytes/mib)
	p.line("")
	p.line("![MiB of the list of all accounts by machines in the market, with the bound of 256 MiB.](images/scale-accounts.svg)") // drawn by make plots
	p.table(">machines of eight GPUs", ">accounts", ">MiB counted", "read by default")
	for _, n := range sizes {
		m := p.market(n)
		leases := m.Leases()
		accounts := n + gpus*n + 2*leases
		held := uint64(n)*(nodeBytes+gpus*claimBytes) + uint64(leases)*(leaseBytes+orderBytes) + uint64(accounts)*chain.AccountOverhead
		fits := "yes"
		if held > uint64(most.Bytes) || accounts > most.Accounts {
			fits = "no"
		}
		p.row(count(float64(n)), count(float64(accounts)), count(float64(held/mib)), fits)
	}
	p.line("")
	p.line("Providers, credits, faults and the reports of a week are not in it.")
}

// worst is the larger of what settlements by report and by receipts cost.
func (p *page) worst(plan Plan, price chain.MicroLamports) float64 {
	h := p.hour(usual, plan, price)
	return max(h.ByReports(), h.ByReceipts())
}

// suffices names the first plan with which costs are below the goal, or up to which price of SOL all changes together are.
func (p *page) suffices(m Machine, price chain.MicroLamports) string {
	var last float64
	for i, plan := range Plans() {
		last = p.worst(plan, price)
		switch below := p.assumed.Share(m, last) < goal; {
		case below && i == 0:
			return "none is needed"
		case below:
			return plan.Name
		}
	}
	return "all of them suffice up to a price of " + count(p.assumed.most(m, last, goal)) + " USDC for a SOL, and not at the assumed one"
}

func (m Machine) name() string { return fmt.Sprintf("%d × %s", m.GPUs, m.Class) }

// decimal writes a number with so many decimals.
func decimal(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }

// micro writes a price of a compute unit.
func micro(price chain.MicroLamports) string { return count(float64(price)) + " micro-lamports a unit" }

// count writes a whole number with commas.
func count(v float64) string {
	text := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
