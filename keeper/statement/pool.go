package statement

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/records"
)

// MaxPerKeeper bounds the statements of one keeper about one period: some 80 MB of memory.
const MaxPerKeeper = 100_000

var (
	// ErrTooMany: the keeper has signed more about a period than any keeper needs to.
	ErrTooMany = errors.New("too many statements of one keeper for one period")
	// ErrEquivocation: the keeper has signed two different statements about the same thing. Both are kept, once.
	ErrEquivocation = errors.New("keeper equivocates")
)

// Pool holds verified statements by period. It is safe for concurrent use.
//
// Of a keeper that equivocates in a period it keeps one pair of contradicting statements, and one in which one
// statement says "passed" and the other "failed", which the program takes as a proof. More would prove nothing new, so
// that equivocation does not fill the memory.
type Pool struct {
	// Equivocation, if not nil, is called with the two statements of each pair that is kept; set it before the first
	// Add.
	Equivocation func(one, other Signed)
	// Added, if not nil, is called with each statement that was not held; set it before the first Add.
	Added func(Signed)

	mu      sync.RWMutex
	periods map[records.Period]*period
}

type period struct {
	all    map[entry]Signed
	byKey  map[Key]records.CheckStatement
	counts map[solana.PublicKey]int
	pairs  map[solana.PublicKey]pairs
}

// pairs says which contradicting pairs of a keeper are kept.
type pairs struct{ any, opposite bool }

type entry struct {
	keeper    solana.PublicKey
	statement records.CheckStatement
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{periods: map[records.Period]*period{}} }

// Has reports whether the statement is held, whatever its signature's bytes.
func (p *Pool) Has(s Signed) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if q, ok := p.periods[s.Statement.Period]; ok {
		_, ok = q.all[entry{s.Keeper, s.Statement}]
		return ok
	}
	return false
}

// ProvesNothingNew reports whether Add would drop a statement, since it contradicts one that is held and enough such
// pairs of its keeper are kept.
func (p *Pool) ProvesNothingNew(s Signed) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	q, ok := p.periods[s.Statement.Period]
	if !ok {
		return false
	}
	old, held := q.byKey[s.Key()]
	return held && old != s.Statement && !q.provesMore(old, s)
}

// provesMore reports whether a statement that contradicts one that is held makes a pair of a kind that is not kept yet.
func (q *period) provesMore(old records.CheckStatement, s Signed) bool {
	known := q.pairs[s.Keeper]
	return !known.any || !known.opposite && old.Passed != s.Statement.Passed
}

// Add takes a verified statement and reports whether it is new.
// Errors: ErrTooMany; ErrEquivocation, with the statement taken all the same. One that proves nothing new is dropped
// without an error.
func (p *Pool) Add(s Signed) (bool, error) {
	added, other, err := p.add(s)
	if added && p.Added != nil {
		p.Added(s)
	}
	if other != nil && p.Equivocation != nil {
		p.Equivocation(*other, s)
	}
	return added, err
}

// add also returns the statement that was held before and that a kept one contradicts.
func (p *Pool) add(s Signed) (added bool, contradicted *Signed, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q, ok := p.periods[s.Statement.Period]
	if !ok {
		q = &period{map[entry]Signed{}, map[Key]records.CheckStatement{}, map[solana.PublicKey]int{}, map[solana.PublicKey]pairs{}}
		p.periods[s.Statement.Period] = q
	}
	e := entry{s.Keeper, s.Statement}
	if _, ok := q.all[e]; ok {
		return false, nil, nil
	}
	old, held := q.byKey[s.Key()]
	if held {
		if !q.provesMore(old, s) {
			return false, nil, nil
		}
		err = fmt.Errorf("keeper %s about node %s at %d: %w", s.Keeper, s.Statement.Node, s.Statement.CheckedAt, ErrEquivocation)
	} else if q.counts[s.Keeper] >= MaxPerKeeper {
		return false, nil, fmt.Errorf("keeper %s, period %d: %w", s.Keeper, s.Statement.Period, ErrTooMany)
	}
	q.counts[s.Keeper]++
	q.all[e] = s
	if !held {
		q.byKey[s.Key()] = s.Statement
		return true, nil, nil
	}
	known := q.pairs[s.Keeper]
	q.pairs[s.Keeper] = pairs{any: true, opposite: known.opposite || old.Passed != s.Statement.Passed}
	first := q.all[entry{s.Keeper, old}]
	return true, &first, err
}

// Period returns all statements of a period in one order.
func (p *Pool) Period(n records.Period) []Signed {
	p.mu.RLock()
	defer p.mu.RUnlock()
	q, ok := p.periods[n]
	if !ok {
		return nil
	}
	out := make([]Signed, 0, len(q.all))
	for _, s := range q.all {
		out = append(out, s)
	}
	slices.SortFunc(out, Compare)
	return out
}

// Len returns how many statements are held.
func (p *Pool) Len() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	n := 0
	for _, q := range p.periods {
		n += len(q.all)
	}
	return n
}

// Drop forgets periods before the given one.
func (p *Pool) Drop(before records.Period) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := range p.periods {
		if n < before {
			delete(p.periods, n)
		}
	}
}
