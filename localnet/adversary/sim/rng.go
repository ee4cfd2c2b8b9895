package sim

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gagliardetto/solana-go"
)

// rng is one stream of randomness. Each thing that draws has one of its own, so that a draw more in one place changes
// nothing in others.
type rng struct{ *rand.Rand }

func newRNG(seed uint64, name string) rng {
	h := sha256.Sum256(fmt.Appendf(nil, "gantry-sim/%d/%s", seed, name))
	return rng{rand.New(rand.NewPCG(binary.LittleEndian.Uint64(h[:]), binary.LittleEndian.Uint64(h[8:])))}
}

// Read implements io.Reader: nonces and jitter of keepers.
func (d rng) Read(b []byte) (int, error) {
	for i := 0; i < len(b); i += 8 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], d.Uint64())
		copy(b[i:], word[:])
	}
	return len(b), nil
}

// chance is true with a probability.
func (d rng) chance(p float64) bool { return d.Float64() < p }

// between draws evenly.
func (d rng) between(from, to time.Duration) time.Duration {
	if to <= from {
		return from
	}
	return from + time.Duration(d.Int64N(int64(to-from)))
}

// exponential draws with a mean.
func (d rng) exponential(mean time.Duration) time.Duration {
	return time.Duration(min(d.ExpFloat64(), 20) * float64(mean))
}

// some draws n of the numbers below k, in random order.
func (d rng) some(n, k int) []int { return d.Perm(k)[:min(n, k)] }

// key is a key pair of a name.
func key(seed uint64, name string) solana.PrivateKey {
	h := sha256.Sum256(fmt.Appendf(nil, "gantry-sim-key/%d/%s", seed, name))
	return solana.PrivateKey(ed25519.NewKeyFromSeed(h[:]))
}

// quantile of sorted values; 0 of none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
