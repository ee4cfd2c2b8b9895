package report

import (
	"math"
	"slices"

	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/statement"
)

// count reads a set, node by node.
func (d *Tally) count(raw []byte) (*testimony, error) {
	t := &testimony{}
	var c counter
	err := statement.DecodeSet(d.frame, raw, func(s *records.CheckStatement) error {
		if len(t.said) == 0 || s.Node != d.nodes.keys[c.said.node] {
			c.close(d, t)
			c.open(d, t, s)
		}
		c.add(d, t, s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.close(d, t)
	t.at = make([]int32, len(d.nodes.keys))
	for i := range t.at {
		t.at[i] = -1
	}
	for i := range t.said {
		t.at[t.said[i].node] = int32(i)
	}
	t.said, t.leases, t.details = slices.Clip(t.said), slices.Clip(t.leases), slices.Clip(t.details)
	return t, nil
}

// counter adds up what a set says about the node that is read.
type counter struct {
	said       *said
	up         uint64
	leaseUp    uint64
	leaseDown  uint64
	measured   []uint32
	deviceAt   int64
	evidenceAt int64
}

func (c *counter) open(d *Tally, t *testimony, s *records.CheckStatement) {
	t.said = append(t.said, said{
		node: d.nodes.id(s.Node), leaseFrom: uint32(len(t.leases)), bound: d.frame.Secs, device: -1, evidence: -1,
	})
	*c = counter{said: &t.said[len(t.said)-1], measured: c.measured[:0], deviceAt: -1, evidenceAt: -1}
}

func (c *counter) close(d *Tally, t *testimony) {
	if c.said == nil {
		return
	}
	c.said.up, _ = clip(c.up, 0, d.frame.Secs)
	c.closeLease(d, t)
	if len(c.measured) > 0 {
		slices.Sort(c.measured)
		c.said.measured = c.measured[(len(c.measured)-1)/2]
	}
}

// clip bounds sums of covered seconds by the period: nobody covers more than there is.
func clip(up, down uint64, secs uint32) (uint32, uint32) {
	p := min(up, uint64(secs))
	return uint32(p), uint32(min(down, uint64(secs)-p))
}

func (c *counter) closeLease(d *Tally, t *testimony) {
	if c.said.leaseN > 0 {
		l := &t.leases[len(t.leases)-1]
		l.up, l.down = clip(c.leaseUp, c.leaseDown, d.frame.Secs)
	}
}

func (c *counter) add(d *Tally, t *testimony, s *records.CheckStatement) {
	x := c.said
	x.checks++
	if s.Passed {
		x.passes++
		x.passed |= 1 << s.Kind
	} else {
		x.failed |= 1 << s.Kind
	}
	switch s.Kind {
	case records.CheckLiveness:
		c.live(d, t, s)
	case records.CheckWork:
		if s.Passed {
			c.measured = append(c.measured, s.Measured)
		}
	case records.CheckInventory:
		if s.Passed && s.CheckedAt >= c.deviceAt {
			c.deviceAt, x.device = s.CheckedAt, t.detail(s.Detail)
		}
	case records.CheckEvidence:
		x.changed = x.changed || s.DeviceChanged()
		if s.Passed && s.CheckedAt >= c.evidenceAt {
			c.evidenceAt, x.evidence, x.tier = s.CheckedAt, t.detail(s.Detail), s.Tier()
		}
	}
}

// live counts liveness, of the node or of a lease; a lease's statements come one after the other.
func (c *counter) live(d *Tally, t *testimony, s *records.CheckStatement) {
	if !s.Lease.IsZero() {
		id := d.leases.id(s.Lease)
		if c.said.leaseN == math.MaxUint16 {
			return // no node has so many
		}
		if c.said.leaseN == 0 || t.leases[len(t.leases)-1].lease != id {
			c.closeLease(d, t)
			c.leaseUp, c.leaseDown = 0, 0
			t.leases = append(t.leases, leaseSaid{lease: id})
			c.said.leaseN++
		}
		if s.Passed {
			c.leaseUp += uint64(s.CoveredSeconds)
		} else {
			c.leaseDown += uint64(s.CoveredSeconds)
		}
		return
	}
	c.said.live = true
	c.said.covers = c.said.covers || s.CoveredSeconds > 0
	if s.Passed {
		c.up += uint64(s.CoveredSeconds)
		return
	}
	start := int64(uint64(d.frame.Period) * uint64(d.frame.Secs))
	c.said.bound = min(c.said.bound, uint32(s.CheckedAt-start))
}

func (t *testimony) detail(h [32]byte) int32 {
	if h == [32]byte{} {
		return -1
	}
	t.details = append(t.details, h)
	return int32(len(t.details) - 1)
}
