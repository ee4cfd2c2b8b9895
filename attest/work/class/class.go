package class

import (
	"math"
	"time"

	"github.com/gantry-market/gantry/attest/work"
)

const (
	// Efficiency is the part of the data sheet's figures that a machine must reach.
	Efficiency = 0.4
	// Launch is what starting the kernels of one round and fetching its root may take.
	Launch = 200 * time.Microsecond
	// SweepEfficiency is the part of the memory bandwidth that a sweep must reach.
	SweepEfficiency = 0.25

	// operationsPerCompression: 64 rounds and 48 steps of the schedule of SHA-256 with three-operand additions and
	// logic.
	operationsPerCompression = 1800
)

// Class is a GPU model. Rates are per second, peak, dense (without the sparsity that the maker's larger figures
// assume).
type Class struct {
	// Name is the model's name on chain.
	Name string
	// Device is the name that the driver reports (NVML, cuDeviceGetName).
	Device string
	// Int8 is 10¹² dense int8 tensor operations, FP16 10¹² dense FP16 tensor operations.
	Int8, FP16 float64
	// Int32 is 10¹² 32-bit integer instructions over all lanes.
	Int32 float64
	// VRAMMiB is the nominal memory.
	VRAMMiB uint32
	// Bandwidth of the memory in GB (10⁹ bytes).
	Bandwidth float64
	// Source names the document.
	Source string
}

// Hashes is the number of SHA-256 compressions in a round of order n: n²/16 for the factors, three for each of n²/32
// chunks, two for each inner node.
func Hashes(n int) float64 {
	chunks := float64(n) * float64(n) / work.ChunkEntries
	return 2*chunks + 3*chunks + 2*(chunks-1)
}

// Ideal is the least time of one round by the data sheet.
func (c Class) Ideal(n int) time.Duration {
	s := work.Ops(n)/(c.Int8*1e12) + Hashes(n)*operationsPerCompression/(c.Int32*1e12)
	return time.Duration(s * 1e9)
}

// Bound is the most that rounds of order n may take, with an allowance for the network and the machine's start.
func (c Class) Bound(n, rounds int, network time.Duration) time.Duration {
	round := time.Duration(float64(c.Ideal(n))/Efficiency) + Launch
	return time.Duration(rounds)*round + network
}

// Rounds is the least number of rounds of order n for which the network allowance is at most a fraction share of the
// bound.
func (c Class) Rounds(n int, network time.Duration, share float64) int {
	round := c.Bound(n, 1, 0)
	return int(math.Max(1, math.Ceil(float64(network)*(1/share-1)/float64(round))))
}

// Policy is the bound for one round, in the units of the chain.
func (c Class) Policy(n int, network time.Duration) work.Policy {
	ms := math.Ceil(float64(c.Bound(n, 1, network)) / float64(time.Millisecond))
	return work.Policy{N: n, BoundMS: uint32(math.Min(ms, math.MaxUint32))}
}

// Separates reports whether a machine of class other at its data sheet's best misses the bound of c: whether time alone
// tells them apart.
func (c Class) Separates(other Class, n, rounds int, network time.Duration) bool {
	return time.Duration(rounds)*other.Ideal(n) > c.Bound(n, rounds, network)
}

// SweepBound is the most that a sweep over some bytes may take.
func (c Class) SweepBound(bytes uint64, network time.Duration) time.Duration {
	return time.Duration(float64(bytes)/(c.Bandwidth*SweepEfficiency)) + network // bytes/(GB/s) are nanoseconds
}

// ByName returns the class with this name on chain.
func ByName(name string) (Class, bool) {
	for _, c := range classes {
		if c.Name == name {
			return c, true
		}
	}
	return Class{}, false
}

// ByDevice returns the class whose driver reports this name and about this much memory: two classes may share a name.
func ByDevice(name string, mib uint32) (Class, bool) {
	for _, c := range classes {
		// Drivers keep some memory back, and never report more than there is.
		if c.Device == name && mib <= c.VRAMMiB && mib >= c.VRAMMiB-c.VRAMMiB/8 {
			return c, true
		}
	}
	return Class{}, false
}

// All returns the known classes in alphabetical order of their names.
func All() []Class { return append([]Class(nil), classes...) }
