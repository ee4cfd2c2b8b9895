package cost

import (
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// Plan is how a market sends what it has to send.
type Plan struct {
	Name   string
	Format Format
	// Receipts: the time between two settlements of a lease by receipts.
	Receipts time.Duration
	// Calm: leaves and settlements by report wait for blocks at the quiet price. Nothing is due at once: a report stays for a week.
	Calm bool
}

// Now is how it is sent today, to a cluster that takes version 1.
func Now() Plan {
	return Plan{Name: "as it is", Format: VersionOne, Receipts: settleDefault}
}

// changes are what would lower costs, the smallest first.
var changes = []struct {
	name  string
	apply func(*Plan)
}{
	{"receipts are settled every six hours", func(p *Plan) { p.Receipts = 6 * time.Hour }},
	{"leaves and settlements by report wait for quiet blocks", func(p *Plan) { p.Calm = true }},
}

// Plans are today's and all sets of changes, the smallest sets first.
func Plans() []Plan {
	var all []Plan
	for size := range len(changes) + 1 {
		for set := range 1 << len(changes) {
			if bits.OnesCount(uint(set)) != size {
				continue
			}
			p := Now()
			var names []string
			for i, c := range changes {
				if set&(1<<i) != 0 {
					c.apply(&p)
					names = append(names, c.name)
				}
			}
			if size > 0 {
				p.Name = strings.Join(names, "; ")
			}
			all = append(all, p)
		}
	}
	return all
}

// Market is a market of a size.
type Market struct {
	Bench    Bench
	Assumed  Assumptions
	Machines int
}

// Leases are those that run at a time, one to a machine.
func (m Market) Leases() int { return int(float64(m.Machines) * m.Assumed.Leased) }

// Leaves are those of a period's report: one of each machine, and one of each lease.
func (m Market) Leaves() int { return m.Machines + m.Leases() }

// Hour is what a machine-hour costs on average, in lamports.
type Hour struct {
	Leaves     float64 // one is applied for each machine and period
	Settled    float64 // by report, of leases without receipts
	Receipts   float64 // of leases with receipts, by their machines
	Reports    float64 // votes, splits, claims and closes
	LeasesOnce float64 // what each lease costs once
	Rent       float64 // what capital would earn that rent holds
	Units      float64 // compute units, with settlements by report
	// Transactions of keepers, for leaves and settlements by report.
	Transactions float64
}

// ByReports is what it costs when reports settle all leases, ByReceipts when receipts settle them.
func (h Hour) ByReports() float64 { return h.Leaves + h.Settled + h.Reports + h.LeasesOnce + h.Rent }

// ByReceipts is what it costs when a customer's program is connected to each lease and signs receipts.
func (h Hour) ByReceipts() float64 { return h.Leaves + h.Receipts + h.Reports + h.LeasesOnce + h.Rent }

// Hour counts what a machine-hour costs by a plan at a price of a compute unit.
func (m Market) Hour(p Plan, price chain.MicroLamports) (Hour, error) {
	params := market.DefaultParams()
	periods := float64(time.Hour/time.Second) / float64(params.PeriodSecs)
	calm := price
	if p.Calm {
		calm = min(price, m.Assumed.Quiet)
	}
	var h Hour
	leaf, err := p.Format.Most(m.leaf(m.Leaves()), crank.MaxBatch)
	if err != nil {
		return h, err
	}
	settle, err := p.Format.Most(m.Bench.settleByReport(), crank.MaxBatch)
	if err != nil {
		return h, err
	}
	receipt, err := p.Format.Of(m.Bench.settleByReceipt(), 1)
	if err != nil {
		return h, err
	}
	h.Leaves = periods * leaf.Each(calm)
	h.Settled = m.Assumed.Leased * periods * settle.Each(calm)
	h.Receipts = m.Assumed.Leased * float64(time.Hour) / float64(p.Receipts) * receipt.Each(price)
	if p.Receipts > market.Seconds(params.PeriodSecs) {
		h.Receipts += h.Settled // keepers settle by report what receipts have not
	}
	h.Transactions = periods * (each(leaf) + m.Assumed.Leased*each(settle))
	reports, units, err := m.reports(p.Format, price)
	if err != nil {
		return h, err
	}
	h.Reports = periods * reports / float64(m.Machines)
	once, err := m.Lease(p.Format, price)
	if err != nil {
		return h, err
	}
	perHour := m.Assumed.Leased / m.Assumed.LeaseHours // leases
	h.LeasesOnce = perHour * once.Fees
	h.Rent = m.Assumed.Leased*once.RentHour + m.machineRent(params)
	h.Units = periods*(float64(m.leaf(m.Leaves()).Units)+m.Assumed.Leased*float64(m.Bench.settleByReport().Units)+units/float64(m.Machines)) +
		perHour*once.Units
	return h, nil
}

// gpus is how many a node has, for its rent: as many as it can have.
const gpus = 8

// each is a step's part of a transaction.
func each(t Transaction) float64 { return 1 / float64(max(t.Steps, 1)) }

// reports is what a period's report costs beside its leaves, in lamports and in compute units.
func (m Market) reports(f Format, price chain.MicroLamports) (lamports, units float64, err error) {
	for _, s := range []struct {
		Step
		times int
	}{{m.Bench.vote(), m.Assumed.Keepers}, {m.Bench.accrue(), 1}, {m.Bench.claim(), m.Assumed.Keepers}, {m.Bench.shut(), 1}} {
		t, err := f.Of(s.Step, 1)
		if err != nil {
			return 0, 0, err
		}
		lamports += float64(s.times) * t.Each(price)
		units += float64(s.times) * float64(s.Units)
	}
	return lamports, units, nil
}

// machineRent is an hour's part of what capital would earn that reports and the accounts of a node of eight GPUs hold.
func (m Market) machineRent(params market.Params) float64 {
	reports := float64(params.ReportRetentionSecs) / float64(params.PeriodSecs)
	held := float64(m.Bench.RentOf(nodeBytes)+gpus*m.Bench.RentOf(claimBytes)) + reports*float64(m.Bench.RentOf(reportBytes))/float64(m.Machines)
	return m.hourly(held)
}

// hourly is what capital earns in an hour.
func (m Market) hourly(lamports float64) float64 {
	const hours = 365.25 * 24
	return lamports * m.Assumed.Yearly / hours
}

// Lease is what a lease costs once.
type Lease struct {
	Fees, Units float64
	Held        uint64  // by its account and its order's, and comes back
	RentHour    float64 // what capital would earn that is held
}

// Lease counts what a lease costs once, without its settlements.
func (m Market) Lease(f Format, price chain.MicroLamports) (l Lease, err error) {
	for _, s := range m.Bench.ofLease() {
		t, err := f.Of(s.Step, 1)
		if err != nil {
			return l, err
		}
		l.Fees += t.Each(price)
		l.Units += float64(s.Units)
	}
	l.Held = m.Bench.Rent.Lease + m.Bench.Rent.Order
	l.RentHour = m.hourly(float64(l.Held))
	return l, nil
}

// Share is which part of a machine's pay an amount of lamports an hour is, in per cent.
func (a Assumptions) Share(m Machine, lamports float64) float64 {
	return 100 * lamports / float64(chain.SOL) * a.SOL / m.Hourly(a)
}

// most is the highest price of SOL, in USDC, at which costs of so many lamports an hour are no larger share than a bound.
func (a Assumptions) most(m Machine, lamports, bound float64) float64 {
	return math.Floor(a.SOL * bound / a.Share(m, lamports))
}
