package honest

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/bench/soak"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// fate is what the chain says of a lease.
type fate struct {
	node                 solana.PublicKey
	started, fundedUntil int64
	reason               market.EndReason
	paidSecs             uint32
	failed, aborted      bool
}

// fates reads those of all leases, by address.
func fates(h invariants.History) map[string]*fate {
	all := map[string]*fate{}
	of := func(lease solana.PublicKey) *fate {
		f := all[lease.String()]
		if f == nil {
			f = &fate{}
			all[lease.String()] = f
		}
		return f
	}
	for _, t := range h.Transactions {
		for _, event := range t.Events {
			switch e := event.(type) {
			case *bindings.LeaseAwarded:
				of(e.Lease).node = e.Node
			case *bindings.LeaseStarted:
				f := of(e.Lease)
				f.started, f.fundedUntil = e.StartedAt, e.FundedUntil
			case *bindings.LeaseEnded:
				of(e.Lease).reason = market.EndReason(e.Reason)
			case *bindings.LeaseFailed:
				of(e.Lease).failed = true
			case *bindings.LeaseClosed:
				of(e.Lease).paidSecs = e.PaidSecs
			case *bindings.LeaseAborted:
				of(e.Lease).aborted = true
			}
		}
	}
	return all
}

// result reads what became of all members.
func (r *run) result(ctx context.Context) (*Result, error) {
	now, past, err := r.final(ctx)
	if err != nil {
		return nil, err
	}
	r.seen.look(now, time.Now().Unix()/int64(r.o.Period/time.Second))
	r.faultsOf(past)
	missed, lags := r.reports.Seen()
	out := &Result{
		Options: r.o, Began: r.began, Took: time.Since(r.began), Periods: len(lags), Missed: missed,
		Checks: r.invariants.Checks, Violations: r.invariants.Violations, Left: r.left,
	}
	if out.Machines, err = r.machines(now); err != nil {
		return nil, err
	}
	if out.Keepers, err = r.keepers(now); err != nil {
		return nil, err
	}
	if err := r.readLogs(out); err != nil {
		return nil, err
	}
	r.judgeRentals(out, fates(past))
	return out, nil
}

// faultsOf adds the faults that the history has, those that are closed included.
func (r *run) faultsOf(h invariants.History) {
	for _, t := range h.Transactions {
		for _, event := range t.Events {
			if e, ok := event.(*bindings.FaultOpened); ok {
				r.seen.fault(e.Node, e.Fault, e.Period, e.Flags)
			}
		}
	}
}

func (r *run) machines(now *view.View) ([]Machine, error) {
	does, bad := map[string]string{}, map[string]member{}
	for _, c := range cheats {
		does[c.name] = c.does
	}
	for _, m := range r.o.spoiled() {
		bad[m.name] = m
	}
	var out []Machine
	for _, m := range r.net.Nodes {
		n, ok := now.Node(m.Address)
		if !ok {
			return nil, fmt.Errorf("%s is gone from the chain", m.Name)
		}
		restarts, err := r.net.Restarts(m.Name)
		if err != nil {
			return nil, err
		}
		s := r.seen.samples[m.Name]
		out = append(out, Machine{
			Name: m.Name, Does: does[m.Name], Lag: bad[m.Name].faults.Lag, Spoiled: r.net.SpoiledOf(m.Name),
			Put: market.GNT(r.stakes[m.Address]), Stake: market.GNT(n.Stake), Status: n.State(), Suspended: r.seen.suspended[m.Address],
			Faults: slices.Sorted(maps.Values(r.seen.faults[m.Address])), Completed: n.JobsCompleted, Failed: n.JobsFailed,
			ChecksPassed: n.ChecksPassed, ChecksTotal: n.ChecksTotal, Downtime: n.DowntimeSecs, Figures: len(r.seen.figures[m.Address]), Taken: len(r.seen.taken[m.Address]),
			Runs:     s.ByLabel("gantry_agent_measurements_ended_total", "why"),
			Refusals: s.ByLabel("gantry_agent_measurement_refusals_total", "why"),
			Opened:   s.Value("gantry_agent_measurement_openings_total"), Whys: map[string]int{}, Stops: map[string]int{}, Restarts: restarts,
		})
	}
	return out, nil
}

func (r *run) keepers(now *view.View) ([]Keeper, error) {
	bad := r.o.keeper()
	var out []Keeper
	for _, w := range r.net.Keys.Keepers {
		address := market.KeeperAddress(w.Address())
		i := slices.IndexFunc(now.Keepers(), func(k market.Keeper) bool { return k.Address == address })
		if i < 0 {
			return nil, fmt.Errorf("%s is gone from the chain", w.Name)
		}
		on := now.Keepers()[i]
		restarts, err := r.net.Restarts(w.Name)
		if err != nil {
			return nil, err
		}
		s := r.seen.samples[w.Name]
		checks := func(labels map[string]string) float64 { return s.Count("gantry_keeper_checks_total", labels) }
		failed := checks(map[string]string{"kind": "work", "result": "failed"})
		k := Keeper{
			Name: w.Name, Spoiled: r.net.SpoiledOf(w.Name), Put: market.GNT(r.stakes[address]), Bond: market.GNT(on.Bond),
			Status: market.KeeperStatus(on.Status), Passed: checks(map[string]string{"kind": "work", "result": "passed"}), Failed: failed,
			Other: checks(map[string]string{"result": "failed"}) - failed, Votes: float64(on.Votes), Restarts: restarts,
		}
		if w.Name == bad.name {
			k.Lag = bad.faults.Lag
		}
		out = append(out, k)
	}
	return out, nil
}

// What keepers and agents log about measurements and jobs.
const (
	saysWrong  = "node's measurement is wrong"
	saysSigned = "node has signed a wrong measurement; the proof goes on chain"
	saysEvades = "node is up and evades its measurement"
	saysStops  = "node stops the job"
)

var keys = regexp.MustCompile(`[1-9A-HJ-NP-Za-km-z]{32,}`)

// anonymous is an error without keys, so that the same errors of several are one.
func anonymous(text string) string { return keys.ReplaceAllString(text, "…") }

// readLogs adds what the logs say.
func (r *run) readLogs(out *Result) error {
	machines := map[string]*Machine{}
	var paths []string
	for i := range out.Machines {
		m := &out.Machines[i]
		machines[r.net.Nodes[i].Address.String()] = m
		if !m.Honest() {
			continue
		}
		path := r.net.LogPath(m.Name)
		paths = append(paths, path)
		if err := readLog(path, func(l logLine) {
			if l.Message == saysStops {
				m.Stops[l.Why]++
			}
		}); err != nil {
			return err
		}
	}
	for _, k := range out.Keepers {
		path := r.net.LogPath(k.Name)
		paths = append(paths, path)
		if err := readLog(path, func(l logLine) {
			m := machines[l.Node]
			switch {
			case m == nil:
			case l.Message == saysWrong || l.Message == saysSigned:
				m.Wrong++
				m.Whys[anonymous(l.Error)]++
			case l.Message == saysEvades:
				m.Evaded++
				m.Whys[anonymous(l.Error)]++
			}
		}); err != nil {
			return err
		}
	}
	var err error
	out.Complaints, err = soak.ReadComplaints(paths)
	return err
}

// slack is how long before a lease's funded end the last sign of a job may be: its loop sleeps a second, clocks differ, and
// what it prints takes a moment.
const slack = 8 * time.Second

// judgeRentals counts what became of each order, by what its job has printed and by what the chain says.
func (r *run) judgeRentals(out *Result, all map[string]*fate) {
	machines := map[string]*Machine{}
	for i := range out.Machines {
		machines[out.Machines[i].Name] = &out.Machines[i]
	}
	judged := map[string]bool{}
	for _, x := range r.rentals.all {
		f := all[x.Lease]
		if f == nil {
			f = &fate{}
		}
		judged[x.Lease] = true
		if why := count(&machines[x.Machine].Leases, x, f); why != "" {
			out.Kills = append(out.Kills, fmt.Sprintf("lease %s of %s: %s", x.Lease, x.Machine, why))
		}
	}
	for _, lease := range slices.Sorted(maps.Keys(all)) {
		f := all[lease]
		if m := r.nameOf(f.node); m != nil && !judged[lease] && (f.failed || f.reason == market.EndedByProvider || f.reason == market.EndedFailed) {
			out.Kills = append(out.Kills, fmt.Sprintf("lease %s of %s, which no command has named: %s", lease, m.Name, ending(f)))
		}
	}
}

func (r *run) nameOf(node solana.PublicKey) *network.Machine {
	for _, m := range r.net.Nodes {
		if m.Address == node {
			return m
		}
	}
	return nil
}

// count adds an order to those of its machine, and says why its job was killed if it was.
func count(l *Leases, x rental, f *fate) (killed string) {
	l.Ordered++
	switch {
	case f.failed || f.reason == market.EndedByProvider || f.reason == market.EndedFailed:
		killed = ending(f)
	case !x.Began && f.started == 0:
		l.Unserved++
	case !x.Began && f.paidSecs == 0:
		l.Idle++
	case !x.Began:
		killed = fmt.Sprintf("its job never began, and %d s of it were paid for; %s", f.paidSecs, ending(f))
	case x.Done:
		l.Done++
	case x.Job == finite:
		killed = "the job began and did not print its end; " + ending(f)
	case f.fundedUntil == 0:
		killed = "the job began and the chain has no start of its lease"
	case time.Unix(f.fundedUntil, 0).Sub(x.Last) > slack:
		killed = fmt.Sprintf("the last sign of the job is %s before the funded end; %s", time.Unix(f.fundedUntil, 0).Sub(x.Last), ending(f))
	default:
		l.Funded++
	}
	if killed == "" {
		return ""
	}
	l.Killed++
	if x.Why != "" {
		killed += "; the customer's command: " + x.Why
	}
	return killed
}

// ending is how a lease ended by the chain.
func ending(f *fate) string {
	switch {
	case f.failed:
		return "the lease failed"
	case f.aborted:
		return "the lease was aborted"
	default:
		return "the lease ended: " + f.reason.String()
	}
}
