package market

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
)

// LatestEnd is the latest end that a lease of the order can have, short of extensions, by the terms that it was made
// under.
func (o *Order) LatestEnd() int64 {
	return satAdd(satAdd(o.AwardDeadline, int64(o.StartSecs)), int64(o.DurationSecs))
}

// Satisfies says why a node may not serve gpus GPUs of an order from now to end at the latest; nil when it may. It is
// the twin of Requirement::satisfied_by in program/src/state/order.rs, and returns the same codes. The node's status,
// price and stake are checked by Awardable.
func Satisfies(r *Requirement, n *Node, m *Model, gpus uint8, site [16]uint8, now, end int64) error {
	if n.FreeGPUs() < gpus {
		return bindings.ErrorCodeNotEnoughGpus
	}
	return suited(r, n, m, gpus, site, now, end)
}

// Models are ids of GPU models as a Requirement has them: ascending, each once, then zeros. It holds MaxOrderModels of them;
// what is more is left out. None stands for any model.
func Models(ids ...uint16) (out [MaxOrderModels]uint16) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	copy(out[:], ids)
	return out
}

// TakesModel reports whether GPUs of a model will do: the twin of Requirement::takes.
func TakesModel(r *Requirement, model uint16) bool {
	return AnyModel(r) || slices.Contains(r.Models[:], model)
}

// AnyModel reports whether a requirement names no model.
func AnyModel(r *Requirement) bool { return r.Models == [MaxOrderModels]uint16{} }

// NamedModels are the ids of the models that a requirement names; none for any.
func NamedModels(r *Requirement) []uint16 {
	return slices.DeleteFunc(slices.Clone(r.Models[:]), func(id uint16) bool { return id == 0 })
}

// suited is the same, whichever of the node's GPUs are free: the twin of Requirement::suited_by.
func suited(r *Requirement, n *Node, m *Model, gpus uint8, site [16]uint8, now, end int64) error {
	if !TakesModel(r, m.Id) || m.TflopsX10 < r.MinTflopsX10 || n.Spec.Model != m.Id || n.TermsAt < m.Since {
		return bindings.ErrorCodeUnsuitableModel
	}
	if n.ClaimsMissing > 0 {
		return bindings.ErrorCodeDevicesMissing
	}
	tier := n.TierAt(now)
	if n.Spec.VramMib < r.MinVramMib || n.Spec.Interconnect < r.MinInterconnect || tier < r.MinTier || tier < m.MinTier ||
		n.Spec.Simulated > r.AllowSimulated || n.Spec.Isolation < r.MinIsolation {
		return bindings.ErrorCodeUnsuitableHardware
	}
	if !ShareSuits(r, n, gpus) {
		return bindings.ErrorCodeUnsuitableShare
	}
	if !FiguresSuit(r, n, m.Calibrated()) {
		return bindings.ErrorCodeUnsuitableFigures
	}
	for i, wanted := range r.Region {
		if wanted != 0 && wanted != n.Spec.Region[i] {
			return bindings.ErrorCodeUnsuitableLocation
		}
	}
	if r.SameSite != 0 && (site == [16]uint8{} || site != n.Spec.Site) {
		return bindings.ErrorCodeUnsuitableLocation
	}
	if n.ShownUptime() < r.MinUptimeBps || n.Reputation(now) < r.MinReputationBps {
		return bindings.ErrorCodeUnsuitableReputation
	}
	if r.Guaranteed != 0 && n.GuaranteedUntil < end {
		return bindings.ErrorCodeUnsuitableGuarantee
	}
	return nil
}

// ShareSuits reports whether gpus GPUs of a node bring the cores, memory and disk that an order asks for, and whether its driver has
// the CUDA. A lease gets the part of the machine that its GPUs are of all. It is the twin of NodeSpec::shares.
func ShareSuits(r *Requirement, n *Node, gpus uint8) bool {
	enough := func(whole, wanted uint32) bool {
		return uint64(whole)*uint64(gpus) >= uint64(wanted)*uint64(n.Spec.Gpus)
	}
	return n.Spec.Cuda >= r.MinCuda && enough(n.Spec.CpuCores, r.MinCpuCores) && enough(n.Spec.RamMib, r.MinRamMib) && enough(n.Spec.DiskGib, r.MinDiskGib)
}

// Share is the part of a machine that comes with gpus of its GPUs: processor cores, MiB of memory, GiB of disk.
func (n *Node) Share(gpus uint8) (cores, ramMiB, diskGiB uint32) {
	part := func(whole uint32) uint32 { return uint32(uint64(whole) * uint64(gpus) / uint64(max(n.Spec.Gpus, 1))) }
	return part(n.Spec.CpuCores), part(n.Spec.RamMib), part(n.Spec.DiskGib)
}

// Awardable says why order_award would refuse the node for the order at now; nil when it would not. The keeper's own
// standing is not looked at.
func Awardable(mk *Market, o *Order, n *Node, p *Provider, m *Model, now int64) error {
	if err := takesAwards(mk, o, n, now); err != nil {
		return err
	}
	switch ask := n.AskFor(o.Interruptible != 0); {
	case ask == 0 && o.Interruptible != 0:
		return bindings.ErrorCodeNoSpotPrice
	case uint64(ask) > o.MaxPrice:
		return bindings.ErrorCodePriceTooHigh
	}
	return Biddable(mk, o, n, p, m, now)
}

// Biddable says why a bid of the node for a sealed order could not be awarded at now, whatever its price; nil when it
// could. A bid has a price of its own, so that the node's ask is not looked at.
func Biddable(mk *Market, o *Order, n *Node, p *Provider, m *Model, now int64) error {
	if err := takesAwards(mk, o, n, now); err != nil {
		return err
	}
	if p == nil || !n.Covered() {
		return bindings.ErrorCodeInsufficientStake
	}
	site := o.Site
	if o.NodesAwarded == 0 {
		site = n.Spec.Site
	}
	return Satisfies(&o.Requirement, n, m, o.GpusPerNode, site, now, o.LatestEnd())
}

func takesAwards(mk *Market, o *Order, n *Node, now int64) error {
	switch {
	case mk.Paused&PauseAwards != 0:
		return bindings.ErrorCodeAwardsPaused
	case o.State() != OrderOpen:
		return bindings.ErrorCodeWrongOrderStatus
	case now > o.AwardDeadline:
		return bindings.ErrorCodeTooLate
	case n.State() != NodeActive:
		return bindings.ErrorCodeWrongNodeStatus
	case o.UnservedBy(n.Address):
		return bindings.ErrorCodeNodeDeclined
	case n.TooNew(o.RegisteredBefore()):
		return bindings.ErrorCodeNodeTooNew
	case !n.HealthyFor(o.AskedAt(), now):
		return bindings.ErrorCodeNodeUnhealthy
	}
	return nil
}

// Candidate is a node that may be awarded, with what it is compared by.
type Candidate struct {
	Node       Node
	Score      uint64
	Reputation uint16
	Tie        [32]byte // sha256(order ‖ node)
}

// NewCandidate scores a node at now for an order whose work ends at end at the latest.
func NewCandidate(order solana.PublicKey, n Node, now, end int64) (Candidate, error) {
	rep := n.Reputation(now)
	score, err := Score(n.Ask(), rep, n.GuaranteeUntil(end))
	if err != nil {
		return Candidate{}, err
	}
	return Candidate{Node: n, Score: score, Reputation: rep, Tie: sha256.Sum256(append(order[:], n.Address[:]...))}, nil
}

// Compare orders candidates, the best first: the lowest score, then the higher reputation, then the smaller tie.
func (c Candidate) Compare(o Candidate) int {
	switch {
	case c.Score != o.Score:
		if c.Score < o.Score {
			return -1
		}
		return 1
	case c.Reputation != o.Reputation:
		if c.Reputation > o.Reputation {
			return -1
		}
		return 1
	}
	return bytes.Compare(c.Tie[:], o.Tie[:])
}
