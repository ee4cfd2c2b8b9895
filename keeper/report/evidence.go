package report

import (
	"bytes"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/records"
)

// evidence sets tier and evidence hash. Keepers ask with challenges of their own, so each holds another bundle,
// and their tiers can differ by a revocation list that one of them lacks. The tier is the weighted lower median over the
// keepers whose check passed, if they have more than two thirds of the weight; otherwise it stays what it was. The hash is
// of the bundle of one keeper among those that found exactly that tier: the one with the most weight, then the smallest key.
// Evidence that is found false, by the rule for all flags, leaves no tier; found false because of other devices, it is
// flagged as that.
func (x *builder) evidence(leaf *records.Leaf) {
	if leaf.Flags.Has(records.FlagEvidenceFailed) {
		leaf.Tier = 0
		var changed uint64
		for _, h := range x.about {
			if h.changed && !h.kind(h.said.passed, records.CheckEvidence) {
				changed += h.voice.weight
			}
		}
		if moreThan(changed, x.total, 2, 3) {
			leaf.Flags = leaf.Flags&^records.FlagEvidenceFailed | records.FlagDeviceChanged
		}
		return
	}
	var spoke uint64
	x.values = x.values[:0]
	for _, h := range x.about {
		if h.kind(h.said.passed, records.CheckEvidence) {
			spoke += h.voice.weight
			x.values = append(x.values, value{h.voice.weight, uint32(h.tier)})
		}
	}
	if !moreThan(spoke, x.total, 2, 3) {
		return
	}
	leaf.Tier = uint8(median(x.values))
	var holder solana.PublicKey
	var weight uint64
	for _, h := range x.about {
		if !h.kind(h.said.passed, records.CheckEvidence) || h.tier != leaf.Tier {
			continue
		}
		key := h.voice.keeper
		if h.voice.weight > weight || h.voice.weight == weight && bytes.Compare(key[:], holder[:]) < 0 {
			holder, weight, leaf.EvidenceHash = key, h.voice.weight, [32]byte{}
			if h.said.evidence >= 0 {
				leaf.EvidenceHash = h.voice.details[h.said.evidence]
			}
		}
	}
}
