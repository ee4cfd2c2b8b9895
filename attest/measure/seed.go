package measure

import (
	"crypto/sha256"
	"encoding/binary"
)

// Hash is a SHA-256 hash.
type Hash = [32]byte

// What hashes begin with, so that none can be taken for one of another kind.
var (
	tagProfile    = tag("profile")
	tagNonce      = tag("nonce")
	tagColumns    = tag("b")
	tagRound      = tag("round")
	tagRow        = tag("row")
	tagWalk       = tag("walk")
	tagLane       = tag("lane")
	tagGPU        = tag("gpu")
	tagCommitment = tag("commitment")
	tagDraw       = tag("draw")
)

func tag(name string) Hash { return sha256.Sum256([]byte("gantry/measure/1/" + name)) }

// sum hashes the parts one after the other. No hash of the format, leaves of rounds apart, is over more than 512 bytes.
func sum(parts ...[]byte) Hash {
	var buffer [512]byte
	b := buffer[:0]
	for _, p := range parts {
		b = append(b, p...)
	}
	return sha256.Sum256(b)
}

func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }

// Place says which machine is measured, and when.
type Place struct {
	// Domain is the cluster's.
	Domain [8]byte
	// Instant is drawn from a late block of the period.
	Instant [32]byte
	// Node is the node's account.
	Node [32]byte
}

// Nonce is what all that a GPU computes follows from.
func (p Place) Nonce(gpu uint8, profile Hash) Hash {
	return sum(tagNonce[:], p.Domain[:], p.Instant[:], p.Node[:], []byte{gpu}, profile[:])
}

// ColumnSeed is the seed of B, the same for all nodes and rounds of a period.
func (p Place) ColumnSeed(order uint32) Hash {
	return sum(tagColumns[:], p.Domain[:], p.Instant[:], le32(order))
}

// RoundSeed is the seed of a round's rows. before is the root of the round before, zero for round 0.
func RoundSeed(nonce Hash, round uint32, before Hash) Hash {
	return sum(tagRound[:], nonce[:], le32(round), before[:])
}

// WalkSeed is the seed of all lanes.
func WalkSeed(nonce, roundsRoot Hash) Hash { return sum(tagWalk[:], nonce[:], roundsRoot[:]) }
