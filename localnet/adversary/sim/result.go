package sim

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/gantry-market/gantry/localnet/adversary/sim/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// Result is what a run shows. All but Cost is a function of the options.
type Result struct {
	Options Options `json:"options"`
	// Trace is the hash of everything that happened, in order.
	Trace string `json:"trace"`

	Collusion    string         `json:"collusion"`
	Dishonest    int            `json:"dishonest"`
	Equivocators int            `json:"equivocators"`
	Failures     map[string]int `json:"failures"`
	Conducts     map[string]int `json:"conducts"`

	// What must be zero, with a line for each violation, in the order of time.
	UnjustPayments int      `json:"unjust_payments"`
	UnjustSeconds  uint64   `json:"unjust_seconds"`
	UnjustSlashes  int      `json:"unjust_slashes"`
	Harmed         int      `json:"flags_that_a_machine_did_not_deserve"`
	Outside        int      `json:"results_outside_of_what_honest_keepers_saw"`
	Lost           int      `json:"lost_statements_that_change_a_result"`
	Missed         int      `json:"missed_periods"`
	Violations     []string `json:"violations,omitempty"`

	Final     int      `json:"final_reports"`
	Crowded   int      `json:"final_reports_with_more_than_four_roots"`
	ReportLag Spread   `json:"report_lag"` // from a period's end to its final report
	Detection []Found  `json:"detection"`
	Notes     []string `json:"notes,omitempty"`

	Paid             uint64         `json:"paid_micro_usdc"`
	Statements       int            `json:"statements"`
	Equivocations    int            `json:"equivocations_seen"`
	TwoManifests     int            `json:"keepers_with_two_manifests"`
	SkippedChecks    int            `json:"skipped_checks"`
	Proposals        int            `json:"proposals"`
	RefusedProposals int            `json:"refused_proposals"`
	RefusedVotes     int            `json:"refused_votes"`
	Transactions     int            `json:"transactions"`
	Refusals         map[string]int `json:"refused_transactions"`
	Facts            map[string]int `json:"facts"`
	WhyRefused       map[string]int `json:"why_refused,omitempty"`
	FalseStatements  uint64         `json:"false_statements"`
	LostMessages     uint64         `json:"lost_messages"`
	Events           uint64         `json:"events"`
	PerNode          Traffic        `json:"per_node_and_period"`
	PerKeeper        Traffic        `json:"per_keeper_and_period"`
	PerKeeperAndNode Traffic        `json:"per_keeper_node_and_period"`

	Cost Cost `json:"cost"`
}

// Cost is what the run itself took; it differs from run to run.
type Cost struct {
	Wall   time.Duration `json:"wall"`
	HeapMB uint64        `json:"heap_mib"`
}

// Spread is a distribution of times.
type Spread struct {
	N   int           `json:"n"`
	P50 time.Duration `json:"p50_ns"`
	P95 time.Duration `json:"p95_ns"`
	Max time.Duration `json:"max_ns"`
}

func spread(all []time.Duration) Spread {
	slices.Sort(all)
	return Spread{N: len(all), P50: quantile(all, 0.5), P95: quantile(all, 0.95), Max: quantile(all, 1)}
}

// Found is how soon machines of a conduct were found out.
type Found struct {
	Conduct   string `json:"conduct"`
	Machines  int    `json:"machines"`
	Suspected Spread `json:"suspected"` // until the first failed check of an honest keeper
	Reported  Spread `json:"reported"`  // until a final report with the flag was applied
	Faulted   Spread `json:"faulted"`   // until a fault was opened
}

const maxNotes = 20

func newResult(o Options) *Result {
	return &Result{Options: o, Failures: map[string]int{}, Conducts: map[string]int{}, Facts: map[string]int{}, Refusals: map[string]int{}, WhyRefused: map[string]int{}}
}

// Failed reports whether something happened that never may.
func (r *Result) Failed() bool {
	return r.UnjustPayments+r.UnjustSlashes+r.Harmed+r.Outside+r.Lost+r.Missed > 0
}

func (r *Result) unjust(at time.Time, what string) { r.violation(at, "unjust: "+what) }

func (r *Result) harmed(at time.Time, what string) {
	r.Harmed++
	r.violation(at, "harmed: "+what)
}

func (r *Result) outside(at time.Time, what string) {
	r.Outside++
	r.violation(at, "outside: "+what)
}

func (r *Result) lost(at time.Time, what string) {
	r.Lost++
	r.violation(at, "lost: "+what)
}

func (r *Result) violation(at time.Time, what string) {
	if len(r.Violations) < maxNotes {
		r.Violations = append(r.Violations, at.Format("15:04:05")+" "+what)
	}
}

func (r *Result) note(format string, args ...any) {
	if len(r.Notes) < maxNotes {
		r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
	}
}

// why counts reasons for which proposals were refused, by their kind.
func (sim *simulation) why(err error) {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	sim.result.WhyRefused[err.Error()]++
}

// Run plays one market. The error is about the run, not about what it shows: ErrOptions, the context's, or that the
// code under test broke.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	began := time.Now()
	sim, err := newSimulation(o)
	if err != nil {
		return nil, err
	}
	if err := sim.run(ctx); err != nil {
		return nil, fmt.Errorf("seed %d: %w", o.Seed, err)
	}
	sim.conclude()
	sim.result.Cost.Wall = time.Since(began)
	return sim.result, nil
}

// conclude fills in what is known at the end.
func (sim *simulation) conclude() {
	r := sim.result
	r.Trace = hex.EncodeToString(sim.trace.Sum(nil))
	r.Events, r.LostMessages = sim.loop.Events(), sim.net.lost
	for _, m := range sim.machines {
		r.Conducts[string(m.conduct)]++
	}
	for _, k := range sim.keepers {
		if k.collusion != nil {
			r.FalseStatements = k.collusion.falsified
		}
	}
	sim.concludeReports()
	sim.concludeDetection()
	var nodes, keepers Traffic
	for i, t := range sim.net.traffic {
		if i < sim.o.Keepers {
			keepers.add(t)
		} else {
			nodes.add(t)
		}
	}
	r.PerNode = nodes.over(sim.o.Nodes * sim.o.Periods)
	r.PerKeeper = keepers.over(sim.o.Keepers * sim.o.Periods)
	r.PerKeeperAndNode = keepers.over(sim.o.Keepers * sim.o.Periods * sim.o.Nodes)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.Cost.HeapMB = m.HeapAlloc >> 20
}

func (t Traffic) over(n int) Traffic {
	k := uint64(max(n, 1))
	return Traffic{t.MessagesOut / k, t.MessagesIn / k, t.BytesOut / k, t.BytesIn / k}
}

func (sim *simulation) concludeReports() {
	var lags []time.Duration
	for i := range sim.o.Periods {
		p := sim.first + records.Period(i)
		at, ok := sim.truth.final[p]
		if !ok {
			sim.result.Missed++
			sim.result.violation(sim.loop.Now(), fmt.Sprintf("missed: period %d has no final report%s", i, sim.votesOf(p)))
			continue
		}
		sim.result.Final++
		lags = append(lags, at.Sub(sim.begins(p+1)))
	}
	sim.result.ReportLag = spread(lags)
}

func (sim *simulation) concludeDetection() {
	type times struct{ suspected, reported, faulted []time.Duration }
	all := map[conduct]*times{}
	counts := map[conduct]int{}
	for _, key := range sortedKeys(sim.truth.offences) {
		o, c := sim.truth.offences[key], sim.byNode[key].conduct
		if all[c] == nil {
			all[c] = &times{}
		}
		counts[c]++
		add := func(to *[]time.Duration, at time.Time) {
			if !at.IsZero() {
				*to = append(*to, at.Sub(o.began))
			}
		}
		add(&all[c].suspected, o.suspected)
		add(&all[c].reported, o.proven)
		add(&all[c].faulted, o.paid)
	}
	for _, c := range []conduct{vanishing, dropping, shrunken, weak} {
		if x := all[c]; x != nil {
			sim.result.Detection = append(sim.result.Detection, Found{string(c), counts[c], spread(x.suspected), spread(x.reported), spread(x.faulted)})
		}
	}
}

// votesOf says who voted for what in a period: for people who look for the reason of a missed one.
func (sim *simulation) votesOf(p records.Period) string {
	r, ok := chain.Find[market.Report](sim.chain, market.ReportAddress(uint64(p)))
	if !ok {
		return ", and no votes"
	}
	out := ""
	for _, c := range r.Roots() {
		out += fmt.Sprintf("; root %x:", c.Root[:3])
		for i, k := range sim.keepers {
			if market.Has(c.Voters, uint16(i)) {
				out += fmt.Sprintf(" %d%s", i, map[bool]string{true: " (dishonest)"}[k.collusion != nil])
			}
		}
	}
	return out
}
