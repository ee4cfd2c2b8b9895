package vram

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/attest/work/internal/tree"
)

var (
	// ErrSample: the opened blocks are not those that were asked for.
	ErrSample = errors.New("vram: other blocks opened than asked for")
	// ErrRoot: a digest does not belong to the claimed root.
	ErrRoot = errors.New("vram: digest does not match the claimed root")
	// ErrMissing: a claimed digest is not that of the block's contents.
	ErrMissing = errors.New("vram: the machine does not hold the contents")
)

// Select draws the k blocks to open. It must be called after the signed root is known, with 32 random bytes that only
// the verifier knew before.
func Select(c Claim, secret [32]byte, k int) []int {
	return work.Sample(c.Root, secret, int(c.Shape.Blocks), k)
}

// Verify checks that exactly the selected blocks are open and have the digests of the right contents. It computes
// passes·2048 hashes for each of them.
func Verify(ctx context.Context, c Claim, selected []int, opened []Opening) error {
	if err := c.Shape.Check(); err != nil {
		return err
	}
	if len(opened) != len(selected) {
		return fmt.Errorf("%w: %d opened, %d asked for", ErrSample, len(opened), len(selected))
	}
	block := make([]byte, BlockSize)
	for i, o := range opened {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("vram: verify: %w", err)
		}
		if int64(o.Index) != int64(selected[i]) || o.Index >= c.Shape.Blocks {
			return fmt.Errorf("%w: block %d, asked for %d", ErrSample, o.Index, selected[i])
		}
		root, rest, ok := tree.Climb(o.Digest, int(o.Index), int(c.Shape.Blocks), o.Siblings)
		if !ok || len(rest) != 0 || root != c.Root {
			return fmt.Errorf("%w: block %d", ErrRoot, o.Index)
		}
		fillBlock(block, &c.Seed, o.Index, c.Shape.Passes)
		if digestBlock(block, &c.Nonce, o.Index) != o.Digest {
			return fmt.Errorf("%w: block %d", ErrMissing, o.Index)
		}
	}
	return nil
}

// MissProbability bounds the chance that k opened blocks see none of a missing fraction f of which a fraction g of all
// blocks was recomputed in time.
func MissProbability(f, g float64, k int) float64 {
	return math.Pow(1-math.Max(0, f-g), float64(k))
}

// operationsPerHash is about what one BLAKE2s compression costs in 32-bit integer operations: 80 G functions of 4
// additions with 2 message additions folded into three-operand ones, 4 exclusive ors and 4 rotations, less loads and
// moves, which flatters the cheat.
const operationsPerHash = 80 * 8

// RefillRate bounds the bytes a second at which a GPU with so many 32-bit integer operations a second recomputes
// contents.
func RefillRate(int32PerSecond float64, passes uint32) float64 {
	return int32PerSecond / operationsPerHash / float64(passes) * LabelSize
}

// Refill is g: the fraction of a fill that can be recomputed in some time.
func Refill(rate float64, in time.Duration, s Shape) float64 {
	return math.Min(1, rate*in.Seconds()/float64(s.Bytes()))
}
