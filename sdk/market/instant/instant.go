// Package instant says at which moment of a period nodes are measured, and which are asked for work and evidence. Keepers and
// nodes find the same one from the same blocks: docs/adr/0018-instants.md.
package instant

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/records"
)

const (
	// Ticks is how many moments of a period may be its instant.
	Ticks = 12
	// instantRest is how much of a long period lies behind its last tick, so that what is found can be verified.
	instantRest = 10 * 60
	// instantShare is the part of a short period, 1/n, in which its ticks lie.
	instantShare = 5
)

// Instant is the moment of a period at which work and evidence are drawn, one for the whole market. Its seed is of the first block of
// its tick, so that it is not known before that block whether the moment has come, nor which nodes are drawn.
type Instant struct {
	Period records.Period
	// Tick is the one of the period's ticks whose block it is.
	Tick int
	// At, Slot and Hash are the block's.
	At   time.Time
	Slot uint64
	Hash [32]byte
	Seed [32]byte
}

// Tick is when the k-th tick of a period is, in whole seconds, as the times of blocks.
func Tick(p records.Period, k int, secs uint32) time.Time {
	span := max(int64(secs)-instantRest, int64(secs)/instantShare, 1)
	return time.Unix(int64(p)*int64(secs)+int64(k)*span/Ticks, 0)
}

// instantTag separates the seeds of ticks from all other hashes.
const instantTag = "gantry-instant-1"

// Draw is the instant that the block of the k-th tick makes; false when the period's instant is not at this tick. Of the
// ticks that are left each is as likely, so that a period has one instant, at any of them. Blocks are asked in the order
// of ticks: the first one that is the instant ends the search.
func Draw(domain records.Domain, p records.Period, k int, slot uint64, hash [32]byte, at time.Time) (Instant, bool) {
	b := append(make([]byte, 0, len(instantTag)+64), instantTag...)
	b = append(b, domain[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(p))
	b = binary.LittleEndian.AppendUint64(b, uint64(k))
	b = binary.LittleEndian.AppendUint64(b, slot)
	seed := sha256.Sum256(append(b, hash[:]...))
	return Instant{Period: p, Tick: k, At: at, Slot: slot, Hash: hash, Seed: seed}, oneIn(seed, uint64(Ticks-k))
}

// Due reports whether a node is drawn, as one in so many are; none is with every = 0.
func (i Instant) Due(node solana.PublicKey, every uint8) bool {
	return every != 0 && oneIn(sha256.Sum256(append(i.Seed[:], node[:]...)), uint64(every))
}

// DueForEvidence reports whether a node is drawn to show evidence, as one in so many are, whatever it is drawn for else.
func (i Instant) DueForEvidence(node solana.PublicKey, every uint8) bool {
	return every != 0 && oneIn(sha256.Sum256(slices.Concat(i.Seed[:], node[:], []byte("evidence"))), uint64(every))
}

// oneIn reports whether the first eight bytes of a hash lie in the first of n equal parts.
func oneIn(h [32]byte, n uint64) bool {
	part, _ := bits.Mul64(binary.LittleEndian.Uint64(h[:8]), n)
	return part == 0
}

// leaseTag separates the instants of leases from those of periods: what a machine computes for a customer is no answer to a
// keeper, and the other way round.
const leaseTag = "gantry-lease-instant-1"

// OfLease is the instant at which a customer has the GPUs of a lease measured, of 32 random bytes of its own.
func OfLease(domain records.Domain, lease solana.PublicKey, nonce [32]byte) [32]byte {
	return sha256.Sum256(slices.Concat([]byte(leaseTag), domain[:], lease[:], nonce[:]))
}
