package soak

import (
	"fmt"
	"slices"
	"time"

	"github.com/gantry-market/gantry/localnet/fault"
)

// Result is what a soak saw.
type Result struct {
	Engine  string        `json:"engine"`
	Keepers int           `json:"keepers"`
	Nodes   int           `json:"nodes"`
	Took    time.Duration `json:"took"`
	Period  time.Duration `json:"period"`

	Placed   int            `json:"orders_placed"`
	Finished int            `json:"orders_finished"`
	Waited   int            `json:"turns_without_a_free_customer"`
	Failures map[string]int `json:"order_failures,omitempty"`
	StartP50 time.Duration  `json:"order_to_running_p50"`
	StartP95 time.Duration  `json:"order_to_running_p95"`

	Reports int           `json:"reports_final"`
	Missed  []uint64      `json:"periods_without_report,omitempty"`
	LagP50  time.Duration `json:"report_lag_p50"`
	LagP95  time.Duration `json:"report_lag_p95"`
	// CrankP50 and CrankP95 are how long things were due until a keeper did them; upper bounds of histogram buckets.
	CrankP50  time.Duration `json:"crank_lag_p50"`
	CrankP95  time.Duration `json:"crank_lag_p95"`
	CrankLate bool          `json:"crank_lag_p95_above_a_period"`

	Checks     int      `json:"invariant_checks"`
	Restless   int      `json:"invariant_checks_given_up"`
	Violations []string `json:"violations,omitempty"`
	Faults     []string `json:"faults_of_honest_machines,omitempty"`
	Left       []string `json:"not_closed_in_time,omitempty"`

	// Injected is what was done to the node's answers.
	Injected fault.Counts `json:"injected_faults"`

	PerKeeper  []KeeperCost `json:"keepers_measured"`
	Complaints []Complaint  `json:"complaints,omitempty"`
}

// KeeperCost is what one keeper used.
type KeeperCost struct {
	Name     string `json:"name"`
	Restarts int    `json:"restarts"`
	// HeapStart and HeapEnd are the least heaps of the first and of the last quarter of the run after its warm-up, MiB;
	// HeapGrowth is the trend of the least heaps in between, MiB an hour. All 0 when the run was too short to judge.
	HeapStart, HeapEnd, HeapGrowth float64
	// ResidentMax is the most memory that the process held, MiB.
	ResidentMax float64
	// Goroutines and Files at the end.
	Goroutines, Files float64
	// CPUSecs of the processor, Fees in lamports, Transactions landed, all while it was watched.
	CPUSecs, Fees, Transactions float64
	// CPUPerNode is microseconds of a processor, FeesPerNode lamports, each for a node and period.
	CPUPerNode, FeesPerNode float64
	// Checks of nodes by result.
	Checks map[string]float64
}

const mib = 1 << 20

func (r *run) result() (*Result, error) {
	took := time.Since(r.began)
	missed, lags := r.reports.Seen()
	out := &Result{
		Engine: string(r.o.Engine), Keepers: r.o.Keepers, Nodes: r.o.Nodes, Took: took, Period: r.o.Period,
		Placed: r.orders.placed, Finished: r.orders.finished, Waited: r.orders.waited, Failures: r.orders.failures,
		StartP50: quantile(r.orders.toStart, 0.5), StartP95: quantile(r.orders.toStart, 0.95),
		Reports: len(lags), Missed: missed, LagP50: quantile(lags, 0.5), LagP95: quantile(lags, 0.95),
		Checks: r.invariants.Checks, Restless: r.invariants.Restless, Violations: r.invariants.Violations,
		Left: r.left, Injected: r.net.InjectedFaults(),
	}
	for _, f := range r.faults {
		out.Faults = append(out.Faults, f)
	}
	slices.Sort(out.Faults)
	var lag histogram
	logs := []string{r.net.LogPath("fleet")}
	for _, k := range r.net.Keys.Keepers {
		logs = append(logs, r.net.LogPath(k.Name))
		restarts, err := r.net.Restarts(k.Name)
		if err != nil {
			return nil, err
		}
		s := r.samples[k.Name]
		if len(s) == 0 {
			return nil, fmt.Errorf("%w: %s was never read", ErrMetrics, k.Name)
		}
		lag = lag.add(s[len(s)-1].histogram("gantry_keeper_crank_lag_seconds"))
		out.PerKeeper = append(out.PerKeeper, cost(k.Name, restarts, s, r.o))
	}
	within := false
	out.CrankP50, _ = lag.quantile(0.5)
	out.CrankP95, within = lag.quantile(0.95)
	out.CrankLate = lag.count > 0 && (!within || out.CrankP95 > r.o.Period)
	var err error
	out.Complaints, err = ReadComplaints(logs)
	return out, err
}

const (
	// lowOf is how many samples a low is taken from.
	lowOf = 6
	// warmUp is how many periods a keeper's memory is not judged: it fills with as many periods as it holds.
	warmUp = retained + 4
)

// cost reads what a keeper used from its samples.
func cost(name string, restarts int, s []Sample, o Options) KeeperCost {
	first, last := s[0], s[len(s)-1]
	k := KeeperCost{
		Name: name, Restarts: restarts, Goroutines: last.Value("go_goroutines"), Files: last.Value("process_open_fds"),
		CPUSecs: last.Value("process_cpu_seconds_total") - first.Value("process_cpu_seconds_total"),
		Fees:    last.Value("gantry_keeper_transaction_fees_lamports_total") - first.Value("gantry_keeper_transaction_fees_lamports_total"),
		Checks:  last.ByLabel("gantry_keeper_checks_total", "result"),
	}
	k.Transactions = float64(last.histogram("gantry_keeper_transaction_compute_units").count) - float64(first.histogram("gantry_keeper_transaction_compute_units").count)
	var at, heap []float64
	for _, x := range s {
		at, heap = append(at, x.At.Sub(first.At).Hours()), append(heap, x.Value("go_memstats_heap_alloc_bytes")/mib)
		k.ResidentMax = max(k.ResidentMax, x.Value("process_resident_memory_bytes")/mib)
	}
	settled := 0
	for settled < len(s) && s[settled].At.Sub(first.At) < warmUp*o.Period {
		settled++
	}
	low, times := lows(heap[settled:], lowOf), lows(at[settled:], lowOf)
	k.HeapGrowth = slope(times, low)
	if quarter := len(low) / 4; quarter > 0 {
		k.HeapStart, k.HeapEnd = slices.Min(low[:quarter]), slices.Min(low[len(low)-quarter:])
	}
	if span := last.At.Sub(first.At); span > 0 {
		periods := float64(span) / float64(o.Period)
		k.CPUPerNode = k.CPUSecs * 1e6 / (float64(o.Nodes) * periods)
		k.FeesPerNode = k.Fees / (float64(o.Nodes) * periods)
	}
	return k
}

// flat says by how much the least live heap of a quarter of the run may grow over the run: it holds statements and
// reports of a bounded number of periods, which fill up first.
const flat = 1.25

// Wrong lists what went wrong, for people; empty when nothing did.
func (r *Result) Wrong() []string {
	var wrong []string
	add := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	add(r.Finished == 0, "no order was finished")
	for why, n := range r.Failures {
		add(true, "%d orders failed: %s", n, why)
	}
	add(r.Reports == 0, "no report became final")
	add(len(r.Missed) > 0, "periods without a final report: %v", r.Missed)
	add(r.Checks == 0, "the invariants were never checked")
	for _, v := range r.Violations {
		add(true, "%s", v)
	}
	for _, l := range r.Left {
		add(true, "it should have been closed: %s", l)
	}
	for _, f := range r.Faults {
		add(true, "every machine is honest, but there is %s", f)
	}
	add(r.CrankLate && r.Injected.Requests == 0, "the crank's lag at the 95th percentile is above a period")
	for _, k := range r.PerKeeper {
		add(k.Restarts > 0, "%s was started again %d times", k.Name, k.Restarts)
		add(k.HeapStart > 0 && k.HeapEnd > flat*k.HeapStart, "%s holds more and more memory: %.1f MiB, then %.1f MiB", k.Name, k.HeapStart, k.HeapEnd)
	}
	for _, c := range r.Complaints {
		add(c.Why == "" && r.Injected.Requests == 0, "%d× unexplained: %s %s: %s", c.Times, c.Level, c.Part, c.Example)
	}
	return wrong
}
