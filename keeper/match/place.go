package match

import (
	"bytes"
	"math"
	"slices"

	"github.com/gantry-market/gantry/sdk/market"
)

// maxFree is the most GPUs that a node's bitmap can hold.
const maxFree = 16

// entry is a node in a sorted list, with what a search compares without looking at the node. It is small, because an
// update moves the entries behind it.
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

// attrs are what all nodes of a class have in common, besides the model. Site is 0 in classes that do not tell sites
// apart.
type attrs struct {
	region, vram, site                       uint32
	interconnect, tier, simulated, isolation uint8
}

// class is the placed nodes of equal model and attributes, by free GPUs.
type class struct {
	attrs
	group *group
	table *table
	at    int    // in the table's columns
	held  uint32 // bit n: lists[n] is not empty
	lists [maxFree + 1]list
}

// table is classes by column. heads[g] has the least score of a node with g or more free GPUs, MaxUint64 if there is
// none, counts[g] how many there are.
type table struct {
	attrs   []attrs
	heads   [maxFree + 1][]uint64
	counts  [maxFree + 1][]uint32
	classes []*class
	of      map[attrs]*class
	// order has the heads so that the least are found first, of tables with so many classes that a search does not look at
	// all of them.
	ordered bool
	order   [maxFree + 1]tournament
}

// group is the classes of a model: of all its nodes, and of those with a site by site.
type group struct {
	model     uint16
	all, here table
	// Of the running query: whether the model is allowed in it, and the least tier that model and order ask for.
	allowed bool
	minTier uint8
	// Since when the model's terms are in force: a node that was told older ones gets nothing new.
	since int64
	// calibrated: its machines are held to figures; set by enter, too.
	calibrated bool
}

// site is where nodes stand together, with the classes of its nodes.
type site struct {
	name    [16]byte
	number  uint32 // in index.sites
	classes []*class
}

func (m *index) place(r *row) {
	n := r.node
	rep, tier := n.Reputation(m.now), n.TierAt(m.now)
	r.keyedAt, r.until = m.now, validUntil(n, m.now, rep)
	if until := n.TierUntil(); tier > 1 && until != math.MaxInt64 {
		r.until = min(r.until, until+1) // then it lapses
	}
	if r.until != math.MaxInt64 {
		m.due.push(r)
	}
	score, err := market.Score(n.Ask(), rep, n.GuaranteeUntil(m.now))
	if err != nil {
		return // it has no score now, so that it cannot be awarded; with more reputation it may have one
	}
	r.plain, err = market.Score(n.Ask(), rep, n.GuaranteeUntil(math.MaxInt64))
	r.plainOK = err == nil
	r.e = entry{score: score, price: n.Price, row: r, rep: rep, uptime: n.ShownUptime()}
	r.free = n.FreeGPUs()
	g := m.group(n.Spec.Model)
	a := attrs{region: m.region(n.Spec.Region), vram: n.Spec.VramMib, interconnect: n.Spec.Interconnect, tier: tier, simulated: n.Spec.Simulated, isolation: n.Spec.Isolation}
	r.class, _ = g.all.class(a, g)
	r.class.insert(r)
	if n.Spec.Site != [16]byte{} {
		s := m.site(n.Spec.Site)
		a.site = s.number
		c, made := g.here.class(a, g)
		if made {
			s.classes = append(s.classes, c)
		}
		c.insert(r)
		r.here = c
	}
	r.placed = true
}

func (m *index) unplace(r *row) {
	if r.dueAt >= 0 {
		m.due.remove(r)
	}
	if !r.placed {
		return
	}
	r.placed = false
	if c := r.class; c.remove(r) {
		m.dropGroup(c.group)
	}
	if c := r.here; c != nil && c.remove(r) {
		m.leaveSite(c)
		m.dropGroup(c.group)
	}
	r.class, r.here, r.e = nil, nil, entry{}
}

func (c *class) insert(r *row) {
	c.lists[r.free].insert(r.e)
	c.follow(int(r.free), 1)
}

// remove reports whether the class is gone with its last node.
func (c *class) remove(r *row) bool {
	c.lists[r.free].remove(r.e)
	c.follow(int(r.free), ^uint32(0))
	if c.table.counts[0][c.at] > 0 {
		return false
	}
	c.table.drop(c)
	return true
}

// follow brings the columns up to date after a change of the list of nodes with free GPUs.
func (c *class) follow(free int, change uint32) {
	head := uint64(math.MaxUint64)
	if free < maxFree {
		head = c.table.heads[free+1][c.at]
	}
	c.held &^= 1 << free
	if len(c.lists[free]) > 0 {
		c.held |= 1 << free
	}
	for g := free; g >= 0; g-- {
		if c.held&(1<<g) != 0 {
			head = min(head, c.lists[g][0].score)
		}
		c.table.setHead(g, c.at, head)
		c.table.counts[g][c.at] += change
	}
}

func (t *table) setHead(g, at int, head uint64) {
	if t.heads[g][at] == head {
		return
	}
	t.heads[g][at] = head
	if t.ordered {
		t.order[g].set(at, head)
	}
}

func (m *index) group(model uint16) *group {
	g, ok := m.groupOf[model]
	if !ok {
		g = &group{model: model}
		g.all.of, g.here.of = map[attrs]*class{}, map[attrs]*class{}
		g.here.ordered = true
		m.groupOf[model] = g
		m.groups = append(m.groups, g)
	}
	return g
}

func (m *index) dropGroup(g *group) {
	if len(g.all.classes)+len(g.here.classes) == 0 {
		delete(m.groupOf, g.model)
		m.groups = slices.DeleteFunc(m.groups, func(o *group) bool { return o == g })
	}
}

func (t *table) class(a attrs, g *group) (c *class, made bool) {
	if c, ok := t.of[a]; ok {
		return c, false
	}
	c = &class{attrs: a, group: g, table: t, at: len(t.classes)}
	t.of[a] = c
	t.classes, t.attrs = append(t.classes, c), append(t.attrs, a)
	for i := range t.heads {
		t.heads[i], t.counts[i] = append(t.heads[i], math.MaxUint64), append(t.counts[i], 0)
	}
	return c, true
}

// drop takes a class out; the last one takes its place.
func (t *table) drop(c *class) {
	last := len(t.classes) - 1
	delete(t.of, c.attrs)
	t.classes[c.at], t.attrs[c.at] = t.classes[last], t.attrs[last]
	t.classes[c.at].at = c.at
	t.classes[last] = nil
	t.classes, t.attrs = t.classes[:last], t.attrs[:last]
	for i := range t.heads {
		t.setHead(i, c.at, t.heads[i][last])
		t.setHead(i, last, math.MaxUint64)
		t.counts[i][c.at] = t.counts[i][last]
		t.heads[i], t.counts[i] = t.heads[i][:last], t.counts[i][:last]
	}
}

func (m *index) site(name [16]byte) *site {
	s, ok := m.siteOf[name]
	if !ok {
		if len(m.spare) > 0 {
			s = &site{name: name, number: m.spare[len(m.spare)-1]}
			m.spare = m.spare[:len(m.spare)-1]
			m.sites[s.number] = s
		} else {
			s = &site{name: name, number: uint32(len(m.sites))}
			m.sites = append(m.sites, s)
		}
		m.siteOf[name] = s
	}
	return s
}

// leaveSite takes an empty class out of its site, and the site with its last class. Numbers are used again.
func (m *index) leaveSite(c *class) {
	s := m.sites[c.site]
	s.classes = slices.DeleteFunc(s.classes, func(o *class) bool { return o == c })
	if len(s.classes) == 0 {
		delete(m.siteOf, s.name)
		m.sites[s.number] = nil
		m.spare = append(m.spare, s.number)
	}
}

// region numbers a region. Numbers are kept: regions are few, and a node's costs its owner a stake.
func (m *index) region(name [16]byte) uint32 {
	n, ok := m.regionOf[name]
	if !ok {
		n = uint32(len(m.regions))
		m.regionOf[name] = n
		m.regions = append(m.regions, name)
	}
	return n
}
