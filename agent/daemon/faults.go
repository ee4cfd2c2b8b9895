package daemon

import (
	"context"
	"strings"
	"time"

	"github.com/gantry-market/gantry/agent/faults"
	"github.com/gantry-market/gantry/sdk/messages"
)

// repairedEvery is how often the agent looks whether its operator has said that a fault is repaired.
const repairedEvery = 2 * time.Second

// followFaults watches what the driver reports of the GPUs, until ctx ends. A machine of whose faults nothing can be
// learnt serves on: its checks tell.
func (a *Agent) followFaults(ctx context.Context) error {
	repaired, err := faults.ReadRepaired(a.cfg.RepairedPath())
	if err != nil {
		a.log.Warn().Err(err).Msg("what was repaired is not known; the agent takes all faults since the driver was loaded as standing")
	}
	done := make(chan struct{}, 2)
	source := func(what string, follow func() error) {
		defer func() { done <- struct{}{} }()
		if err := follow(); err != nil && ctx.Err() == nil {
			a.log.Warn().Err(err).Msg("faults of GPUs cannot be read from " + what)
		}
	}
	sources := 0
	if log := a.kernelLog(); log != "" {
		sources++
		go source("the kernel's log", func() error { return a.faults.FollowKernelLog(ctx, log, repaired) })
	}
	if !a.machine.Inventory.Simulated {
		sources++
		go source("NVML", func() error { return a.machine.FollowFaults(ctx, a.faults) })
	}
	tick := time.NewTicker(repairedEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			for range sources {
				<-done
			}
			return ctx.Err()
		case <-tick.C:
		}
		now, err := faults.ReadRepaired(a.cfg.RepairedPath())
		if err == nil && now != repaired {
			a.log.Info().Msg("the operator says that the GPUs are repaired; what the driver reported before is forgotten")
			a.faults.Clear()
			repaired = now
		}
	}
}

// kernelLog is where the driver's messages are read. Simulated devices have no driver.
func (a *Agent) kernelLog() string {
	if log := a.cfg.Simulation.KernelLog; log != "" || a.machine.Inventory.Simulated {
		return log
	}
	return faults.KernelLog
}

// claim is what the machine shows to keepers, with the faults of its GPUs.
func (a *Agent) claim(ctx context.Context) (messages.Inventory, error) {
	inv, err := a.machine.Claim(ctx)
	for i := range inv.GPUs {
		if code := a.faults.Broken(i); code != 0 {
			inv.GPUs[i].Fault = code
		}
	}
	return inv, err
}

// faultsOf says for people what a lease's customer should know of its GPUs.
func (a *Agent) faultsOf(mask uint64) string {
	var out []string
	for _, f := range a.faults.Of(mask) {
		out = append(out, f.String())
	}
	return strings.Join(out, "; ")
}
