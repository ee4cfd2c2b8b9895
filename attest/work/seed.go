package work

import (
	"crypto/sha256"
	"encoding/binary"
)

// Seed fixes both factors of a product.
type Seed [32]byte

// seedTag opens the message whose keeper signature goes into a seed.
const seedTag = "GANTRYH1"

// seedMessageSize is tag 8, domain 8, slot hash 32, node 32, period 8.
const seedMessageSize = 88

// ChallengeMessage is what a keeper signs to open a work challenge: tag "GANTRYH1" ‖ domain ‖ hash of a finalised slot
// ‖ node account ‖ period u64le (88 bytes). Its signature makes the seed unknowable to the node before the keeper
// speaks, and checkable by everyone afterwards.
func ChallengeMessage(domain [8]byte, slotHash, node [32]byte, period uint64) []byte {
	m := make([]byte, 0, seedMessageSize)
	m = append(m, seedTag...)
	m = append(m, domain[:]...)
	m = append(m, slotHash[:]...)
	m = append(m, node[:]...)
	return binary.LittleEndian.AppendUint64(m, period)
}

// DeriveSeed returns sha256(slot hash ‖ node ‖ period u64le ‖ signature), where signature is the keeper's over
// [ChallengeMessage].
func DeriveSeed(slotHash, node [32]byte, period uint64, signature [64]byte) Seed {
	var m [136]byte
	copy(m[0:], slotHash[:])
	copy(m[32:], node[:])
	binary.LittleEndian.PutUint64(m[64:], period)
	copy(m[72:], signature[:])
	return sha256.Sum256(m[:])
}
