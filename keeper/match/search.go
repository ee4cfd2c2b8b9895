package match

import (
	"bytes"
	"crypto/sha256"
	"math"
	"math/bits"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// Query is an order as a search sees it.
type Query struct {
	// Order breaks ties.
	Order       solana.PublicKey
	Requirement market.Requirement
	// Interruptible work costs nodes' spot prices: those of the answer have them as their prices.
	Interruptible bool
	// GPUs are wanted free on each node, for at most MaxPrice (µUSDC per GPU-hour).
	GPUs     uint8
	MaxPrice uint64
	// AskedAt is when the work was ordered: a node that a report had called unhealthy by then is not wanted.
	AskedAt int64
	// End is the latest end of the work, unix seconds. A guarantee that ends before counts for nothing.
	End int64
	// Nodes is how many are wanted.
	Nodes int
	// Site is where nodes of the order stand already; nil where there are none. It counts only when the requirement
	// asks for one site.
	Site *[16]byte
	// RegisteredBefore is market.Order.RegisteredBefore.
	RegisteredBefore int64
	// Except are nodes that may not be in the answer: they have a lease of the order.
	Except []solana.PublicKey
	// UnservedBy are the first bytes of the addresses of nodes that may not be either: they declined the order or did not
	// start it.
	UnservedBy []uint64
}

// search is the state of one query, and the memory that queries share.
type search struct {
	q         *Query
	r         *market.Requirement
	anyRegion bool
	regionOK  []bool
	now       int64
	end       int64  // until when guarantees have to last, to count
	maxScore  uint64 // no node within the price scores more
	picks     []pick // the best so far, best first
	best      []pick // of the best site so far
	standing  []standing
	bounds    []uint32 // sites by what they could cost, see cheapest.go
	frontier  frontier
	seen      []uint32 // by site: the round in which it was looked at last
	round     uint32
}

type pick struct {
	entry
	tie    [32]byte
	hashed bool
}

func (m *index) best(q Query) []market.Candidate {
	s := &m.search
	s.begin(m, &q)
	switch {
	case q.Nodes <= 0 || int(q.GPUs) > maxFree:
	case q.Requirement.SameSite == 0:
		m.anywhere(s)
	case q.Site != nil:
		m.atSite(s, *q.Site)
	default:
		m.cheapestSite(s)
	}
	out := make([]market.Candidate, len(s.picks))
	for i := range s.picks {
		p := &s.picks[i]
		out[i] = market.Candidate{Node: *p.row.node, Score: p.score, Reputation: p.rep, Tie: s.tie(p)}
	}
	s.q, s.r = nil, nil
	return out
}

func (m *index) suitable(q Query) []*market.Node {
	if int(q.GPUs) > maxFree {
		return nil
	}
	s := &m.search
	s.begin(m, &q)
	var out []*market.Node
	m.wanted(s, func(g *group) {
		for i := range g.all.attrs {
			if !s.suits(&g.all.attrs[i], g) {
				continue
			}
			c := g.all.classes[i]
			for held := c.held >> q.GPUs << q.GPUs; held != 0; held &= held - 1 {
				for j := range c.lists[bits.TrailingZeros32(held)] {
					e := &c.lists[bits.TrailingZeros32(held)][j]
					if _, scored := s.score(e); scored && s.satisfies(e) && s.stands(e) {
						out = append(out, e.row.node)
					}
				}
			}
		}
	})
	s.q, s.r = nil, nil
	return out
}

// stands reports whether a node is where the order's nodes have to be.
func (s *search) stands(e *entry) bool {
	site := e.row.node.Spec.Site
	return s.r.SameSite == 0 || (site != [16]uint8{} && (s.q.Site == nil || site == *s.q.Site))
}

func (s *search) begin(m *index, q *Query) {
	s.q, s.r = q, &q.Requirement
	s.now, s.end = m.now, max(q.End, m.now) // a guarantee that is over is none
	s.picks, s.best = s.picks[:0], s.best[:0]
	s.maxScore = math.MaxUint64
	if worst, err := market.Score(market.PricePerHour(q.MaxPrice), 0, 0); err == nil {
		s.maxScore = worst
	}
	if s.anyRegion = q.Requirement.Region == [16]byte{}; s.anyRegion {
		return
	}
	s.regionOK = s.regionOK[:0]
	for i := range m.regions {
		ok := true
		for j, wanted := range q.Requirement.Region {
			ok = ok && (wanted == 0 || wanted == m.regions[i][j])
		}
		s.regionOK = append(s.regionOK, ok)
	}
}

// enter looks at a model, and sets the tier that it and the order ask for.
func (m *index) enter(s *search, g *group) bool {
	model := m.models[g.model]
	g.allowed = model != nil && model.Id == g.model && market.TakesModel(s.r, g.model) && model.TflopsX10 >= s.r.MinTflopsX10
	if g.allowed {
		g.minTier, g.since, g.calibrated = max(s.r.MinTier, model.MinTier), model.Since, model.Calibrated()
	}
	return g.allowed
}

// wanted calls f with the groups of the models that the order allows.
func (m *index) wanted(s *search, f func(*group)) {
	if !market.AnyModel(s.r) {
		for _, id := range s.r.Models {
			if g, ok := m.groupOf[id]; ok && m.enter(s, g) {
				f(g)
			}
		}
		return
	}
	for _, g := range m.groups {
		if m.enter(s, g) {
			f(g)
		}
	}
}

func (m *index) anywhere(s *search) {
	m.wanted(s, func(g *group) {
		bound := s.bound()
		for i, head := range g.all.heads[s.q.GPUs] {
			if head <= bound && s.suits(&g.all.attrs[i], g) {
				s.class(g.all.classes[i])
				bound = s.bound()
			}
		}
	})
}

// suits compares a class of an allowed model with the order.
func (s *search) suits(a *attrs, g *group) bool {
	return a.vram >= s.r.MinVramMib && a.interconnect >= s.r.MinInterconnect && a.tier >= g.minTier &&
		a.simulated <= s.r.AllowSimulated && a.isolation >= s.r.MinIsolation && (s.anyRegion || s.regionOK[a.region])
}

// satisfies checks what is not the same for all nodes of a class.
func (s *search) satisfies(e *entry) bool {
	// First what needs no look at the node.
	return e.price <= s.q.MaxPrice && e.uptime >= s.r.MinUptimeBps && e.rep >= s.r.MinReputationBps &&
		e.row.node.TermsAt >= e.row.class.group.since &&
		market.FiguresSuit(s.r, e.row.node, e.row.class.group.calibrated) && e.row.node.HealthyFor(s.q.AskedAt, s.now) && (s.r.Guaranteed == 0 || e.row.node.GuaranteedUntil >= s.end) &&
		market.ShareSuits(s.r, e.row.node, s.q.GPUs) && !e.row.node.TooNew(s.q.RegisteredBefore) &&
		(len(s.q.Except) == 0 || !slices.Contains(s.q.Except, e.row.key)) &&
		(len(s.q.UnservedBy) == 0 || !slices.Contains(s.q.UnservedBy, market.Head(e.row.key)))
}

// score is a node's for the order: that of a guarantee which ends before the work is worth nothing. A node without one cannot be
// awarded.
func (s *search) score(e *entry) (score uint64, ok bool) {
	if e.row.node.GuaranteedUntil < s.end {
		return e.row.plain, e.row.plainOK
	}
	return e.score, true
}

// class adds picks from a class that suits.
func (s *search) class(c *class) {
	for held := c.held >> s.q.GPUs << s.q.GPUs; held != 0; held &= held - 1 {
		s.scan(c.lists[bits.TrailingZeros32(held)])
	}
}

// bound is the score above which no node improves the picks.
func (s *search) bound() uint64 {
	if len(s.picks) < s.q.Nodes {
		return s.maxScore
	}
	return min(s.maxScore, s.picks[len(s.picks)-1].score)
}

// scan adds picks from a list, which is sorted by the scores of nodes whose guarantee lasts long enough. Others score no less.
func (s *search) scan(l list) {
	bound := s.bound()
	for i := range l {
		e := &l[i]
		if e.score > bound {
			return
		}
		if !s.satisfies(e) {
			continue
		}
		p := pick{entry: *e}
		var ok bool
		if p.score, ok = s.score(e); !ok {
			continue
		}
		if len(s.picks) == s.q.Nodes {
			if !s.better(&p, &s.picks[len(s.picks)-1]) {
				continue
			}
			s.picks = s.picks[:len(s.picks)-1]
		}
		s.picks = append(s.picks, p)
		for at := len(s.picks) - 1; at > 0 && s.better(&s.picks[at], &s.picks[at-1]); at-- {
			s.picks[at], s.picks[at-1] = s.picks[at-1], s.picks[at]
		}
		bound = s.bound()
	}
}

// better is the market's order of preference. It computes the hash only where score and reputation are equal.
func (s *search) better(a, b *pick) bool {
	if a.score != b.score {
		return a.score < b.score
	}
	if a.rep != b.rep {
		return a.rep > b.rep
	}
	ta, tb := s.tie(a), s.tie(b)
	return bytes.Compare(ta[:], tb[:]) < 0
}

func (s *search) tie(p *pick) [32]byte {
	if !p.hashed {
		var b [64]byte
		copy(b[:32], s.q.Order[:])
		copy(b[32:], p.row.key[:])
		p.tie, p.hashed = sha256.Sum256(b[:]), true
	}
	return p.tie
}
