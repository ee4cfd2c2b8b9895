package work

import (
	"math"
	"time"
)

// Ops is the number of multiplications and additions in a product of order n: 2n³.
func Ops(n int) float64 { return 2 * float64(n) * float64(n) * float64(n) }

// Policy is the bound that a GPU model sets: the order of the product and the time between sending the challenge and
// holding the claim, in milliseconds, round trip included.
type Policy struct {
	N       int
	BoundMS uint32
}

// Timing is the outcome of a timed proof, in the units of a check statement.
type Timing struct {
	Passed bool
	// TFLOPSx10 is throughput in tenths of 10¹² operations a second, rounded to the nearest; a processor at a small
	// order gives 0.
	TFLOPSx10 uint32
	// LatencyMS is the elapsed time, rounded up.
	LatencyMS uint32
	// GOPS is the same throughput in 10⁹ operations a second, for people.
	GOPS float64
}

// Judge measures elapsed against the policy.
func (p Policy) Judge(elapsed time.Duration) Timing {
	ms := clampU32(math.Ceil(float64(elapsed) / float64(time.Millisecond)))
	t := Timing{LatencyMS: ms, TFLOPSx10: TFLOPSx10(p.N, elapsed), GOPS: GOPS(p.N, elapsed)}
	t.Passed = elapsed > 0 && elapsed <= time.Duration(p.BoundMS)*time.Millisecond
	return t
}

// TFLOPSx10 is 2n³/t in tenths of 10¹² operations a second, rounded; 0 if elapsed is not positive.
func TFLOPSx10(n int, elapsed time.Duration) uint32 {
	return clampU32(math.Round(GOPS(n, elapsed) / 100))
}

// GOPS is 2n³/t in 10⁹ operations a second; 0 if elapsed is not positive.
func GOPS(n int, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	return Ops(n) / elapsed.Seconds() / 1e9
}

func clampU32(v float64) uint32 {
	switch {
	case v <= 0 || math.IsNaN(v):
		return 0
	case v >= math.MaxUint32:
		return math.MaxUint32
	default:
		return uint32(v)
	}
}
