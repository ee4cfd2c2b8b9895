package attest

import (
	"crypto/sha256"
	"slices"
)

// LeaseID is the id of the challenge by which the customer of a lease asks its machine: sha256("gantry-lease-challenge-1" ‖
// lease ‖ nonce). Both sides compute it, so that no customer can have a machine answer a question that a keeper has drawn.
func LeaseID(lease, nonce [32]byte) [32]byte {
	return sha256.Sum256(slices.Concat([]byte("gantry-lease-challenge-1"), lease[:], nonce[:]))
}
