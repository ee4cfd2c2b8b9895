package sim

import (
	"slices"
	"time"

	"github.com/gantry-market/gantry/sdk/records"
)

// failure is a keeper's failure for a while that is not dishonest.
type failure string

const (
	crashed     failure = "crashed"           // and back later, with its store
	partitioned failure = "cut from keepers"  // and neither from machines nor from the chain
	isolated    failure = "cut from everyone" // also from machines and the chain
	offline     failure = "cut from the chain"
	slow        failure = "slow" // seconds for every message
	wrongClock  failure = "clock off by up to 5 s"
	maxSkew             = 5 * time.Second
	termPeriods         = 4 // a failure lasts for at most half of a term; in between all are well
)

var failures = []failure{crashed, partitioned, isolated, offline, slow, wrongClock}

// plan says which keepers fail when. Failures come in terms: for each, the plan draws Faults keepers less the dishonest
// ones, and each of them fails for a while. No other keeper fails in that term, so that no report is made with more
// than Faults faulty keepers.
type plan struct {
	sim          *simulation
	rng          rng
	failing      map[place]failure
	terms        []map[place]bool // the keepers that fail in each
	dishonest    int
	equivocators int
	sides        []int // of a split: which side each keeper is on; nil when there is none
	splitAt      span
}

func newPlan(sim *simulation) *plan {
	p := &plan{sim: sim, rng: newRNG(sim.o.Seed, "plan"), failing: map[place]failure{}}
	p.dishonest = sim.o.Dishonest
	if p.dishonest < 0 {
		p.dishonest = p.rng.IntN(sim.o.Faults + 1)
	}
	if left := sim.o.Faults - p.dishonest; sim.o.Dishonest < 0 && left > 0 && p.rng.chance(0.3) {
		p.equivocators = 1
	}
	order := p.rng.Perm(sim.o.Keepers)
	c := newCollusion(sim, p.rng)
	for _, i := range order[:p.dishonest] {
		sim.keepers[i].collusion = c
		c.members = append(c.members, sim.keepers[i])
	}
	for _, i := range order[p.dishonest:min(p.dishonest+p.equivocators, len(order))] {
		sim.keepers[i].equivocator = true
	}
	sim.result.Collusion, sim.result.Dishonest, sim.result.Equivocators = c.String(), p.dishonest, p.equivocators
	for t := 0; t*termPeriods < sim.o.Periods; t++ {
		who := map[place]bool{}
		for _, i := range p.rng.Perm(sim.o.Keepers) {
			if k := sim.keepers[i]; len(who) < sim.o.Faults-p.dishonest-p.equivocators && k.collusion == nil && !k.equivocator {
				who[k.place] = true
			}
		}
		p.terms = append(p.terms, who)
	}
	if sim.o.Split > 0 {
		latest := max(1, sim.o.Periods-2)
		from := sim.start.Add(time.Duration(p.rng.IntN(latest)) * sim.o.Period).Add(p.rng.between(0, sim.o.Period))
		p.splitAt = span{from, from.Add(p.rng.between(sim.o.Period/2, sim.o.Split))}
	}
	return p
}

// begin schedules everything.
func (p *plan) begin() {
	sim := p.sim
	for t, who := range p.terms {
		from := sim.start.Add(time.Duration(t*termPeriods) * sim.o.Period)
		keepers := make([]place, 0, len(who))
		for k := range who {
			keepers = append(keepers, k)
		}
		slices.Sort(keepers)
		for _, k := range keepers {
			what := failures[p.rng.IntN(len(failures))]
			begin := from.Add(p.rng.between(0, sim.o.Period))
			end := begin.Add(p.rng.between(sim.o.Period/10, sim.o.Period))
			sim.loop.At(begin, func() { p.beginFailure(sim.keepers[k], what) })
			sim.loop.At(end, func() { p.endFailure(sim.keepers[k]) })
		}
	}
	if !p.splitAt.from.IsZero() {
		sim.loop.At(p.splitAt.from, func() {
			p.sides = make([]int, len(sim.keepers))
			for i := range p.sides {
				p.sides[i] = p.rng.IntN(2)
			}
		})
		sim.loop.At(p.splitAt.to, func() { p.sides = nil })
	}
	sim.scheduleForgedVotes()
}

func (p *plan) beginFailure(k *keeper, what failure) {
	p.failing[k.place] = what
	p.sim.result.Failures[string(what)]++
	p.sim.traceEvent('f', uint64(k.place))
	switch what {
	case crashed:
		k.crash()
	case slow:
		p.sim.net.slow[k.place] = p.rng.between(time.Second, p.sim.o.times().round/2)
	case wrongClock:
		k.skew = p.rng.between(-maxSkew, maxSkew)
	}
}

// endFailure ends a keeper's failure. It has to fetch by itself what it missed.
func (p *plan) endFailure(k *keeper) {
	what := p.failing[k.place]
	delete(p.failing, k.place)
	p.sim.traceEvent('r', uint64(k.place))
	switch what {
	case crashed:
		if err := k.start(); err != nil {
			p.sim.fail(err)
		}
	case slow:
		p.sim.net.slow[k.place] = 0
	case wrongClock:
		k.skew = 0
	}
}

// cut reports whether nothing passes between two places now.
func (p *plan) cut(a, b place) bool {
	keepers := place(len(p.sim.keepers))
	for _, x := range [2]place{a, b} {
		switch p.failing[x] {
		case isolated:
			return true
		case partitioned:
			if a < keepers && b < keepers {
				return true
			}
		}
	}
	return p.sides != nil && a < keepers && b < keepers && p.sides[a] != p.sides[b]
}

// offChain reports whether a keeper cannot reach the chain now.
func (p *plan) offChain(k place) bool { return p.failing[k] == isolated || p.failing[k] == offline }

// healthy reports whether a keeper is honest and has no failure in the term to which a period belongs, and is not cut
// off by a split while the period and its report are made.
func (p *plan) healthy(k *keeper, period records.Period) bool {
	if p.splitAt.from.Before(p.sim.begins(period+2)) && p.splitAt.to.After(p.sim.begins(period)) {
		return false
	}
	t := int(period-p.sim.first) / termPeriods
	return k.collusion == nil && !k.equivocator && (period < p.sim.first || t >= len(p.terms) || !p.terms[t][k.place])
}
