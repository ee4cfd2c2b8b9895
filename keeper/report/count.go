package report

import (
	"math"
	"slices"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/records"
)

// count counts a set, node by node.
func (t *Tally) count(raw []byte) (*keeperCounts, error) {
	k := &keeperCounts{}
	var c counter
	err := statement.DecodeSet(t.frame, raw, func(s *records.CheckStatement) error {
		if len(k.nodes) == 0 || s.Node != t.nodes.keys[c.node.node] {
			c.close(t, k)
			c.open(t, k, s)
		}
		c.add(t, k, s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.close(t, k)
	k.at = make([]int32, len(t.nodes.keys))
	for i := range k.at {
		k.at[i] = -1
	}
	for i := range k.nodes {
		k.at[k.nodes[i].node] = int32(i)
	}
	k.nodes, k.leases, k.details = slices.Clip(k.nodes), slices.Clip(k.leases), slices.Clip(k.details)
	return k, nil
}

// counter adds up the statements about the node that is read.
type counter struct {
	node       *nodeCounts
	up         uint64
	leaseUp    uint64
	leaseDown  uint64
	deviceAt   int64
	evidenceAt int64
}

func (c *counter) open(t *Tally, k *keeperCounts, s *records.CheckStatement) {
	k.nodes = append(k.nodes, nodeCounts{
		node: t.nodes.id(s.Node), firstLease: uint32(len(k.leases)), bound: t.frame.Secs, device: -1, evidence: -1,
	})
	*c = counter{node: &k.nodes[len(k.nodes)-1], deviceAt: -1, evidenceAt: -1}
}

func (c *counter) close(t *Tally, k *keeperCounts) {
	if c.node == nil {
		return
	}
	c.node.up, _ = clip(c.up, 0, t.frame.Secs)
	c.closeLease(t, k)
}

// clip bounds sums of covered seconds by the period: nobody covers more than there is.
func clip(up, down uint64, secs uint32) (uint32, uint32) {
	p := min(up, uint64(secs))
	return uint32(p), uint32(min(down, uint64(secs)-p))
}

func (c *counter) closeLease(t *Tally, k *keeperCounts) {
	if c.node.leaseN > 0 {
		l := &k.leases[len(k.leases)-1]
		l.up, l.down = clip(c.leaseUp, c.leaseDown, t.frame.Secs)
	}
}

func (c *counter) add(t *Tally, k *keeperCounts, s *records.CheckStatement) {
	x := c.node
	x.checks++
	if s.Passed {
		x.passes++
		x.passed |= 1 << s.Kind
	} else {
		x.failed |= 1 << s.Kind
	}
	switch s.Kind {
	case records.CheckLiveness:
		c.live(t, k, s)
	case records.CheckWork:
		x.work = later(x.work, s)
	case records.CheckNetwork:
		x.network = later(x.network, s)
	case records.CheckInventory:
		if s.Passed && s.CheckedAt >= c.deviceAt {
			c.deviceAt, x.device = s.CheckedAt, k.detail(s.Detail)
		}
	case records.CheckEvidence:
		x.changed = x.changed || s.DeviceChanged()
		if s.Passed && s.CheckedAt >= c.evidenceAt {
			c.evidenceAt, x.evidence, x.tier = s.CheckedAt, k.detail(s.Detail), s.Tier()
		}
	}
}

// later returns a check's figures, or those of an earlier one where it measured nothing: statements of one kind come in
// the order of time. One figure without the other says nothing.
func later(before records.Figures, s *records.CheckStatement) records.Figures {
	if s.Passed && s.Figures.First > 0 && s.Figures.Second > 0 {
		return s.Figures
	}
	return before
}

// live counts liveness, of the node or of a lease; a lease's statements come one after the other.
func (c *counter) live(t *Tally, k *keeperCounts, s *records.CheckStatement) {
	if !s.Lease.IsZero() {
		id := t.leases.id(s.Lease)
		if c.node.leaseN == math.MaxUint16 {
			return // no node has so many
		}
		if c.node.leaseN == 0 || k.leases[len(k.leases)-1].lease != id {
			c.closeLease(t, k)
			c.leaseUp, c.leaseDown = 0, 0
			k.leases = append(k.leases, leaseCounts{lease: id})
			c.node.leaseN++
		}
		if s.Passed {
			c.leaseUp += uint64(s.CoveredSeconds)
		} else {
			c.leaseDown += uint64(s.CoveredSeconds)
		}
		return
	}
	c.node.live = true
	c.node.covers = c.node.covers || s.CoveredSeconds > 0
	if s.Passed {
		c.up += uint64(s.CoveredSeconds)
		return
	}
	start := int64(uint64(t.frame.Period) * uint64(t.frame.Secs))
	c.node.bound = min(c.node.bound, uint32(s.CheckedAt-start))
}

func (k *keeperCounts) detail(h [32]byte) int32 {
	if h == [32]byte{} {
		return -1
	}
	k.details = append(k.details, h)
	return int32(len(k.details) - 1)
}
