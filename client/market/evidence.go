package market

import (
	"slices"

	"github.com/gantry-market/gantry/client/records"
)

// EvidenceSecs is how long after its period a report's evidence tier is valid.
const EvidenceSecs = 86_400

// StandingTier is what a tier whose evidence is good until expiry (unix seconds, included) is worth at now: afterwards
// no more than a claim. It is the twin of standing_tier in program/src/math/evidence.rs.
func StandingTier(tier uint8, expiry, now int64) uint8 {
	if now > expiry {
		return min(tier, 1)
	}
	return tier
}

// TierAt is the tier of the node's evidence at now.
func (n *Node) TierAt(now int64) uint8 { return StandingTier(n.Tier, n.EvidenceExpiry, now) }

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
