package sim

import (
	"fmt"
	"math"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/localnet/adversary/sim/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// truth compares what the chain does with what really happened.
type truth struct {
	sim      *simulation
	started  map[solana.PublicKey]time.Time                                                   // of leases
	found    map[records.Period]map[solana.PublicKey]map[solana.PublicKey]map[place]*findings // by node and lease
	offences map[solana.PublicKey]*offence                                                    // of machines
	final    map[records.Period]time.Time
	faulty   map[solana.PublicKey]uint16 // flags for which a machine had a fault
}

// findings are what an honest keeper has signed about a subject in a period.
type findings struct {
	passed, failed   uint64 // seconds
	passing, failing uint8  // bits of kinds
	well             bool   // nothing is wrong with the keeper in the whole term
}

// offence is what a machine began to do, and when that was seen.
type offence struct {
	began                   time.Time
	suspected, proven, paid time.Time // first statement, first leaf with the flag, first fault
}

func newTruth(sim *simulation) *truth {
	return &truth{
		sim: sim, started: map[solana.PublicKey]time.Time{}, found: map[records.Period]map[solana.PublicKey]map[solana.PublicKey]map[place]*findings{},
		offences: map[solana.PublicKey]*offence{}, final: map[records.Period]time.Time{}, faulty: map[solana.PublicKey]uint16{},
	}
}

// blur is how long a machine may have been another than checks at intervals say: two intervals, because a lease that is
// missing counts the second time only, the time for an answer, and the honest clocks' differences.
func (t *truth) blur() time.Duration {
	x := t.sim.o.times()
	return x.every*22/10 + 2*x.timeout + maxSkew
}

// signed hears of every statement.
func (t *truth) signed(k *keeper, s records.CheckStatement) {
	if k.collusion != nil || k.equivocator {
		return
	}
	period := submap(t.found, s.Period)
	delete(t.found, s.Period-retentionPeriods-2)
	byPlace := submap(submap(period, s.Node), s.Lease)
	x := byPlace[k.place]
	if x == nil {
		x = &findings{well: t.sim.plan.healthy(k, s.Period)}
		byPlace[k.place] = x
	}
	bit := uint8(1) << s.Kind
	if s.Passed {
		x.passing |= bit
	} else {
		x.failing |= bit
		t.suspect(k, s)
	}
	if s.Kind == records.CheckLiveness {
		if s.Passed {
			x.passed += uint64(s.CoveredSeconds)
		} else {
			x.failed += uint64(s.CoveredSeconds)
		}
	}
}

// offenceOf is what a machine does that should be found out; nil when it does nothing of that.
func (t *truth) offenceOf(m *machine) *offence {
	now := t.sim.loop.Now()
	switch m.conduct {
	case vanishing, dropping, shrunken, weak:
		if now.Before(m.from) {
			return nil
		}
		if t.offences[m.account] == nil {
			t.offences[m.account] = &offence{began: m.from}
		}
	}
	return t.offences[m.account]
}

// suspect notes the first failed check of a machine by an honest keeper.
func (t *truth) suspect(k *keeper, s records.CheckStatement) {
	m := t.sim.byNode[s.Node]
	if o := t.offenceOf(m); o != nil && o.suspected.IsZero() && matches(m.conduct, s.Kind) && t.sim.plan.healthy(k, s.Period) {
		o.suspected = t.sim.loop.Now()
	}
}

// matches reports whether a kind of check is the one that finds a conduct out.
func matches(c conduct, kind records.CheckKind) bool {
	switch c {
	case vanishing, dropping:
		return kind == records.CheckLiveness
	case shrunken:
		return kind == records.CheckInventory
	case weak:
		return kind == records.CheckWork
	}
	return false
}

var flagOf = map[conduct]records.Flags{
	vanishing: records.FlagOffline, dropping: records.FlagOffline, shrunken: records.FlagSpecMismatch, weak: records.FlagSlow,
}

// happened hears of every fact of the chain.
func (sim *simulation) happened(f chain.Fact) {
	t := sim.truth
	sim.result.Facts[string(f.Kind)]++
	now := sim.loop.Now()
	switch f.Kind {
	case chain.Finalised:
		t.final[records.Period(f.Period)] = now
		t.judgeReport(records.Period(f.Period), f.Root)
		if r, ok := chain.Find[market.Report](sim.chain, market.ReportAddress(f.Period)); ok && len(r.Tail) > 0 {
			sim.result.Crowded++
		}
	case chain.Started:
		t.started[f.Lease] = now
	case chain.Paid:
		t.judgePayment(f)
	case chain.Applied:
		m := sim.byNode[f.Node]
		if o := t.offenceOf(m); o != nil && o.proven.IsZero() && records.Flags(f.Flags)&flagOf[m.conduct] != 0 {
			o.proven = now
		}
	case chain.FaultOpened, chain.Slashed:
		t.judgeFault(f)
	case chain.KeeperLost:
		k := sim.byWallet[f.Keeper]
		if (f.Node.IsZero() && !k.signedTwoManifests) || (!f.Node.IsZero() && !k.equivocator) {
			sim.result.unjust(now, fmt.Sprintf("keeper %d was expelled and has not equivocated", k.place))
		}
	}
}

// judgePayment holds paid seconds against served ones.
func (t *truth) judgePayment(f chain.Fact) {
	sim := t.sim
	now := sim.loop.Now()
	served, changes := sim.byNode[f.Node].serves(t.started[f.Lease], now)
	allowed := served + time.Duration(changes)*t.blur() + maxSkew + time.Second
	sim.result.Paid += f.Amount
	if over := time.Duration(f.Seconds)*time.Second - allowed; over > 0 {
		sim.result.UnjustSeconds += uint64(math.Ceil(over.Seconds()))
		sim.result.UnjustPayments++
		sim.result.unjust(now, fmt.Sprintf("node %d (%s) was paid for %d s of a lease that it served for %.0f s with %d gaps",
			sim.byNode[f.Node].place, sim.byNode[f.Node].conduct, f.Seconds, served.Seconds(), changes))
	}
}

// judgeFault asks whether the machine did what it is slashed for.
func (t *truth) judgeFault(f chain.Fact) {
	sim := t.sim
	m, now := sim.byNode[f.Node], sim.loop.Now()
	if o := t.offenceOf(m); o != nil && o.paid.IsZero() && records.Flags(f.Flags)&flagOf[m.conduct] != 0 {
		o.paid = now
	}
	for _, flag := range judged {
		if records.Flags(f.Flags)&flag == 0 || t.guilty(m, flag, f) {
			continue
		}
		sim.result.UnjustSlashes++
		sim.result.unjust(now, fmt.Sprintf("node %d (%s): %s for flag %d of period %d, which it did not deserve", m.place, m.conduct, f.Kind, flag, f.Period))
	}
}

// judged are the flags that are held against what a machine did.
var judged = []records.Flags{
	records.FlagOffline, records.FlagSpecMismatch, records.FlagWorkFailed, records.FlagEvidenceFailed, records.FlagDeviceChanged, records.FlagBadOutput, records.FlagSlow,
}

// deserved reports whether a machine has given cause for a flag in its record of a period. One that was away for a moment may be
// said to be offline, and so may one that does not answer everybody.
func (t *truth) deserved(m *machine, flag records.Flags, p records.Period) bool {
	switch flag {
	case records.FlagOffline:
		return m.conduct != steady && m.conduct != sluggish
	case records.FlagSpecMismatch:
		return m.conduct == shrunken && m.from.Before(t.sim.begins(p+1))
	case records.FlagSlow:
		return m.conduct == weak && m.from.Before(t.sim.begins(p+1))
	}
	return false
}

func (t *truth) guilty(m *machine, flag records.Flags, f chain.Fact) bool {
	sim := t.sim
	p := records.Period(f.Period)
	from, to := sim.begins(p), sim.begins(p+1)
	switch flag {
	case records.FlagOffline:
		if s, ok := t.started[f.Lease]; ok && s.After(from) {
			from = s
		}
		served, _ := m.serves(from, to)
		return served <= t.blur()
	case records.FlagSpecMismatch:
		return m.conduct == shrunken && m.from.Before(to)
	case records.FlagSlow:
		return m.conduct == weak && m.from.Before(to)
	}
	return false
}

// judgeReport holds a final report against what honest keepers have signed: no result lies outside of it, and nothing
// that all of them signed is missing.
func (t *truth) judgeReport(p records.Period, root records.Hash) {
	sim := t.sim
	var set *report.Set
	for _, k := range sim.keepers {
		if k.up() && set == nil {
			set = k.sets(p, root)
		}
	}
	if set == nil {
		sim.result.note("period %d: nobody who is up holds the final leaf set", p-sim.first)
		return
	}
	for _, leaf := range set.Leaves {
		t.judgeLeaf(p, leaf)
	}
}

func (t *truth) judgeLeaf(p records.Period, leaf records.Leaf) {
	sim := t.sim
	least, most, reporters := uint64(math.MaxUint64), uint64(0), 0
	for _, x := range t.found[p][leaf.Node][leaf.Lease] {
		reporters++
		secs := min(x.passed, uint64(sim.secs()))
		least, most = min(least, secs), max(most, secs)
	}
	now := sim.loop.Now()
	if !leaf.Lease.IsZero() {
		switch v := uint64(leaf.VerifiedSeconds); {
		case v > most:
			sim.result.outside(now, fmt.Sprintf("period %d, lease on node %d: %d verified seconds, and no honest keeper of %d saw more than %d", p-sim.first, sim.byNode[leaf.Node].place, v, reporters, most))
		case reporters > 0 && v < least:
			sim.result.lost(now, fmt.Sprintf("period %d, lease on node %d: %d verified seconds, and every honest keeper of %d saw at least %d", p-sim.first, sim.byNode[leaf.Node].place, v, reporters, least))
		}
		return
	}
	m := sim.byNode[leaf.Node]
	for _, flag := range judged {
		if leaf.Flags.Has(flag) && !t.deserved(m, flag, p) {
			sim.result.harmed(now, fmt.Sprintf("period %d, node %d (%s): flag %d, which it did not deserve", p-sim.first, m.place, m.conduct, flag))
		}
	}
	t.judgeFlag(p, leaf, records.CheckLiveness, records.FlagOffline)
	t.judgeFlag(p, leaf, records.CheckInventory, records.FlagSpecMismatch)
	t.judgeFlag(p, leaf, records.CheckWork, records.FlagWorkFailed)
}

// judgeFlag looks at one flag of a node's leaf.
func (t *truth) judgeFlag(p records.Period, leaf records.Leaf, kind records.CheckKind, flag records.Flags) {
	sim := t.sim
	bit := uint8(1) << kind
	passing, failing := map[place]bool{}, map[place]bool{} // keepers that signed so, about the node or a lease of it
	for _, byPlace := range t.found[p][leaf.Node] {
		for k, x := range byPlace {
			if x.passing&bit != 0 {
				passing[k] = true
			}
			if x.failing&bit != 0 {
				failing[k] = failing[k] || x.well
			}
		}
	}
	against := 0
	for k, well := range failing {
		against += boolInt(well && !passing[k])
	}
	now := sim.loop.Now()
	switch {
	case leaf.Flags.Has(flag) && len(failing) == 0:
		sim.result.outside(now, fmt.Sprintf("period %d, node %d: flag %d, and no honest keeper saw a failure", p-sim.first, sim.byNode[leaf.Node].place, flag))
	case !leaf.Flags.Has(flag) && against*3 > 2*sim.o.Keepers:
		sim.result.lost(now, fmt.Sprintf("period %d, node %d: no flag %d, and %d honest keepers saw nothing but failures", p-sim.first, sim.byNode[leaf.Node].place, flag, against))
	}
}
