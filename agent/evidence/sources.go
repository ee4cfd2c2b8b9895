package evidence

import (
	"context"

	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/collect"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/nvgpu"
)

// Attester asks GPUs for reports: host.Machine and host.GPUs are such.
type Attester interface {
	Attest(ctx context.Context, nonce [32]byte) ([]host.Attestation, error)
}

// GPUs makes evidence of the reports of a machine's GPUs.
func GPUs(a Attester) func(context.Context, [32]byte) ([]collect.GPUReport, error) {
	return func(ctx context.Context, nonce [32]byte) ([]collect.GPUReport, error) {
		list, err := a.Attest(ctx, nonce)
		if err != nil {
			return nil, err
		}
		out := make([]collect.GPUReport, len(list))
		for i, one := range list {
			out[i] = gpuReport(one)
		}
		return out, nil
	}
}

func gpuReport(a host.Attestation) collect.GPUReport {
	r := collect.GPUReport{Evidence: attest.Evidence{Kind: attest.KindNVGPU, Instance: uint16(a.Index)}, Err: a.Err}
	if a.Err != nil {
		return r
	}
	r.Evidence.Items, r.Err = nvgpu.Items(a.Report, a.Chain)
	return r
}

// Inventory is what package host found, as evidence.
func Inventory(h host.Inventory) inventory.Inventory {
	i := inventory.Inventory{
		Version: inventory.Version, Simulated: h.Simulated, Kernel: clean(h.Host.Kernel), Platform: clean(h.Host.Platform),
		Virtualization: clean(h.Host.Virtualization), CPU: clean(h.CPU.Model), Cores: max(0, h.CPU.Cores), RAMMiB: h.RAMMiB,
		Driver: clean(h.Driver.Version), NVML: clean(h.Driver.NVML), Confidential: clean(string(h.Driver.CC)), GPUs: []inventory.GPU{},
	}
	for _, g := range h.GPUs {
		i.GPUs = append(i.GPUs, inventory.GPU{
			Index: g.Index, Model: clean(g.Model), UUID: clean(g.UUID), VRAMMiB: g.VRAMMiB, PCI: clean(g.PCIBusID), MIG: g.MIG,
		})
	}
	return i
}

// clean keeps what an inventory may show.
func clean(s string) string {
	out := make([]rune, 0, len(s))
	for _, r := range s {
		if r >= ' ' && r < 0x7f && len(out) < 256 {
			out = append(out, r)
		}
	}
	return string(out)
}
