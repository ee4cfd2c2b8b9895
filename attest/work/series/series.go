// Package series chains many products into one proof that takes long enough to be timed over a network.
//
// One product of order 4096 takes a data-centre GPU a fraction of a millisecond, which no bound that allows for a
// network can measure. A series is R products in a row, each of whose seeds follows from the root before it:
//
//	seed[r+1] = sha256("gantry-series-1" ‖ seed[r] ‖ root[r])
//
// so no product can begin before the last one's root is known. The prover answers with all roots, signed ([Claim]); the
// clock stops. Then the verifier draws k rounds with bytes of its own and checks their whole products (the package
// work), each of which the prover computes again.
//
// # Soundness
//
// A prover that makes up the roots of a fraction f of the rounds, to save their time, is not found with probability at
// most (1−f)^k, the sample being drawn after the signed answer. A machine s times slower than the bound allows must
// make up f = 1−1/s of them.
//
// The chain forbids starting rounds early. It does not forbid splitting one round over several GPUs, nor having another
// machine do all of it.
package series

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/gantry-market/gantry/attest/work"
)

const (
	nextLabel  = "gantry-series-1" // of the seed of the next product
	rootsLabel = "gantry-roots-1"  // of the digest of all roots
	// MaxRounds bounds a series: 2 MiB of roots.
	MaxRounds = 1 << 16
	// ClaimSize is the length of an encoded [Claim].
	ClaimSize = 136

	claimTag = "GANTRYQ1"
)

var (
	// ErrEncoding is returned for bytes that are no claim, and for counts out of bounds.
	ErrEncoding = errors.New("series: malformed")
	// ErrRoots: the roots are not the claimed ones.
	ErrRoots = errors.New("series: roots do not match the claim")
	// ErrRound: a round's product has another root than the series says.
	ErrRound = errors.New("series: round has another root")
)

// Prover computes a series in one go. Provers on a GPU implement it because the products need not leave the device.
type Prover interface {
	work.Prover
	Series(ctx context.Context, seed work.Seed, n, rounds int) ([]work.Hash, error)
}

// Next is the seed of the round after one with this seed and root.
func Next(seed work.Seed, root work.Hash) work.Seed {
	var m [len(nextLabel) + 64]byte
	copy(m[:], nextLabel)
	copy(m[len(nextLabel):], seed[:])
	copy(m[len(nextLabel)+32:], root[:])
	return sha256.Sum256(m[:])
}

// Check returns an error unless n and rounds are usable.
func Check(n, rounds int) error {
	if rounds < 1 || rounds > MaxRounds {
		return fmt.Errorf("%w: %d rounds", ErrEncoding, rounds)
	}
	return work.CheckOrder(n)
}

// Prove computes a series with any prover.
func Prove(ctx context.Context, p work.Prover, seed work.Seed, n, rounds int) ([]work.Hash, error) {
	if err := Check(n, rounds); err != nil {
		return nil, err
	}
	if s, ok := p.(Prover); ok {
		return s.Series(ctx, seed, n, rounds)
	}
	roots := make([]work.Hash, 0, rounds)
	for range rounds {
		proof, err := p.Prove(ctx, seed, n)
		if err != nil {
			return nil, fmt.Errorf("series: round %d: %w", len(roots), err)
		}
		roots = append(roots, proof.Root)
		seed = Next(seed, proof.Root)
	}
	return roots, nil
}

// Seeds returns the seeds of all rounds.
func Seeds(seed work.Seed, roots []work.Hash) []work.Seed {
	seeds := make([]work.Seed, len(roots))
	for r := range roots {
		seeds[r] = seed
		seed = Next(seed, roots[r])
	}
	return seeds
}

// Digest is what a claim says about the roots.
func Digest(roots []work.Hash) [32]byte {
	h := sha256.New()
	h.Write([]byte(rootsLabel))
	for i := range roots {
		h.Write(roots[i][:])
	}
	return [32]byte(h.Sum(nil))
}

// Claim is what a node signs about a series. Layout, little-endian:
//
//	 0  8 tag "GANTRYQ1"
//	 8  8 domain
//	16 32 node account
//	48  8 period
//	56 32 seed
//	88  4 n
//	92  4 rounds
//	96  8 reserved, zero
//	104 32 digest of the roots
type Claim struct {
	Domain    [8]byte
	Node      [32]byte
	Period    uint64
	Seed      work.Seed
	N, Rounds uint32
	Roots     [32]byte
}

// Bytes encodes c.
func (c Claim) Bytes() [ClaimSize]byte {
	var b [ClaimSize]byte
	copy(b[0:], claimTag)
	copy(b[8:], c.Domain[:])
	copy(b[16:], c.Node[:])
	binary.LittleEndian.PutUint64(b[48:], c.Period)
	copy(b[56:], c.Seed[:])
	binary.LittleEndian.PutUint32(b[88:], c.N)
	binary.LittleEndian.PutUint32(b[92:], c.Rounds)
	copy(b[104:], c.Roots[:])
	return b
}

// ParseClaim decodes what [Claim.Bytes] produces and nothing else.
func ParseClaim(b []byte) (Claim, error) {
	var c Claim
	if len(b) != ClaimSize || string(b[:8]) != claimTag || binary.LittleEndian.Uint64(b[96:]) != 0 {
		return c, fmt.Errorf("%w: no claim in %d bytes", ErrEncoding, len(b))
	}
	copy(c.Domain[:], b[8:])
	copy(c.Node[:], b[16:])
	c.Period = binary.LittleEndian.Uint64(b[48:])
	copy(c.Seed[:], b[56:])
	c.N, c.Rounds = binary.LittleEndian.Uint32(b[88:]), binary.LittleEndian.Uint32(b[92:])
	copy(c.Roots[:], b[104:])
	if c.N > work.MaxN || c.Rounds > MaxRounds {
		return Claim{}, fmt.Errorf("%w: %d rounds of order %d", ErrEncoding, c.Rounds, c.N)
	}
	if err := Check(int(c.N), int(c.Rounds)); err != nil {
		return Claim{}, fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	return c, nil
}

// Sign signs c with the node's key.
func (c Claim) Sign(key ed25519.PrivateKey) [64]byte {
	b := c.Bytes()
	return [64]byte(ed25519.Sign(key, b[:]))
}

// Signed reports whether signature is the node key's over c.
func (c Claim) Signed(nodeKey ed25519.PublicKey, signature [64]byte) bool {
	b := c.Bytes()
	return len(nodeKey) == ed25519.PublicKeySize && ed25519.Verify(nodeKey, b[:], signature[:])
}

// Select draws the rounds to check, after the claim is known, with 32 random bytes that only the verifier knew before.
func Select(c Claim, secret [32]byte, k int) []int {
	return work.Sample(c.Roots, secret, int(c.Rounds), k)
}

// Verify checks the selected rounds. open returns the encoded proof of a round (header and whole product), as the
// prover sends it.
func Verify(ctx context.Context, c Claim, roots []work.Hash, selected []int, open func(round int) (io.Reader, error)) error {
	if err := Check(int(c.N), int(c.Rounds)); err != nil {
		return err
	}
	if len(roots) != int(c.Rounds) || Digest(roots) != c.Roots {
		return ErrRoots
	}
	seeds := Seeds(c.Seed, roots)
	for _, r := range selected {
		if r < 0 || r >= len(roots) {
			return fmt.Errorf("%w: round %d of %d", ErrEncoding, r, len(roots))
		}
		body, err := open(r)
		if err != nil {
			return fmt.Errorf("series: open round %d: %w", r, err)
		}
		h, err := work.Verifier{}.Verify(ctx, seeds[r], int(c.N), body)
		if err != nil {
			return fmt.Errorf("series: round %d: %w", r, err)
		}
		if h.Root != roots[r] {
			return fmt.Errorf("%w: round %d", ErrRound, r)
		}
	}
	return nil
}
