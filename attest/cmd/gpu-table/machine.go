package main

import (
	"context"
	"fmt"

	"github.com/gantry-market/gantry/attest/measure/check"
	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/attest/measure/processor"
)

const (
	// gate is the part of its threads' time that a machine must have had for a check to count: what other programs took is not the
	// machine's doing. A cheat would be refused by its own word here; a market has no such gate, and machines that rent
	// themselves out to others besides have lower figures.
	gate = 0.9
	// maxTries is how often a check is made until it counts.
	maxTries = 400
)

// machine is one of a number of threads.
type machine struct {
	threads int
	trials  [][]check.Result // of class.Checks checks each
	tried   int              // checks that were made
	void    int              // trials that were given up: no check of maxTries counted
}

// try makes trials with a machine.
func (m *machine) try(ctx context.Context, trials int, said func(done int)) error {
	d, err := processor.New(m.threads)
	if err != nil {
		return err
	}
	for len(m.trials)+m.void < trials {
		trial := make([]check.Result, 0, class.Checks)
		for tries := 0; len(trial) < class.Checks && tries < maxTries; tries++ {
			c, err := check.Device(ctx, d, class.Profile)
			if err != nil {
				return fmt.Errorf("machine of %d threads: %w", m.threads, err)
			}
			m.tried++
			if c.Busy >= gate*float64(m.threads) {
				trial, tries = append(trial, c), 0
			}
		}
		if len(trial) < class.Checks {
			m.void++
			continue
		}
		m.trials = append(m.trials, trial)
		said(len(m.trials))
	}
	return nil
}

// claims are the machine's trials held against a class.
type claims struct {
	passed      int
	means, best []float64 // of each trial
	single      []float64 // shares of all checks
	above       int       // single checks that reach the bound
}

func (m *machine) claims(c class.Class) claims {
	var out claims
	for _, trial := range m.trials {
		shares := make([]float64, len(trial))
		best := 0.0
		for i, one := range trial {
			shares[i] = c.Share(one.Figures)
			best = max(best, shares[i])
			if shares[i] >= class.Least {
				out.above++
			}
		}
		if class.Passes(shares) {
			out.passed++
		}
		out.means, out.best, out.single = append(out.means, class.Mean(shares)), append(out.best, best), append(out.single, shares...)
	}
	return out
}

// figures are all figures of the machine's checks.
func (m *machine) figures() (operations, bandwidth []float64) {
	for _, trial := range m.trials {
		for _, c := range trial {
			operations, bandwidth = append(operations, c.Figures.Operations), append(bandwidth, c.Figures.Bandwidth)
		}
	}
	return operations, bandwidth
}
