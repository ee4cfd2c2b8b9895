package work

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
)

// Prover makes proofs. A prover on a GPU implements the same interface.
type Prover interface {
	// Name says what does the work, for logs and reports.
	Name() string
	// Prove computes the product of order n and its Merkle root. It honours ctx.
	Prove(ctx context.Context, seed Seed, n int) (*Proof, error)
}

// CPU computes the product on this machine's processor.
type CPU struct {
	// Workers is the number of goroutines; 0 means GOMAXPROCS.
	Workers int
}

var _ Prover = CPU{}

// Name implements [Prover].
func (c CPU) Name() string { return fmt.Sprintf("cpu x%d", c.workers()) }

func (c CPU) workers() int {
	if c.Workers > 0 {
		return c.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// Prove implements [Prover].
func (c CPU) Prove(ctx context.Context, seed Seed, n int) (*Proof, error) {
	if err := CheckOrder(n); err != nil {
		return nil, err
	}
	product, err := multiply(ctx, &seed, n, c.workers())
	if err != nil {
		return nil, fmt.Errorf("work: prove order %d: %w", n, err)
	}
	return NewProof(seed, n, product)
}

// Faulty claims a product of which a fraction of the entries is wrong but in range. It exists to test verifiers.
type Faulty struct {
	Prover Prover
	// Fraction of the entries that are wrong, 0 to 1; at least one entry is.
	Fraction float64
}

var _ Prover = Faulty{}

// Name implements [Prover].
func (f Faulty) Name() string {
	return fmt.Sprintf("FAULTY %.4g%% wrong: %s", 100*f.Fraction, f.Prover.Name())
}

// Prove implements [Prover].
func (f Faulty) Prove(ctx context.Context, seed Seed, n int) (*Proof, error) {
	p, err := f.Prover.Prove(ctx, seed, n)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:]), binary.LittleEndian.Uint64(seed[8:])))
	wrong := min(n*n, max(1, int(math.Round(f.Fraction*float64(n*n)))))
	for _, k := range rng.Perm(n * n)[:wrong] {
		p.C[k] = tamper(p.C[k], rng)
	}
	return NewProof(seed, n, p.C)
}

// tamper returns another value nearby; products are far from their bound.
func tamper(v int32, rng *rand.Rand) int32 {
	d := int32(1 + rng.IntN(1000))
	if v > 0 {
		return v - d
	}
	return v + d
}
