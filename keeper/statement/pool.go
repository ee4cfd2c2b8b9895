package statement

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/records"
)

// What MostOf allows a keeper to say about one period, whatever the market's size, and in bad weather.
const (
	mostAnyway = 1_000
	mostBad    = 100_000
)

// MostOf bounds the statements of one keeper about one period in a market with so many nodes and leases and periods of
// so many seconds, 300 bytes of memory each. Where lines are good, or down, a keeper makes up to six statements about a
// node and three about a lease, restarts once included. Where a line fails at random it makes up to one with each check,
// and again six with each restart; that is allowed for 100,000 statements, which is 1,000 nodes and leases at which
// every second check of an hour fails, with ten restarts. Beyond that, statements are not held: reports do not count what is held here, but the sets that
// keepers sign for, so that keepers that know of different numbers of nodes agree all the same.
func MostOf(nodes, leases int, secs uint32) int {
	return mostAnyway + 6*nodes + 3*leases + min(mostBad, (nodes+leases)*(26+int(secs)/30))
}

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
	// Most, if not nil, is how many statements of one keeper about one period are held; set it before the first Add.
	Most func() int

	mu      sync.RWMutex
	periods map[records.Period]map[solana.PublicKey]*said
}

// said is what one keeper has said about a period.
type said struct {
	held     map[subject]content
	more     []Signed // those that contradict what is held
	opposite bool     // one of them says "passed" where the held one says "failed", or the other way round
	told     bool     // that there are too many
}

// subject and content are a statement of one keeper about one period, with its signature.
type subject struct {
	node, lease solana.PublicKey
	kind        records.CheckKind
	checkedAt   int64
}

type content struct {
	domain    records.Domain
	passed    bool
	covered   uint32
	figures   records.Figures
	detail    [32]byte
	signature solana.Signature
}

func split(s Signed) (subject, content) {
	x := &s.Statement
	return subject{x.Node, x.Lease, x.Kind, x.CheckedAt},
		content{x.Domain, x.Passed, x.CoveredSeconds, x.Figures, x.Detail, s.Signature}
}

func (c content) join(keeper solana.PublicKey, p records.Period, about subject) Signed {
	return Signed{Keeper: keeper, Signature: c.signature, Statement: records.CheckStatement{
		Domain: c.domain, Node: about.node, Period: p, Kind: about.kind, Passed: c.passed, Figures: c.figures,
		CoveredSeconds: c.covered, CheckedAt: about.checkedAt, Lease: about.lease, Detail: c.detail,
	}}
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{periods: map[records.Period]map[solana.PublicKey]*said{}} }

// Has reports whether the statement is held, whatever its signature's bytes.
func (p *Pool) Has(s Signed) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	_, same := p.periods[s.Statement.Period][s.Keeper].find(s)
	return same
}

// find returns what is held about the same thing, if anything is, and whether the statement itself is held.
func (q *said) find(s Signed) (other *Signed, same bool) {
	if q == nil {
		return nil, false
	}
	about, _ := split(s)
	have, ok := q.held[about]
	if !ok {
		return nil, false
	}
	old := have.join(s.Keeper, s.Statement.Period, about)
	return &old, old.Statement == s.Statement || slices.ContainsFunc(q.more, func(m Signed) bool { return m.Statement == s.Statement })
}

// Drops reports whether Add would drop a statement: it contradicts one that is held, and enough such pairs of its keeper
// are kept, or too many statements of its keeper came before it.
func (p *Pool) Drops(s Signed) bool {
	most := p.most()
	p.mu.RLock()
	defer p.mu.RUnlock()
	q := p.periods[s.Statement.Period][s.Keeper]
	if q == nil {
		return false
	}
	other, same := q.find(s)
	if other == nil {
		return q.told && q.len() >= most
	}
	return !same && !q.provesMore(*other, s)
}

func (p *Pool) most() int {
	if p.Most == nil {
		return math.MaxInt
	}
	return p.Most()
}

func (q *said) len() int { return len(q.held) + len(q.more) }

// provesMore reports whether a statement that contradicts one that is held makes a pair of a kind that is not kept yet.
func (q *said) provesMore(old, s Signed) bool {
	return len(q.more) == 0 || !q.opposite && old.Statement.Passed != s.Statement.Passed
}

// Add takes a verified statement and reports whether it is new.
// Errors: ErrTooMany, once for a keeper and period; ErrEquivocation, with the statement taken all the same. What is
// dropped otherwise is dropped without an error: see Drops.
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
	most := p.most()
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.periods[s.Statement.Period]
	if of == nil {
		of = map[solana.PublicKey]*said{}
		p.periods[s.Statement.Period] = of
	}
	q := of[s.Keeper]
	if q == nil {
		q = &said{held: map[subject]content{}}
		of[s.Keeper] = q
	}
	other, same := q.find(s)
	switch {
	case same || other != nil && !q.provesMore(*other, s):
		return false, nil, nil
	case other != nil:
		q.more = append(q.more, s)
		q.opposite = q.opposite || other.Statement.Passed != s.Statement.Passed
		return true, other, fmt.Errorf("keeper %s about node %s at %d: %w", s.Keeper, s.Statement.Node, s.Statement.CheckedAt, ErrEquivocation)
	case q.len() >= most && q.told:
		return false, nil, nil
	case q.len() >= most:
		q.told = true
		return false, nil, fmt.Errorf("keeper %s, period %d, %d: %w", s.Keeper, s.Statement.Period, most, ErrTooMany)
	}
	about, what := split(s)
	q.held[about] = what
	return true, nil, nil
}

// Period returns all statements of a period in one order.
func (p *Pool) Period(n records.Period) []Signed {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var out []Signed
	for keeper, q := range p.periods[n] {
		out = slices.Grow(out, q.len())
		for about, what := range q.held {
			out = append(out, what.join(keeper, n, about))
		}
		out = append(out, q.more...)
	}
	slices.SortFunc(out, Compare)
	return out
}

// Len returns how many statements are held.
func (p *Pool) Len() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	n := 0
	for _, of := range p.periods {
		for _, q := range of {
			n += q.len()
		}
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
