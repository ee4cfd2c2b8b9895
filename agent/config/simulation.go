package config

import (
	"fmt"
	"time"
)

// Simulation is how a node of a local network is false or broken; the zero value is an honest node. It is never read from the
// settings file. Package daemon applies it in one place, and refuses it on any cluster that is not local.
type Simulation struct {
	// SlowFactor above 1 makes the node take so many times as long for the least of a measurement.
	SlowFactor int
	// WrongWork makes up the bytes of every measurement; Unopened opens nothing of what was measured.
	WrongWork, Unopened bool
	// ClockAhead is how far the machine's date is ahead, negative where it is behind.
	ClockAhead time.Duration
	// SilenceFile has the node answer nobody while the file exists.
	SilenceFile string
	// LostFile loses the first of the simulated GPUs while the file exists.
	LostFile string
	// UsedFile has the number of a process that computes on all simulated GPUs, while the file exists.
	UsedFile string
	// TPM is the unix socket of a software TPM that stands for the machine's.
	TPM string
	// ReplayedQuote shows the TPM's first quote again and again.
	ReplayedQuote bool
	// Relayed: the node has no direct connection with any machine, as behind a router that gives each destination another port.
	Relayed bool
	// KernelLog is read for faults of simulated GPUs.
	KernelLog string
}

// check refuses values that mean nothing. Error: ErrConfig.
func (s Simulation) check() error {
	if s.SlowFactor < 0 {
		return fmt.Errorf("%w: --simulate-slow-factor %d; give how many times slower, such as 500", ErrConfig, s.SlowFactor)
	}
	return nil
}
