// Package gpu chooses at run time what computes work proofs and holds memory sweeps: an NVIDIA GPU where there is one,
// the processor otherwise.
//
// It is apart from package work so that verifiers, which need no GPU, do not link what opens one.
package gpu

import (
	"context"
	"errors"
	"fmt"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/attest/work/cuda"
	"github.com/gantry-market/gantry/attest/work/series"
	"github.com/gantry-market/gantry/attest/work/vram"
)

// ErrSelfTest: the GPU computes something else than the processor. It must not be used: a wrong product that is signed
// can be held against the node.
var ErrSelfTest = errors.New("gpu: self-test failed")

// Options choose what computes.
type Options struct {
	// Device is which GPU.
	Device cuda.Options
	// Only refuses to fall back to the processor.
	Only bool
	// Workers of the processor's prover; 0 means all.
	Workers int
}

// Prover is what [Open] found. It computes single products and series and fills memory.
type Prover struct {
	device *cuda.Device
	cpu    work.CPU
	reason string
}

var (
	_ series.Prover = (*Prover)(nil)
	_ vram.Prover   = (*Prover)(nil)
)

// Open opens a GPU, tests that it computes rightly, and falls back to the processor where there is none:
// [Prover.Reason] then says why. A GPU that is there and does not work is an error and never silently replaced.
func Open(ctx context.Context, o Options) (*Prover, error) {
	p := &Prover{cpu: work.CPU{Workers: o.Workers}}
	device, err := cuda.Open(ctx, o.Device)
	switch {
	case errors.Is(err, attest.ErrAbsent) && !o.Only:
		p.reason = err.Error()
		return p, nil
	case err != nil:
		return nil, err
	}
	p.device = device
	if err := p.selfTest(ctx); err != nil {
		return nil, errors.Join(err, device.Close())
	}
	return p, nil
}

// selfTest compares products with the processor's, of sizes that fill tiles and that do not, and a block of memory. A
// cuBLASLt that fails is not used.
func (p *Prover) selfTest(ctx context.Context) error {
	err := p.testProducts(ctx)
	if err != nil && p.device.Method() == "cuBLASLt" && ctx.Err() == nil {
		if err := p.device.DropBLAS(ctx); err != nil {
			return err
		}
		err = p.testProducts(ctx)
	}
	if err != nil {
		return err
	}
	seed, nonce := [32]byte{'s', 'e', 'l', 'f'}, [32]byte{'t', 'e', 's', 't'}
	f, err := p.device.Fill(ctx, seed, vram.Shape{Blocks: 2, Passes: 2})
	if err != nil {
		return err
	}
	digests, err := f.Digests(ctx, nonce)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	for i := range digests {
		block, err := vram.Block(seed, uint32(i), 2)
		if err != nil {
			return err
		}
		if want, err := vram.Digest(block, nonce, uint32(i)); err != nil || want != digests[i] {
			return fmt.Errorf("%w: memory", ErrSelfTest)
		}
	}
	return nil
}

func (p *Prover) testProducts(ctx context.Context) error {
	for _, n := range []int{32, 96} {
		seed := work.Seed{'s', 'e', 'l', 'f', byte(n)}
		want, err := p.cpu.Prove(ctx, seed, n)
		if err != nil {
			return err
		}
		_, root, err := p.device.Product(ctx, seed, n)
		if err != nil {
			return err
		}
		if root != want.Root {
			return fmt.Errorf("%w: product of order %d with %s", ErrSelfTest, n, p.device.Method())
		}
	}
	return nil
}

// Name implements [work.Prover].
func (p *Prover) Name() string {
	if p.device == nil {
		return p.cpu.Name()
	}
	return p.device.Info.Name + " " + p.device.Method()
}

// Reason says why no GPU is used, "" if one is.
func (p *Prover) Reason() string { return p.reason }

// Info is what the driver says about the GPU; ok is false without one.
func (p *Prover) Info() (info cuda.Info, ok bool) {
	if p.device == nil {
		return info, false
	}
	return p.device.Info, true
}

// Prove implements [work.Prover].
func (p *Prover) Prove(ctx context.Context, seed work.Seed, n int) (*work.Proof, error) {
	if p.device == nil {
		return p.cpu.Prove(ctx, seed, n)
	}
	if err := work.CheckOrder(n); err != nil {
		return nil, err
	}
	c, root, err := p.device.Product(ctx, seed, n)
	if err != nil {
		return nil, fmt.Errorf("gpu: product of order %d: %w", n, err)
	}
	proof, err := work.NewProof(seed, n, c)
	if err != nil {
		return nil, err
	}
	if proof.Root != root {
		return nil, fmt.Errorf("%w: the device's root of order %d is not that of its product", ErrSelfTest, n)
	}
	return proof, nil
}

// Series implements [series.Prover]: products stay on the device.
func (p *Prover) Series(ctx context.Context, seed work.Seed, n, rounds int) ([]work.Hash, error) {
	if p.device == nil {
		return series.Prove(ctx, p.cpu, seed, n, rounds)
	}
	if err := series.Check(n, rounds); err != nil {
		return nil, err
	}
	return p.device.Chain(ctx, seed, n, rounds, series.Next)
}

// Free is how much memory can be filled, in bytes.
func (p *Prover) Free(ctx context.Context) (uint64, error) {
	if p.device == nil {
		return 0, fmt.Errorf("gpu: %s: %w", p.reason, attest.ErrAbsent)
	}
	return p.device.Free(ctx)
}

// Fill implements [vram.Prover]. Without a GPU it fails with [attest.ErrAbsent]: the processor's memory is not what is
// asked about.
func (p *Prover) Fill(ctx context.Context, seed [32]byte, s vram.Shape) (vram.Resident, error) {
	if p.device == nil {
		return nil, fmt.Errorf("gpu: %s: %w", p.reason, attest.ErrAbsent)
	}
	f, err := p.device.Fill(ctx, seed, s)
	if err != nil {
		return nil, fmt.Errorf("gpu: fill %d blocks: %w", s.Blocks, err)
	}
	return resident{f}, nil
}

// Close gives the GPU back.
func (p *Prover) Close() error {
	if p.device == nil {
		return nil
	}
	return p.device.Close()
}

// resident is memory of the GPU.
type resident struct{ f *cuda.Fill }

// Sweep implements [vram.Resident].
func (r resident) Sweep(ctx context.Context, nonce [32]byte) (*vram.Sweep, error) {
	digests, err := r.f.Digests(ctx, nonce)
	if err != nil {
		return nil, fmt.Errorf("gpu: sweep: %w", err)
	}
	return vram.NewSweep(digests)
}

// Close implements [vram.Resident].
func (r resident) Close() error { return r.f.Close() }
