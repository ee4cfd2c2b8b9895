package evidence

import (
	"context"

	"github.com/gantry-market/gantry/agent/hardware"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/tpm/device"
)

// Standard are the sources of a machine, without work: its own hardware at the usual places. The TPM and the TEE of a
// machine with simulated GPUs are real, so they are left out: nothing on it is to look like proof.
func Standard(inv hardware.Inventory, gpus Attester) Sources {
	s := Sources{
		Inventory: func(context.Context) (inventory.Inventory, error) { return Inventory(inv), nil },
		GPUs:      GPUs(gpus),
	}
	if inv.Simulated {
		return s
	}
	s.TEE = TSM{}.Report
	d := device.New(device.Options{})
	s.TPM = tpmSource{d, &device.Collector{Device: d}}
	return s
}

// tpmSource is a TPM with its key.
type tpmSource struct {
	*device.Device
	*device.Collector
}
