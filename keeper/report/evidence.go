package report

import (
	"bytes"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/wire"
)

// agreeOnEvidence sets tier and evidence hash. Keepers ask with challenges of their own, so each holds another bundle,
// and their tiers can differ by a revocation list that one of them lacks. The tier is the weighted lower median over the
// keepers whose check passed, if they have more than half of the weight; otherwise it stays what it was. The hash is of
// the bundle of one keeper among those that found exactly that tier: the one with the most weight, then the smallest key.
// Evidence that is found false, by the rule for all flags, leaves no tier; found false because of other devices, it is
// flagged as that.
func agreeOnEvidence(leaf *wire.Leaf, tallies map[solana.PublicKey]*tally, total uint64) {
	if leaf.Flags.Has(wire.FlagEvidenceFailed) {
		leaf.Tier = 0
		var changed uint64
		for _, t := range tallies {
			if t.changed && t.passed[wire.CheckEvidence] == 0 {
				changed += t.weight
			}
		}
		if moreThan(changed, total, 2, 3) {
			leaf.Flags = leaf.Flags&^wire.FlagEvidenceFailed | wire.FlagDeviceChanged
		}
		return
	}
	var heard uint64
	var tiers []value
	for _, t := range tallies {
		if t.evidence != nil {
			heard += t.weight
			tiers = append(tiers, value{t.weight, uint32(t.evidence.Tier())})
		}
	}
	if !moreThan(heard, total, 1, 2) {
		return
	}
	leaf.Tier = uint8(median(tiers))
	var holder solana.PublicKey
	var weight uint64
	for keeper, t := range tallies {
		if t.evidence == nil || t.evidence.Tier() != leaf.Tier {
			continue
		}
		if t.weight > weight || t.weight == weight && bytes.Compare(keeper[:], holder[:]) < 0 {
			holder, weight, leaf.EvidenceHash = keeper, t.weight, t.evidence.Detail
		}
	}
}
