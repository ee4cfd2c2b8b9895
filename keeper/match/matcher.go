package match

import (
	"sync"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// Matcher holds nodes, their providers and models. It is safe for concurrent use. Changes are only noted, which is
// cheap; the next search applies them.
type Matcher struct {
	mu sync.Mutex
	// asks has all nodes at their prices, spot those that take interruptible work at their spot prices.
	asks, spot *index
}

// New returns an empty matcher.
func New() *Matcher { return &Matcher{asks: newIndex(), spot: newIndex()} }

// PutNode adds or replaces a node. The node must not change afterwards.
func (m *Matcher) PutNode(key solana.PublicKey, n *market.Node) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asks.putNode(key, n)
	if as, ok := n.AsSpot(); ok {
		m.spot.putNode(key, as)
	} else {
		m.spot.removeNode(key)
	}
}

// RemoveNode takes a node out.
func (m *Matcher) RemoveNode(key solana.PublicKey) {
	m.each(func(x *index) { x.removeNode(key) })
}

// PutProvider adds or replaces a provider.
func (m *Matcher) PutProvider(key solana.PublicKey, p *market.Provider) {
	m.each(func(x *index) { x.putProvider(key, p) })
}

// RemoveProvider takes a provider out: its nodes wait until it is back.
func (m *Matcher) RemoveProvider(key solana.PublicKey) {
	m.each(func(x *index) { x.removeProvider(key) })
}

// PutModel adds or replaces a GPU model.
func (m *Matcher) PutModel(id uint16, model *market.Model) {
	m.each(func(x *index) { x.putModel(id, model) })
}

// RemoveModel takes a GPU model out: its nodes are in no answer until it is back.
func (m *Matcher) RemoveModel(id uint16) {
	m.each(func(x *index) { x.removeModel(id) })
}

func (m *Matcher) each(change func(*index)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m.asks)
	change(m.spot)
}

// Best returns the nodes that the order should go to at now (unix seconds), best first, or as many as there are if not
// enough. With one site asked for, it is the site where the order costs least in score; none unless all nodes are
// found.
func (m *Matcher) Best(q Query, now int64) []market.Candidate {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at(now, q.Interruptible).best(q)
}

// Suitable returns all nodes that the order could go to at now, in no order. They must not be changed. With one site
// asked for they are those that have a site, or those of the query's.
func (m *Matcher) Suitable(q Query, now int64) []*market.Node {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at(now, q.Interruptible).suitable(q)
}

// at is the index for work that is interruptible or not. Both apply what was noted: else the one that nobody asks would keep nodes
// that are gone.
func (m *Matcher) at(now int64, interruptible bool) *index {
	m.asks.update(now)
	m.spot.update(now)
	if interruptible {
		return m.spot
	}
	return m.asks
}

// Size is how many accounts the matcher holds or has lists for, apart from models: 0 when nodes and providers are gone.
func (m *Matcher) Size() (n int) {
	m.each(func(x *index) { n += x.size() })
	return n
}
