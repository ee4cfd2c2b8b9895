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
func (m *Matcher) atSite(s *search, name [16]byte) {
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

// cheapestSite looks for the site whose best nodes have the least sum of scores; equal sums go to the smaller name. A
// site costs at least its best node's score for each node, so the sites are looked at in that order, and only while
// that is not above what has been found.
func (m *Matcher) cheapestSite(s *search) {
	s.standing = append(s.standing[:0], make([]standing, len(m.sites))...)
	s.bounds = s.bounds[:0]
	for _, g := range m.groups {
		g.allowed = false
	}
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
	var hi, lo uint64
	var best *site
	for len(s.bounds) > 0 {
		number := s.pop()
		if h, l := bits.Mul64(s.standing[number].head, uint64(s.q.Nodes)); best != nil && (h > hi || h == hi && l > lo) {
			break
		}
		here := m.sites[number]
		s.picks = s.picks[:0]
		for _, c := range here.classes {
			if c.group.allowed && s.suits(&c.attrs, c.group) {
				s.class(c)
			}
		}
		if len(s.picks) < s.q.Nodes {
			continue
		}
		h, l := s.sum()
		if best == nil || h < hi || h == hi && (l < lo || l == lo && bytes.Compare(here.name[:], best.name[:]) < 0) {
			hi, lo, best = h, l, here
			s.picks, s.best = s.best, s.picks
			if hi == 0 {
				s.maxScore = min(s.maxScore, lo) // no node of a better site costs more than this whole one
			}
		}
	}
	s.picks, s.best = s.best, s.picks[:0]
	if best == nil {
		s.picks = s.picks[:0]
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
