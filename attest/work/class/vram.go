package class

import (
	"math"
	"time"

	"github.com/gantry-market/gantry/attest/work/vram"
)

// MaxRefill is the part of a fill that a machine may be able to recompute within the bound of a sweep.
const MaxRefill = 0.05

// Sweep is the shape of a fill of some bytes and the bound of its sweeps, with as many passes as keep what a machine
// with this class's integer rate can recompute within the bound below [MaxRefill].
func (c Class) Sweep(bytes uint64, network time.Duration) (vram.Shape, time.Duration) {
	bound := c.SweepBound(bytes, network)
	once := vram.RefillRate(c.Int32*1e12, 1)
	passes := math.Ceil(once * bound.Seconds() / (MaxRefill * float64(bytes)))
	return vram.ShapeFor(bytes, uint32(math.Min(vram.MaxPasses, math.Max(vram.DefaultPasses, passes)))), bound
}
