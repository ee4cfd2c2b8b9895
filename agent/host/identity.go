package host

import (
	"bytes"
	"crypto/sha256"
	"sort"
)

// DeviceID names one physical GPU on chain: sha256("gantry-device" ‖ UUID), the UUID as NVML writes it, for example
// "GPU-5c1…". It is the seed of the DeviceClaim account. A UUID has 122 random bits, so the hash does not give it away.
type DeviceID [32]byte

// NewDeviceID hashes a UUID.
func NewDeviceID(uuid string) DeviceID {
	return sha256.Sum256(append([]byte("gantry-device"), uuid...))
}

// DeviceRoot stands for a node's set of GPUs: the root of a Merkle tree over the identities in ascending order, each
// once. Leaf sha256(0x00 ‖ id), inner node sha256(0x01 ‖ left ‖ right), a last node without a partner moves up
// unchanged. All zero for no GPUs. It does not depend on the order in which NVML lists them.
func DeviceRoot(ids []DeviceID) [32]byte {
	sorted := append([]DeviceID(nil), ids...)
	sort.Slice(sorted, func(i, j int) bool { return bytes.Compare(sorted[i][:], sorted[j][:]) < 0 })
	var level [][32]byte
	for i, id := range sorted {
		if i > 0 && id == sorted[i-1] {
			continue
		}
		level = append(level, sha256.Sum256(append([]byte{0}, id[:]...)))
	}
	if len(level) == 0 {
		return [32]byte{}
	}
	for len(level) > 1 {
		var up [][32]byte
		for i := 0; i+1 < len(level); i += 2 {
			up = append(up, sha256.Sum256(append(append([]byte{1}, level[i][:]...), level[i+1][:]...)))
		}
		if len(level)%2 == 1 {
			up = append(up, level[len(level)-1])
		}
		level = up
	}
	return level[0]
}
