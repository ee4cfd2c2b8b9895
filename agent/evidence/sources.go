package evidence

import (
	"context"
	"crypto/ed25519"
	"fmt"

	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/work"
)

// GPUReport is one GPU's evidence.
type GPUReport struct {
	Evidence attest.Evidence
	// Err is not nil if there is no evidence; Evidence has the instance all the same.
	Err error
}

// Attester asks GPUs for reports: host.Machine and host.GPUs are such.
type Attester interface {
	Attest(ctx context.Context, nonce [32]byte) ([]host.Attestation, error)
}

// GPUs makes evidence of the reports of a machine's GPUs.
func GPUs(a Attester) func(context.Context, [32]byte) ([]GPUReport, error) {
	return func(ctx context.Context, nonce [32]byte) ([]GPUReport, error) {
		list, err := a.Attest(ctx, nonce)
		if err != nil {
			return nil, err
		}
		out := make([]GPUReport, len(list))
		for i, one := range list {
			out[i] = gpuReport(one)
		}
		return out, nil
	}
}

func gpuReport(a host.Attestation) GPUReport {
	r := GPUReport{Evidence: attest.Evidence{Kind: attest.KindNVGPU, Instance: uint16(a.Index)}, Err: a.Err}
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

// WorkOptions of Work.
type WorkOptions struct {
	Prover work.Prover
	Key    ed25519.PrivateKey
	Domain [8]byte
	// Node is the node's account.
	Node [32]byte
	// Order of the product and the report period that it is made in.
	Order  int
	Period uint64
}

// Work makes a work proof's evidence.
func Work(ctx context.Context, nonce [32]byte, o WorkOptions) (attest.Evidence, error) {
	p, err := o.Prover.Prove(ctx, work.EvidenceSeed(nonce), o.Order)
	if err != nil {
		return attest.Evidence{}, fmt.Errorf("work proof: %w", err)
	}
	return work.NewEvidence(nonce, p, o.Domain, o.Node, o.Period, func(m []byte) ([64]byte, error) {
		return [64]byte(ed25519.Sign(o.Key, m)), nil
	})
}
