package match

import (
	"math"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// index holds nodes at their prices, with their providers and models. Changes are only noted; update applies them.
type index struct {
	rows      map[solana.PublicKey]*row
	owners    map[solana.PublicKey]*owner
	models    map[uint16]*market.Model
	groups    []*group // by model, in no order
	groupOf   map[uint16]*group
	sites     []*site  // by number; nil where one is spare, and 0 is none
	spare     []uint32 // numbers
	siteOf    map[[16]byte]*site
	regions   [][16]byte // by number
	regionOf  map[[16]byte]uint32
	now       int64
	started   bool
	due       dueHeap
	dirty     []*row
	ownerNote []*owner
	search    search // reused
}

// row is one node.
type row struct {
	key   solana.PublicKey
	node  *market.Node // nil once removed
	dirty bool

	owner   *owner
	ownerAt int // in owner.rows

	placed  bool
	e       entry
	plain   uint64 // the score where the node's guarantee ends before the work; of no meaning unless plainOK
	plainOK bool
	free    uint8
	class   *class
	here    *class // of the nodes of its site
	keyedAt int64  // when it was last looked at whether and where to place it
	until   int64  // from when on reputation, tier or guarantee is another; MaxInt64 for never
	dueAt   int    // in the heap, -1 outside
}

// owner is a provider with its nodes; provider is nil where it is not known.
type owner struct {
	key      solana.PublicKey
	provider *market.Provider
	noted    bool
	ok       bool // as the rows were placed by
	rows     []*row
}

func newIndex() *index {
	return &index{
		rows: map[solana.PublicKey]*row{}, owners: map[solana.PublicKey]*owner{}, models: map[uint16]*market.Model{},
		groupOf: map[uint16]*group{}, sites: []*site{nil}, siteOf: map[[16]byte]*site{}, regionOf: map[[16]byte]uint32{},
	}
}

func (m *index) putNode(key solana.PublicKey, n *market.Node) {
	r, ok := m.rows[key]
	if !ok {
		r = &row{key: key, dueAt: -1}
		m.rows[key] = r
	}
	r.node = n
	m.touch(r)
}

func (m *index) removeNode(key solana.PublicKey) {
	if r, ok := m.rows[key]; ok {
		r.node = nil
		m.touch(r)
	}
}

func (m *index) putProvider(key solana.PublicKey, p *market.Provider) {
	o := m.owner(key)
	o.provider = p
	m.note(o)
}

func (m *index) removeProvider(key solana.PublicKey) {
	if o, ok := m.owners[key]; ok {
		o.provider = nil
		m.note(o)
	}
}

func (m *index) putModel(id uint16, model *market.Model) {
	m.models[id] = model
}

func (m *index) removeModel(id uint16) {
	delete(m.models, id)
}

func (m *index) touch(r *row) {
	if !r.dirty {
		r.dirty = true
		m.dirty = append(m.dirty, r)
	}
}

func (m *index) note(o *owner) {
	if !o.noted {
		o.noted = true
		m.ownerNote = append(m.ownerNote, o)
	}
}

func (m *index) owner(key solana.PublicKey) *owner {
	o, ok := m.owners[key]
	if !ok {
		o = &owner{key: key}
		m.owners[key] = o
	}
	return o
}

// update applies all noted changes and sets the clock.
func (m *index) update(now int64) {
	if m.started && now < m.now {
		for _, r := range m.rows {
			if r.keyedAt > now {
				m.touch(r)
			}
		}
	}
	m.now, m.started = now, true
	for len(m.due) > 0 && m.due[0].until <= now {
		m.touch(m.due.pop())
	}
	for _, o := range m.ownerNote {
		o.noted = false
		if ok := o.provider != nil; ok != o.ok {
			o.ok = ok
			for _, r := range o.rows {
				m.touch(r)
			}
		}
		m.forget(o)
	}
	m.ownerNote = m.ownerNote[:0]
	for _, r := range m.dirty {
		r.dirty = false
		m.replace(r)
	}
	m.dirty = m.dirty[:0]
}

// replace removes a row from its lists and adds it to those where it belongs now.
func (m *index) replace(r *row) {
	m.unplace(r)
	var o *owner
	if r.node != nil {
		o = m.owner(r.node.Provider)
	}
	if r.owner != o {
		m.setOwner(r, o)
	}
	if r.node == nil {
		delete(m.rows, r.key)
		return
	}
	if r.owner.ok && r.node.State() == market.NodeActive && r.node.ClaimsMissing == 0 && r.node.Covered() {
		m.place(r)
	}
}

func (m *index) setOwner(r *row, o *owner) {
	if old := r.owner; old != nil {
		last := len(old.rows) - 1
		old.rows[r.ownerAt] = old.rows[last]
		old.rows[r.ownerAt].ownerAt = r.ownerAt
		old.rows[last] = nil
		old.rows = old.rows[:last]
		m.forget(old)
	}
	if r.owner = o; o != nil {
		r.ownerAt = len(o.rows)
		o.rows = append(o.rows, r)
	}
}

// forget drops an owner that nothing refers to.
func (m *index) forget(o *owner) {
	if o.provider == nil && len(o.rows) == 0 && !o.noted {
		delete(m.owners, o.key)
	}
}

// validUntil is the first second after now at which a node's reputation or guarantee is another.
func validUntil(n *market.Node, now int64, rep uint16) int64 {
	until := reputationUntil(n, now, rep)
	if n.GuaranteeUntil(now) != 0 && n.GuaranteedUntil != math.MaxInt64 {
		until = min(until, n.GuaranteedUntil+1)
	}
	return until
}

// reputationUntil is the first second after now at which a node's reputation is another. With time it only grows, for as
// long as lost disputes wear off.
func reputationUntil(n *market.Node, now int64, rep uint16) int64 {
	record := n.ReputationInputs()
	hi := int64(math.MaxInt64)
	if record.DisputeLostAt < math.MaxInt64-market.FullAgeSecs {
		hi = record.DisputeLostAt + market.FullAgeSecs
	}
	if record.DisputeBPS == 0 || hi <= now || market.Reputation(record, hi) == rep {
		return math.MaxInt64
	}
	for lo := now; ; {
		mid := lo + int64(uint64(hi-lo)/2)
		switch {
		case mid == lo:
			return hi
		case market.Reputation(record, mid) == rep:
			lo = mid
		default:
			hi = mid
		}
	}
}

func (m *index) size() int {
	return len(m.rows) + len(m.owners) + len(m.groups) + len(m.groupOf) + len(m.siteOf) + len(m.due)
}
