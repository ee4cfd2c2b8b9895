// Package class says whether measured figures are those of a class: the rule by which machines are told apart, and the
// classes of processors by which it is proven where there is no GPU. Classes of GPUs stand on chain, in their models.
package class

import (
	"slices"

	"github.com/gantry-market/gantry/attest/measure"
)

const (
	// Checks is over how many checks the mean is taken.
	Checks = 6
	// Least is the least mean of shares with which a machine is of its class.
	Least = 0.7
)

// Class is what a machine may say that it is.
type Class struct {
	Name string
	// Operations is int8 operations a second, Bandwidth bytes a second under dependent access, of a machine of the class that does
	// nothing else.
	Operations, Bandwidth float64
}

// Share is the part of the class that a check showed: of the figure that is further behind, and 1 at most, so that one good
// check does not make up for bad ones.
func (c Class) Share(f measure.Figures) float64 {
	return min(1, f.Operations/c.Operations, f.Bandwidth/c.Bandwidth)
}

// Mean is the mean of shares; 0 of none.
func Mean(shares []float64) float64 {
	sum := 0.0
	for _, s := range shares {
		sum += s
	}
	return sum / float64(max(len(shares), 1))
}

// Passes reports whether the shares of [Checks] checks are those of the class.
func Passes(shares []float64) bool { return len(shares) == Checks && Mean(shares) >= Least }

// Processors are the classes of the proving ground: threads of the processor that Processor names. They are the medians of 120
// checks by `scripts/gpu-table.sh -calibrate`, of the bandwidth three quarters, which memory that others use costs.
var Processors = []Class{
	{Name: "cpu-1", Operations: 1.57e11, Bandwidth: 4.25e9},
	{Name: "cpu-2", Operations: 3.00e11, Bandwidth: 6.90e9},
}

// Processor is the model whose threads they are.
const Processor = "AMD EPYC"

// Profile is what processors are asked for: short, so that some checks find the processors free on a busy machine.
var Profile = measure.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 40, Resident: 2, WalkMs: 15, Lanes: 16}

// Median is the middle of figures, the lesser of two.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	return v[(len(v)-1)/2]
}
