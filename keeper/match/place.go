package match

import (
	"bytes"
	"math"
	"slices"

	"github.com/gantry-market/gantry/client/market"
)

// maxFree is the most GPUs that a node's bitmap can hold.
const maxFree = 16

// entry is a node in a sorted list, with what a search compares without looking at the node.
type entry struct {
	score, price uint64
	row          *row
	rep, uptime  uint16
}

// before is the order of lists: preference, then address, so that each node has one place.
func (e entry) before(o entry) int {
	switch {
	case e.score != o.score:
		if e.score < o.score {
			return -1
		}
		return 1
	case e.rep != o.rep:
		if e.rep > o.rep {
			return -1
		}
		return 1
	}
	return bytes.Compare(e.row.key[:], o.row.key[:])
}

type list []entry

func (l *list) insert(e entry) {
	at, _ := slices.BinarySearchFunc(*l, e, entry.before)
	*l = slices.Insert(*l, at, e)
}

func (l *list) remove(e entry) {
	if at, ok := slices.BinarySearchFunc(*l, e, entry.before); ok {
		*l = slices.Delete(*l, at, at+1)
	}
}

// attrs are what all nodes of a class have in common, besides the model.
type attrs struct {
	region, vram                  uint32
	interconnect, tier, simulated uint8
}

// class is the placed nodes of equal model and attributes, by free GPUs.
type class struct {
	attrs
	group *group
	at    int // in the group's columns
	size  int
	lists [maxFree + 1]list
}

// group is the classes of a model, by column, and its sites.
type group struct {
	model   uint16
	attrs   []attrs
	heads   [maxFree + 1][]uint64 // [g][class]: the least score of a node with g or more free GPUs; MaxUint64 if none
	classes []*class
	classOf map[attrs]*class
	sites   []*siteList
}

// site is where nodes stand together, with a list for each model.
type site struct {
	name  [16]byte
	at    int // in Matcher.sites
	lists []*siteList
}

// siteList is the placed nodes of one model at one site.
type siteList struct {
	site            *site
	group           *group
	atSite, atGroup int
	nodes           list
}

func (m *Matcher) place(r *row) {
	n := r.node
	rep := n.Reputation(m.now)
	score, err := n.Score(m.now)
	if err != nil {
		return // its price cannot be compared, so that no award takes it
	}
	r.e = entry{score: score, price: n.Price, row: r, rep: rep, uptime: n.UptimeBps}
	r.free, r.keyedAt, r.until = n.FreeGPUs(), m.now, validUntil(n, m.now, rep)
	g := m.group(n.Spec.Model)
	r.class = g.class(attrs{m.region(n.Spec.Region), n.Spec.VramMib, n.Spec.Interconnect, n.Tier, n.Spec.Simulated})
	r.class.lists[r.free].insert(r.e)
	r.class.size++
	r.class.updateHeads(int(r.free))
	if n.Spec.Site != [16]byte{} {
		r.inSite = m.siteList(n.Spec.Site, g)
		r.inSite.nodes.insert(r.e)
	}
	r.placed = true
	if r.until != math.MaxInt64 {
		m.due.push(r)
	}
}

func (m *Matcher) unplace(r *row) {
	if !r.placed {
		return
	}
	r.placed = false
	if r.dueAt >= 0 {
		m.due.remove(r)
	}
	c := r.class
	c.lists[r.free].remove(r.e)
	c.size--
	c.updateHeads(int(r.free))
	if s := r.inSite; s != nil {
		s.nodes.remove(r.e)
		if len(s.nodes) == 0 {
			m.dropSite(s)
		}
	}
	if c.size == 0 {
		m.dropClass(c)
	}
	r.class, r.inSite, r.e = nil, nil, entry{}
}

// updateHeads follows a change of the list of nodes with free GPUs.
func (c *class) updateHeads(free int) {
	head := uint64(math.MaxUint64)
	if free < maxFree {
		head = c.group.heads[free+1][c.at]
	}
	for g := free; g >= 0; g-- {
		if l := c.lists[g]; len(l) > 0 {
			head = min(head, l[0].score)
		}
		c.group.heads[g][c.at] = head
	}
}

func (m *Matcher) group(model uint16) *group {
	g, ok := m.groupOf[model]
	if !ok {
		g = &group{model: model, classOf: map[attrs]*class{}}
		m.groupOf[model] = g
		m.groups = append(m.groups, g)
	}
	return g
}

func (g *group) class(a attrs) *class {
	c, ok := g.classOf[a]
	if !ok {
		c = &class{attrs: a, group: g, at: len(g.classes)}
		g.classOf[a] = c
		g.classes, g.attrs = append(g.classes, c), append(g.attrs, a)
		for i := range g.heads {
			g.heads[i] = append(g.heads[i], math.MaxUint64)
		}
	}
	return c
}

// dropClass takes an empty class out; the last one takes its place.
func (m *Matcher) dropClass(c *class) {
	g, last := c.group, len(c.group.classes)-1
	delete(g.classOf, c.attrs)
	g.classes[c.at], g.attrs[c.at] = g.classes[last], g.attrs[last]
	g.classes[c.at].at = c.at
	g.classes[last] = nil
	g.classes, g.attrs = g.classes[:last], g.attrs[:last]
	for i := range g.heads {
		g.heads[i][c.at] = g.heads[i][last]
		g.heads[i] = g.heads[i][:last]
	}
	m.dropGroup(g)
}

func (m *Matcher) dropGroup(g *group) {
	if len(g.classes)+len(g.sites) == 0 {
		delete(m.groupOf, g.model)
		m.groups = slices.DeleteFunc(m.groups, func(o *group) bool { return o == g })
	}
}

func (m *Matcher) siteList(name [16]byte, g *group) *siteList {
	s, ok := m.siteOf[name]
	if !ok {
		s = &site{name: name, at: len(m.sites)}
		m.siteOf[name] = s
		m.sites = append(m.sites, s)
	}
	for _, l := range s.lists {
		if l.group == g {
			return l
		}
	}
	l := &siteList{site: s, group: g, atSite: len(s.lists), atGroup: len(g.sites)}
	s.lists, g.sites = append(s.lists, l), append(g.sites, l)
	return l
}

// dropSite takes an empty list out of its site and its group, and the site with its last list.
func (m *Matcher) dropSite(l *siteList) {
	s, g := l.site, l.group
	s.lists[l.atSite] = s.lists[len(s.lists)-1]
	s.lists[l.atSite].atSite = l.atSite
	s.lists = s.lists[:len(s.lists)-1]
	g.sites[l.atGroup] = g.sites[len(g.sites)-1]
	g.sites[l.atGroup].atGroup = l.atGroup
	g.sites = g.sites[:len(g.sites)-1]
	if len(s.lists) == 0 {
		delete(m.siteOf, s.name)
		m.sites[s.at] = m.sites[len(m.sites)-1]
		m.sites[s.at].at = s.at
		m.sites = m.sites[:len(m.sites)-1]
	}
}

// region numbers a region. Numbers are kept: regions are few, and a node's costs its owner a stake.
func (m *Matcher) region(name [16]byte) uint32 {
	n, ok := m.regionOf[name]
	if !ok {
		n = uint32(len(m.regions))
		m.regionOf[name] = n
		m.regions = append(m.regions, name)
	}
	return n
}

// satisfies is what an entry's class cannot say, or all of it for an entry of a site's list.
func (s *search) satisfies(e entry) bool {
	if e.price > s.q.MaxPrice || e.uptime < s.r.MinUptimeBps || e.rep < s.r.MinReputationBps {
		return false
	}
	if s.bySite && (int(e.row.free) < int(s.q.GPUs) || !s.suits(&e.row.class.attrs)) {
		return false
	}
	return len(s.q.Except) == 0 || !slices.Contains(s.q.Except, e.row.key)
}

// suits compares a class with the order. The model has been looked at.
func (s *search) suits(a *attrs) bool {
	return a.vram >= s.r.MinVramMib && a.interconnect >= s.r.MinInterconnect && a.tier >= s.minTier &&
		a.simulated <= s.r.AllowSimulated && (s.anyRegion || s.regionOK[a.region])
}

func (s *search) allows(model *market.Model, id uint16) bool {
	return model != nil && model.Id == id && (s.r.Model == 0 || s.r.Model == id) && model.TflopsX10 >= s.r.MinTflopsX10
}
