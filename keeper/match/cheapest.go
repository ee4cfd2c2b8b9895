package match

import (
	"bytes"
	"math/bits"
)

// standing is what the columns say of a site's nodes that suit an order: how many, and the least score.
type standing struct {
	count uint64
	head  uint64
}

// atSite looks where nodes of the order stand already.
func (m *index) atSite(s *search, name [16]byte) {
	site, ok := m.siteOf[name]
	if !ok {
		return
	}
	m.wanted(s, func(g *group) {
		for _, c := range site.classes {
			if c.group == g && s.suits(&c.attrs, g) {
				s.class(c)
			}
		}
	})
}

// mostSites is how many sites a search looks at one after the other before it compares all of them: most orders find theirs among
// the first.
const mostSites = 64

// bestSite is the best that a search for a site has found; site is nil before.
type bestSite struct {
	site   *site
	hi, lo uint64 // the sum of its scores
}

// beats reports whether no site can be better of which each node scores so much at least.
func (b *bestSite) beats(head uint64, nodes int) bool {
	h, l := bits.Mul64(head, uint64(nodes))
	return b.site != nil && (h > b.hi || h == b.hi && l > b.lo)
}

// cheapestSite looks for the site whose best nodes have the least sum of scores; equal sums go to the smaller name. A
// site costs at least its best node's score for each node, so the sites are looked at in that order, and only while
// that is not above what has been found.
func (m *index) cheapestSite(s *search) {
	for _, g := range m.groups {
		g.allowed = false
	}
	s.frontier = s.frontier[:0]
	m.wanted(s, func(g *group) {
		if tree := g.here.order[s.q.GPUs].least; len(tree) > 0 {
			s.frontier.push(branch{tree[1], g, 1})
		}
	})
	var best bestSite
	if !m.firstSites(s, &best) {
		m.allSites(s, &best)
	}
	s.picks, s.best = s.best, s.picks[:0]
	if best.site == nil {
		s.picks = s.picks[:0]
	}
}

// firstSites looks at sites in the order of their best nodes, and reports whether that has found the best one.
func (m *index) firstSites(s *search, best *bestSite) bool {
	if s.round++; s.round == 0 {
		clear(s.seen)
		s.round = 1
	}
	s.seen = append(s.seen, make([]uint32, max(0, len(m.sites)-len(s.seen)))...)
	for range 4 * mostSites {
		c, head, ok := s.frontier.next(s.q.GPUs, s.maxScore)
		if !ok || best.beats(head, s.q.Nodes) {
			return true
		}
		if !s.suits(&c.attrs, c.group) || s.seen[c.site] == s.round {
			continue
		}
		s.seen[c.site] = s.round
		m.look(s, best, m.sites[c.site])
	}
	return false
}

// allSites compares all sites by what columns say of them.
func (m *index) allSites(s *search, best *bestSite) {
	s.standing = append(s.standing[:0], make([]standing, len(m.sites))...)
	s.bounds = s.bounds[:0]
	m.wanted(s, func(g *group) {
		heads, attrs := g.here.heads[s.q.GPUs], g.here.attrs
		for i, count := range g.here.counts[s.q.GPUs] {
			if count == 0 || heads[i] > s.maxScore || !s.suits(&attrs[i], g) {
				continue
			}
			at := &s.standing[attrs[i].site]
			if at.count == 0 || heads[i] < at.head {
				at.head = heads[i]
			}
			at.count += uint64(count)
		}
	})
	for number := range s.standing {
		if s.standing[number].count >= uint64(s.q.Nodes) {
			s.bounds = append(s.bounds, uint32(number))
		}
	}
	s.heapify()
	for len(s.bounds) > 0 {
		number := s.pop()
		if best.beats(s.standing[number].head, s.q.Nodes) {
			break
		}
		m.look(s, best, m.sites[number])
	}
}

// look compares a site with the best one.
func (m *index) look(s *search, best *bestSite, here *site) {
	count := uint64(0)
	for _, c := range here.classes {
		if c.group.allowed && s.suits(&c.attrs, c.group) {
			count += uint64(c.table.counts[s.q.GPUs][c.at])
		}
	}
	if count < uint64(s.q.Nodes) {
		return
	}
	s.picks = s.picks[:0]
	for _, c := range here.classes {
		if c.group.allowed && s.suits(&c.attrs, c.group) {
			s.class(c)
		}
	}
	if len(s.picks) < s.q.Nodes {
		return
	}
	h, l := s.sum()
	if best.site == nil || h < best.hi || h == best.hi && (l < best.lo || l == best.lo && bytes.Compare(here.name[:], best.site.name[:]) < 0) {
		*best = bestSite{here, h, l}
		s.picks, s.best = s.best, s.picks
		if h == 0 {
			s.maxScore = min(s.maxScore, l) // no node of a better site costs more than this whole one
		}
	}
}

// sum of the picks' scores, in 128 bits.
func (s *search) sum() (hi, lo uint64) {
	for i := range s.picks {
		var carry uint64
		lo, carry = bits.Add64(lo, s.picks[i].score, 0)
		hi += carry
	}
	return hi, lo
}

// heapify and pop keep bounds a heap by the sites' heads: few sites are looked at, so sorting all of them would be most
// of the work.
func (s *search) heapify() {
	for i := len(s.bounds)/2 - 1; i >= 0; i-- {
		s.sink(i)
	}
}

func (s *search) pop() uint32 {
	top, last := s.bounds[0], len(s.bounds)-1
	s.bounds[0] = s.bounds[last]
	s.bounds = s.bounds[:last]
	s.sink(0)
	return top
}

func (s *search) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(s.bounds) {
			return
		}
		if right := child + 1; right < len(s.bounds) && s.standing[s.bounds[right]].head < s.standing[s.bounds[child]].head {
			child = right
		}
		if s.standing[s.bounds[i]].head <= s.standing[s.bounds[child]].head {
			return
		}
		s.bounds[i], s.bounds[child] = s.bounds[child], s.bounds[i]
		i = child
	}
}
