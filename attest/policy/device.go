package policy

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/nvgpu"
)

// deviceSalt keeps identities of this market apart from hashes of the same identity elsewhere.
const deviceSalt = "gantry-device"

// DeviceHash is how a device is named on chain: sha256("gantry-device" ‖ identity). The salt is public: what keeps the
// identity secret is its own entropy, so identities must be random (a GPU's UUID has 122 random bits) or hashes of
// keys, never bare serial numbers.
func DeviceHash(identity []byte) [32]byte {
	return sha256.Sum256(append([]byte(deviceSalt), identity...))
}

// DeviceRoot stands for a set of devices: the root of the Merkle tree over their hashes in ascending order, each once.
// Leaf sha256(0x00 ‖ hash), inner node sha256(0x01 ‖ left ‖ right), a last node without a partner moves up unchanged,
// as in reports. All zero for no device.
func DeviceRoot(hashes [][32]byte) [32]byte {
	sorted := slices.Clone(hashes)
	slices.SortFunc(sorted, func(x, y [32]byte) int { return bytes.Compare(x[:], y[:]) })
	sorted = slices.Compact(sorted)
	if len(sorted) == 0 {
		return [32]byte{}
	}
	level := make([][32]byte, len(sorted))
	for i, h := range sorted {
		level[i] = sha256.Sum256(append([]byte{0}, h[:]...))
	}
	for len(level) > 1 {
		next := level[:0:0]
		for i := 0; i < len(level); i += 2 {
			if i+1 == len(level) {
				next = append(next, level[i])
				break
			}
			next = append(next, sha256.Sum256(slices.Concat([]byte{1}, level[i][:], level[i+1][:])))
		}
		level = next
	}
	return level[0]
}

// keyRootAt is where an evidence hash names the keys of GPUs.
const keyRootAt = 20

// GPUKeys are the hashes of the GPUs' own keys in a bundle, as certificates name them, in ascending order, each once. That
// they are genuine is for verifiers to say. None where there are more than a machine can have.
func GPUKeys(b *bundle.Bundle) [][32]byte {
	var keys [][32]byte
	reports := b.OfKind(attest.KindNVGPU)
	if len(reports) > inventory.MaxGPUs {
		return nil
	}
	for _, e := range reports {
		raw, _ := e.Item(nvgpu.ItemCertificates)
		if chain, err := nvgpu.ParseChain(raw); err == nil {
			id := chain.DeviceID()
			keys = append(keys, DeviceHash(id[:]))
		}
	}
	slices.SortFunc(keys, func(x, y [32]byte) int { return bytes.Compare(x[:], y[:]) })
	return slices.Compact(keys)
}

// EvidenceHash is how a bundle is named on chain: the first 20 bytes of its digest, then the first twelve of the root
// over its GPUs' keys, so that the program knows which GPUs the evidence is of; all of it is the digest where there are
// none. Error: attest.ErrMalformed.
func EvidenceHash(b *bundle.Bundle) ([32]byte, error) {
	hash, err := b.Digest()
	if err != nil {
		return hash, err
	}
	if keys := GPUKeys(b); len(keys) > 0 {
		root := DeviceRoot(keys)
		copy(hash[keyRootAt:], root[:])
	}
	return hash, nil
}

// Device is a device that evidence names.
type Device struct {
	// Hash is [DeviceHash] of the identity.
	Hash [32]byte
	// Model is what the evidence says, "" if nothing.
	Model string
	// Kind and Instance say which evidence names it.
	Kind     attest.Kind
	Instance uint16
}

// hashesOf returns the hashes of devices that evidence of a kind names.
func hashesOf(devices []Device, kind attest.Kind) [][32]byte {
	var out [][32]byte
	for _, d := range devices {
		if d.Kind == kind {
			out = append(out, d.Hash)
		}
	}
	return out
}
