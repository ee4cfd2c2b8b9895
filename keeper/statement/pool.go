package statement

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/records"
)

// MaxPerKeeper bounds what one keeper may say about one period.
const MaxPerKeeper = 200_000

var (
	// ErrTooMany: the keeper has said more about a period than any keeper needs to.
	ErrTooMany = errors.New("too many statements of one keeper for one period")
	// ErrEquivocation: the keeper has signed two different statements about the same thing. Both are kept, once.
	ErrEquivocation = errors.New("keeper contradicts itself")
)

// Pool holds verified statements by period. It is safe for concurrent use.
//
// Of a keeper that contradicts itself in a period it keeps one pair that shows it, and one whose statements are opposite,
// which the chain takes as proof. More would show nothing new, so that lies do not fill the memory.
type Pool struct {
	// Contradicted, if not nil, is called with the two statements of each pair that is kept; set it before the first Add.
	Contradicted func(one, other Signed)
	// Added, if not nil, is called with each statement that was not held; set it before the first Add.
	Added func(Signed)

	mu      sync.RWMutex
	periods map[records.Period]*period
}

type period struct {
	all    map[entry]Signed
	byKey  map[Key]records.CheckStatement
	counts map[solana.PublicKey]int
	liars  map[solana.PublicKey]lies
}

// lies are the pairs that are kept of a keeper.
type lies struct{ any, opposite bool }

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

// Useless reports whether Add would refuse a statement since enough of the keeper's contradictions are held.
func (p *Pool) Useless(s Signed) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	q, ok := p.periods[s.Statement.Period]
	if !ok {
		return false
	}
	old, said := q.byKey[s.Key()]
	return said && old != s.Statement && !q.shows(old, s)
}

// shows reports whether a statement that contradicts one that is held adds to what is known of its keeper.
func (q *period) shows(old records.CheckStatement, s Signed) bool {
	known := q.liars[s.Keeper]
	return !known.any || !known.opposite && old.Passed != s.Statement.Passed
}

// Add takes a verified statement and reports whether it is new.
// Errors: ErrTooMany; ErrEquivocation, with the statement taken all the same. A contradiction that shows nothing new is
// passed over without a word.
func (p *Pool) Add(s Signed) (bool, error) {
	added, contradicts, err := p.add(s)
	if added && p.Added != nil {
		p.Added(s)
	}
	if contradicts != nil && p.Contradicted != nil {
		p.Contradicted(*contradicts, s)
	}
	return added, err
}

// add returns the statement that a kept one contradicts, too.
func (p *Pool) add(s Signed) (added bool, contradicts *Signed, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q, ok := p.periods[s.Statement.Period]
	if !ok {
		q = &period{map[entry]Signed{}, map[Key]records.CheckStatement{}, map[solana.PublicKey]int{}, map[solana.PublicKey]lies{}}
		p.periods[s.Statement.Period] = q
	}
	e := entry{s.Keeper, s.Statement}
	if _, ok := q.all[e]; ok {
		return false, nil, nil
	}
	old, said := q.byKey[s.Key()]
	if said {
		if !q.shows(old, s) {
			return false, nil, nil
		}
		err = fmt.Errorf("keeper %s about node %s at %d: %w", s.Keeper, s.Statement.Node, s.Statement.CheckedAt, ErrEquivocation)
	} else if q.counts[s.Keeper] >= MaxPerKeeper {
		return false, nil, fmt.Errorf("keeper %s, period %d: %w", s.Keeper, s.Statement.Period, ErrTooMany)
	}
	q.counts[s.Keeper]++
	q.all[e] = s
	if !said {
		q.byKey[s.Key()] = s.Statement
		return true, nil, nil
	}
	known := q.liars[s.Keeper]
	q.liars[s.Keeper] = lies{any: true, opposite: known.opposite || old.Passed != s.Statement.Passed}
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
