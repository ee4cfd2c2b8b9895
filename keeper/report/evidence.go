package report

import (
	"bytes"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/records"
)

// evidence sets tier and evidence hash. Keepers ask with challenges of their own, so each holds another bundle, and
// their tiers can differ by a revocation list that one of them lacks. The tier is the weighted lower median over the
// keepers whose check passed, if they have more than two thirds of the weight; otherwise the leaf says nothing of
// evidence: it has no hash, and its tier lowers no node's. The hash
// is of the bundle of one keeper among those that found exactly that tier: the one with the most weight, then the
// smallest key. Evidence that is found false, by the rule for all flags, leaves no tier; found false because of other
// devices, it is flagged as that.
func (b *builder) evidence(leaf *records.Leaf) {
	if leaf.Flags.Has(records.FlagEvidenceFailed) {
		leaf.Tier = 0
		var changed uint64
		for _, a := range b.accounts {
			if a.changed && !has(a.passed, records.CheckEvidence) {
				changed += a.by.weight
			}
		}
		if moreThan(changed, b.total, 2, 3) {
			leaf.Flags = leaf.Flags&^records.FlagEvidenceFailed | records.FlagDeviceChanged
		}
		return
	}
	var reported uint64
	b.values = b.values[:0]
	for _, a := range b.accounts {
		if has(a.passed, records.CheckEvidence) {
			reported += a.by.weight
			b.values = append(b.values, value{a.by.weight, uint32(a.tier)})
		}
	}
	if !moreThan(reported, b.total, 2, 3) {
		return
	}
	leaf.Tier = uint8(median(b.values))
	var holder solana.PublicKey
	var weight uint64
	for _, a := range b.accounts {
		if !has(a.passed, records.CheckEvidence) || a.tier != leaf.Tier {
			continue
		}
		key := a.by.keeper
		if a.by.weight > weight || a.by.weight == weight && bytes.Compare(key[:], holder[:]) < 0 {
			holder, weight, leaf.EvidenceHash = key, a.by.weight, [32]byte{}
			if a.evidence >= 0 {
				leaf.EvidenceHash = a.by.details[a.evidence]
			}
		}
	}
}
