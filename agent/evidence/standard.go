package evidence

import (
	"context"

	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/collect"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/attest/tpm/device"
)

// Standard are the sources of a machine: its own hardware at the usual places, and the TPM that is given.
// The TEE of a machine with simulated GPUs is real, so it is left out: a simulated machine must not look proven.
func Standard(inv host.Inventory, gpus Attester, t *MachineTPM) collect.Sources {
	s := collect.Sources{
		Inventory: func(context.Context) (inventory.Inventory, error) { return Inventory(inv), nil },
		GPUs:      GPUs(gpus),
	}
	if t != nil {
		s.TPM = t
	}
	if !inv.Simulated {
		s.TEE = collect.TSM{}.Report
	}
	return s
}

// MachineTPM is the machine's TPM as a source of evidence, with a keeper's signed statement about it.
type MachineTPM struct {
	*device.Device
	// Statement is what the keeper that asks has signed about this TPM; nil for none.
	Statement []byte
}

// NewTPM is the TPM at its usual place, nil on machines with simulated GPUs.
func NewTPM(inv host.Inventory) *MachineTPM {
	if inv.Simulated {
		return nil
	}
	return &MachineTPM{Device: device.New(device.Options{})}
}

// Collect implements attest.Collector. A statement that cannot be read is left out.
func (m *MachineTPM) Collect(ctx context.Context, nonce [32]byte) ([]attest.Evidence, error) {
	c := device.Collector{Device: m.Device}
	if s, err := tpm.ParseStatement(m.Statement); err == nil {
		c.Statements = func() []tpm.Statement { return []tpm.Statement{s} }
	}
	return c.Collect(ctx, nonce)
}
