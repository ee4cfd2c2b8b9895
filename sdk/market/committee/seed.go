package committee

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/gantry-market/gantry/sdk/records"
)

// Seed is a period's randomness.
type Seed [32]byte

// String is the seed in hex.
func (s Seed) String() string { return hex.EncodeToString(s[:]) }

// seedLead is how long before a period's start the block lies whose hash draws its committees: so long that it is
// final when the period starts, and no longer, so that nobody knows the committees much earlier.
const seedLead = 30 * time.Second

// SeedAt is the time whose first block makes a period's seed.
func SeedAt(p records.Period, secs uint32) time.Time {
	return p.Start(time.Duration(secs) * time.Second).Add(-seedLead)
}

// seedTag separates seeds from all other hashes.
const seedTag = "gantry-seed-1"

// NewSeed is sha256(tag ‖ domain ‖ period u64 LE ‖ slot u64 LE ‖ block hash) of the block that the period's seed is
// taken from.
func NewSeed(domain records.Domain, p records.Period, slot uint64, block [32]byte) Seed {
	b := append(make([]byte, 0, len(seedTag)+56), seedTag...)
	b = append(b, domain[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(p))
	b = binary.LittleEndian.AppendUint64(b, slot)
	return sha256.Sum256(append(b, block[:]...))
}
