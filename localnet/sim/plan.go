package sim

import (
	"slices"
	"time"

	"github.com/gantry-market/gantry/client/records"
)

// ailment is what is wrong with a keeper for a while, through no fault of its own.
type ailment string

const (
	crashed     ailment = "crashed"           // and back later, with its book
	apart       ailment = "cut from keepers"  // and from nobody else
	alone       ailment = "cut from everyone" // also from machines and the chain
	blind       ailment = "cut from the chain"
	slowly      ailment = "slow" // seconds for every message
	wrongClock  ailment = "clock off by up to 5 s"
	maxSkew             = 5 * time.Second
	termPeriods         = 4 // an ailment lasts for at most half of a term; in between all are well
)

var ailments = []ailment{crashed, apart, alone, blind, slowly, wrongClock}

// plan says who is faulty when. Faults come in terms: in each, as many keepers as are left beside the liars are drawn, and
// each has something for a while. Nobody else ails in that term, so that no report is made with more than Faults faulty.
type plan struct {
	w       *world
	dice    dice
	ailing  map[place]ailment
	terms   []map[place]bool // who ails in each
	liars   int
	twins   int
	sides   []int // of a split: which side each keeper is on; nil when there is none
	splitAt span
}

func newPlan(w *world) *plan {
	p := &plan{w: w, dice: newDice(w.o.Seed, "plan"), ailing: map[place]ailment{}}
	p.liars = w.o.Liars
	if p.liars < 0 {
		p.liars = p.dice.IntN(w.o.Faults + 1)
	}
	if left := w.o.Faults - p.liars; w.o.Liars < 0 && left > 0 && p.dice.chance(0.3) {
		p.twins = 1
	}
	order := p.dice.Perm(w.o.Keepers)
	c := newConspiracy(w, p.dice)
	for _, i := range order[:p.liars] {
		w.keepers[i].lie = c
		c.members = append(c.members, w.keepers[i])
	}
	for _, i := range order[p.liars:min(p.liars+p.twins, len(order))] {
		w.keepers[i].twin = true
	}
	w.result.Conspiracy, w.result.LiarsDrawn, w.result.TwinsDrawn = c.String(), p.liars, p.twins
	for t := 0; t*termPeriods < w.o.Periods; t++ {
		who := map[place]bool{}
		for _, i := range p.dice.Perm(w.o.Keepers) {
			if k := w.keepers[i]; len(who) < w.o.Faults-p.liars-p.twins && k.lie == nil && !k.twin {
				who[k.place] = true
			}
		}
		p.terms = append(p.terms, who)
	}
	if w.o.Split > 0 {
		latest := max(1, w.o.Periods-2)
		from := w.start.Add(time.Duration(p.dice.IntN(latest)) * w.o.Period).Add(p.dice.between(0, w.o.Period))
		p.splitAt = span{from, from.Add(p.dice.between(w.o.Period/2, w.o.Split))}
	}
	return p
}

// begin schedules everything.
func (p *plan) begin() {
	w := p.w
	for t, who := range p.terms {
		from := w.start.Add(time.Duration(t*termPeriods) * w.o.Period)
		keepers := make([]place, 0, len(who))
		for k := range who {
			keepers = append(keepers, k)
		}
		slices.Sort(keepers)
		for _, k := range keepers {
			what := ailments[p.dice.IntN(len(ailments))]
			begin := from.Add(p.dice.between(0, w.o.Period))
			end := begin.Add(p.dice.between(w.o.Period/10, w.o.Period))
			w.loop.At(begin, func() { p.fallIll(w.keepers[k], what) })
			w.loop.At(end, func() { p.recover(w.keepers[k]) })
		}
	}
	if !p.splitAt.from.IsZero() {
		w.loop.At(p.splitAt.from, func() {
			p.sides = make([]int, len(w.keepers))
			for i := range p.sides {
				p.sides[i] = p.dice.IntN(2)
			}
		})
		w.loop.At(p.splitAt.to, func() { p.sides = nil })
	}
	w.conspire()
}

func (p *plan) fallIll(k *keeper, what ailment) {
	p.ailing[k.place] = what
	p.w.result.Ailments[string(what)]++
	p.w.tell('f', uint64(k.place))
	switch what {
	case crashed:
		k.crash()
	case slowly:
		p.w.net.slow[k.place] = p.dice.between(time.Second, p.w.o.times().round/2)
	case wrongClock:
		k.skew = p.dice.between(-maxSkew, maxSkew)
	}
}

// recover makes a keeper well again. What it does not know by then is its own affair.
func (p *plan) recover(k *keeper) {
	what := p.ailing[k.place]
	delete(p.ailing, k.place)
	p.w.tell('r', uint64(k.place))
	switch what {
	case crashed:
		if err := k.start(); err != nil {
			p.w.fail(err)
		}
	case slowly:
		p.w.net.slow[k.place] = 0
	case wrongClock:
		k.skew = 0
	}
}

// cut reports whether nothing passes between two places now.
func (p *plan) cut(a, b place) bool {
	keepers := place(len(p.w.keepers))
	for _, x := range [2]place{a, b} {
		switch p.ailing[x] {
		case alone:
			return true
		case apart:
			if a < keepers && b < keepers {
				return true
			}
		}
	}
	return p.sides != nil && a < keepers && b < keepers && p.sides[a] != p.sides[b]
}

// offChain reports whether a keeper cannot reach the chain now.
func (p *plan) offChain(k place) bool { return p.ailing[k] == alone || p.ailing[k] == blind }

// well reports whether a keeper is honest and has nothing in the term to which a period belongs, and is not cut off by a
// split while the period and its report are made.
func (p *plan) well(k *keeper, period records.Period) bool {
	if p.splitAt.from.Before(p.w.begins(period+2)) && p.splitAt.to.After(p.w.begins(period)) {
		return false
	}
	t := int(period-p.w.first) / termPeriods
	return k.lie == nil && !k.twin && (period < p.w.first || t >= len(p.terms) || !p.terms[t][k.place])
}
