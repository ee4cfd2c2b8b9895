package demo

import "crypto/sha256"

// proofRoot recomputes a root from a leaf as the program does: bit i of the path says that the running hash is the
// right child at the i-th entry of the proof. It is written here anew so that the demo checks keepers and client with
// code that neither uses.
func proofRoot(leaf []byte, path uint32, proof [][32]byte) [32]byte {
	hash := sha256.Sum256(append([]byte{0}, leaf...))
	for _, sibling := range proof {
		left, right := hash, sibling
		if path&1 == 1 {
			left, right = sibling, hash
		}
		hash = sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
		path >>= 1
	}
	return hash
}
