package market

import (
	"slices"

	"github.com/gantry-market/gantry/sdk/records"
)

// EvidenceSecs is how long after its period the evidence stands that a report names.
const EvidenceSecs = 2 * 86_400

// LeastEvidenceAge is the least that a policy may say that evidence is worth something for, seconds: what a report names
// stands for EvidenceSecs after its period, and no bundle is worth less long than the tier that rests on it. Periods are
// taken to be a day at most.
const LeastEvidenceAge = EvidenceSecs + 86_400

// keyRootAt is where an evidence hash names the keys of the bundle's GPUs.
const keyRootAt = 20

// EvidenceHash is how a bundle is named on chain: the first 20 bytes of its digest, then the first twelve of the root
// over the keys of its GPUs, so that the program knows which claims of keys tier 3 rests on. All of it is the digest
// where no GPU has shown a key.
func EvidenceHash(digest [32]byte, keys [][32]byte) [32]byte {
	if len(keys) > 0 {
		root := DeviceRoot(keys)
		copy(digest[keyRootAt:], root[:])
	}
	return digest
}

// NamesKeys reports whether an evidence hash is of a bundle whose GPUs have these keys.
func NamesKeys(evidenceHash [32]byte, keys [][32]byte) bool {
	return len(keys) > 0 && EvidenceHash(evidenceHash, keys) == evidenceHash
}

// StandingTier is what a tier whose evidence is good until expiry (unix seconds, included) is worth at now: afterwards
// no more than a claim. It is the twin of standing_tier in program/src/math/evidence.rs.
func StandingTier(tier uint8, expiry, now int64) uint8 {
	if now > expiry {
		return min(tier, 1)
	}
	return tier
}

// TierAt is the tier of the node's evidence at now.
func (n *Node) TierAt(now int64) uint8 { return StandingTier(n.Tier, n.TierUntil(), now) }

// TierUntil is until when the node's tier stands, unix seconds, included: tier 3 no longer than the claims of its GPUs'
// keys.
func (n *Node) TierUntil() int64 {
	if n.Tier == 3 {
		return min(n.EvidenceExpiry, n.KeysUntil)
	}
	return n.EvidenceExpiry
}

// TierAt is the tier of the device claim at now.
func (d *Device) TierAt(now int64) uint8 { return StandingTier(d.Tier, d.Expires, now) }

// DeviceRoot stands for a set of devices: the root of a tree over the identities in ascending order, each once, hashed
// as leaves of reports; zero for none. It is the twin of device_root in program/src/math/evidence.rs.
func DeviceRoot(devices [][32]byte) [32]byte {
	sorted := SortDevices(devices)
	leaves := make([]records.Hash, len(sorted))
	for i, d := range sorted {
		leaves[i] = records.LeafHash(d[:])
	}
	return records.NewTree(leaves).Root()
}

// SortDevices returns the identities in ascending order, each once, as the program wants them.
func SortDevices(devices [][32]byte) [][32]byte {
	sorted := slices.Clone(devices)
	slices.SortFunc(sorted, func(a, b [32]byte) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(sorted)
}
