package vram

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/gantry-market/gantry/attest/work/internal/tree"
)

// Prover fills memory. A prover on a GPU implements the same interface.
type Prover interface {
	// Name says what holds the memory, for logs and reports.
	Name() string
	// Fill computes all blocks of a fill and holds them until Close.
	Fill(ctx context.Context, seed [32]byte, s Shape) (Resident, error)
}

// Resident is memory that has been filled.
type Resident interface {
	// Sweep digests every block with a nonce.
	Sweep(ctx context.Context, nonce [32]byte) (*Sweep, error)
	// Close frees the memory.
	Close() error
}

// Sweep is what a machine computed in answer to a nonce.
type Sweep struct {
	Root    [32]byte
	digests [][32]byte
}

// NewSweep builds the tree over the digests of all blocks, which it keeps.
func NewSweep(digests [][32]byte) (*Sweep, error) {
	if len(digests) == 0 || len(digests) > MaxBlocks {
		return nil, fmt.Errorf("%w: %d digests", ErrShape, len(digests))
	}
	return &Sweep{Root: tree.Root(append([][32]byte(nil), digests...)), digests: digests}, nil
}

// Open returns the digests of some blocks with their paths.
func (s *Sweep) Open(indices []int) ([]Opening, error) {
	out := make([]Opening, 0, len(indices))
	for _, i := range indices {
		if i < 0 || i >= len(s.digests) {
			return nil, fmt.Errorf("%w: block %d of %d", ErrShape, i, len(s.digests))
		}
		out = append(out, Opening{Index: uint32(i), Digest: s.digests[i], Siblings: tree.Path(s.digests, i)})
	}
	return out, nil
}

// CPU keeps the contents in this process's memory: for tests and the local network. It does not show anything about a
// GPU.
type CPU struct{}

var _ Prover = CPU{}

// Name implements [Prover].
func (CPU) Name() string { return "cpu memory" }

// Fill implements [Prover].
func (CPU) Fill(ctx context.Context, seed [32]byte, s Shape) (Resident, error) {
	return Partial{Keep: 1}.Fill(ctx, seed, s)
}

// Partial keeps only a part of the blocks: the cheat that the sweep is there to find. What it recomputes in each sweep
// stands for the time it has.
type Partial struct {
	// Keep is the fraction of the blocks that it holds, 0 to 1.
	Keep float64
	// Recompute is the number of missing blocks that it computes again in a sweep; it makes the digests of the others
	// up.
	Recompute int
}

var _ Prover = Partial{}

// Name implements [Prover].
func (p Partial) Name() string { return fmt.Sprintf("PARTIAL %.4g%% kept", 100*p.Keep) }

// Fill implements [Prover].
func (p Partial) Fill(ctx context.Context, seed [32]byte, s Shape) (Resident, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	r := &resident{seed: seed, shape: s, recompute: p.Recompute}
	keep := min(int(s.Blocks), max(0, int(p.Keep*float64(s.Blocks)+0.5)))
	r.memory = make([]byte, keep*BlockSize)
	for i := range keep {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("vram: fill: %w", err)
		}
		fillBlock(r.memory[i*BlockSize:(i+1)*BlockSize], &seed, uint32(i), s.Passes)
	}
	return r, nil
}

type resident struct {
	seed      [32]byte
	shape     Shape
	recompute int
	memory    []byte
}

// Sweep implements [Resident].
func (r *resident) Sweep(ctx context.Context, nonce [32]byte) (*Sweep, error) {
	digests := make([][32]byte, r.shape.Blocks)
	kept := len(r.memory) / BlockSize
	scratch := make([]byte, BlockSize)
	guess := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(nonce[:]), 1))
	for i := range digests {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("vram: sweep: %w", err)
		}
		switch {
		case i < kept:
			digests[i] = digestBlock(r.memory[i*BlockSize:(i+1)*BlockSize], &nonce, uint32(i))
		case i < kept+r.recompute:
			fillBlock(scratch, &r.seed, uint32(i), r.shape.Passes)
			digests[i] = digestBlock(scratch, &nonce, uint32(i))
		default:
			for k := 0; k < len(digests[i]); k += 8 {
				binary.LittleEndian.PutUint64(digests[i][k:], guess.Uint64())
			}
		}
	}
	return NewSweep(digests)
}

// Close implements [Resident].
func (r *resident) Close() error {
	r.memory = nil
	return nil
}
