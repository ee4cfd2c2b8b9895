package check

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Shares of what is claimed on chain below which it is not given: drivers and systems keep some memory for themselves.
const (
	vramPercent = 90
	ramPercent  = 85
)

// maxTempC is where a GPU counts as overheated.
const maxTempC = 100

// JudgeInventory compares an inventory with the chain. mismatches are facts about the GPUs that no honest node of that
// specification shows, and cost stake; ailments do not. holder finds the node that has claimed a device. Whose claims
// others have taken or hold still is not judged by who holds them: that is for evidence to decide.
func JudgeInventory(inv *messages.Inventory, n *market.Node, m *market.Model, holder func(device [32]byte) (solana.PublicKey, bool)) (mismatches, ailments []string) {
	differs := func(format string, args ...any) { mismatches = note(mismatches, format, args...) }
	ails := func(format string, args ...any) { ailments = note(ailments, format, args...) }
	if len(inv.GPUs) < int(n.Spec.Gpus) {
		differs("%d GPUs of %d", len(inv.GPUs), n.Spec.Gpus)
	}
	if inv.Simulated != (n.Spec.Simulated == 1) {
		differs("simulated is %t, registered as %t", inv.Simulated, n.Spec.Simulated == 1)
	}
	held := 0
	for i, g := range inv.GPUs {
		if !market.DeviceOfModel(class.GPUs().Device("", g.Name), g.Name, m.ModelName()) {
			differs("GPU %d is %s, not %s", i, printable.Text(g.Name), m.ModelName())
		}
		if g.VRAMMiB*100 < uint64(n.Spec.VramMib)*vramPercent {
			differs("GPU %d has %d MiB of %d", i, g.VRAMMiB, n.Spec.VramMib)
		}
		if owner, ok := holder(g.Identity); ok && owner == n.Address {
			held++
		} else if ok && n.ClaimsMissing == 0 {
			differs("GPU %d is claimed by node %s", i, owner)
		}
		if g.TempC > maxTempC {
			ails("GPU %d at %d °C", i, g.TempC)
		}
		if g.MIG {
			ails("GPU %d is split in instances (MIG)", i)
		}
		if g.Fault == messages.NoAnswer {
			ails("GPU %d does not answer by the node's own word", i)
		} else if g.Fault != 0 {
			ails("GPU %d has a fault by the node's own word, Xid %d", i, g.Fault)
		}
		if g.ECCErrors > 0 {
			ails("GPU %d has %d uncorrected memory errors", i, g.ECCErrors)
		}
	}
	if registered := int(n.Spec.Gpus) - int(n.ClaimsMissing); held < registered && len(mismatches) == 0 {
		differs("%d of %d registered devices are there", held, registered)
	}
	if inv.CPUCores < n.Spec.CpuCores {
		ails("%d processor cores of %d", inv.CPUCores, n.Spec.CpuCores)
	}
	if inv.RAMMiB*100 < uint64(n.Spec.RamMib)*ramPercent {
		ails("%d MiB of memory of %d", inv.RAMMiB, n.Spec.RamMib)
	}
	if inv.CUDA < n.Spec.Cuda {
		ails("the driver has CUDA %s of %s", market.CUDA(inv.CUDA), market.CUDA(n.Spec.Cuda))
	}
	return mismatches, ailments
}

// maxNotes bounds what is noted of one inventory: the first ones say enough.
const maxNotes = 8

func note(notes []string, format string, args ...any) []string {
	switch len(notes) {
	case maxNotes:
		return append(notes, "and more")
	case maxNotes + 1:
		return notes
	}
	return append(notes, fmt.Sprintf(format, args...))
}

// ShownRoot is the device root that an inventory shows. For a node that holds the claims of all its GPUs it is over
// those, whatever else the machine has; for another it is over what is shown.
func ShownRoot(inv *messages.Inventory, n *market.Node, holder func(device [32]byte) (solana.PublicKey, bool)) [32]byte {
	var shown [][32]byte
	for _, g := range inv.GPUs {
		owner, ok := holder(g.Identity)
		if n.ClaimsMissing > 0 || ok && owner == n.Address {
			shown = append(shown, g.Identity)
		}
	}
	return market.DeviceRoot(shown)
}

// LeaseUp reports whether a node serves a lease that runs on chain, by its own answer. A job that ended or could not be
// started is not the node's failure: its time was there to be used.
func LeaseUp(l *messages.Liveness, lease solana.PublicKey) bool {
	for _, s := range l.Leases {
		if solana.PublicKey(s.Lease) != lease {
			continue
		}
		switch s.State {
		case messages.LeaseWaiting, messages.LeaseRunning, messages.LeaseExited, messages.LeaseBroken:
			return true
		}
		return false
	}
	return false
}
