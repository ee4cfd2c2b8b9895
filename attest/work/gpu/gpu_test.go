//go:build linux && (amd64 || arm64)

package gpu_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/attest/work/cuda"
	"github.com/gantry-market/gantry/attest/work/gpu"
	"github.com/gantry-market/gantry/attest/work/internal/fakecuda"
	"github.com/gantry-market/gantry/attest/work/series"
	"github.com/gantry-market/gantry/attest/work/vram"
)

// On a machine with a GPU this test runs on it; on others the processor's prover stands in and says why.
func TestThisMachine(t *testing.T) {
	p, err := gpu.Open(t.Context(), gpu.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	_, present := p.Info()
	require.Equal(t, present, p.Reason() == "")
	t.Logf("%s %s", p.Name(), p.Reason())
	proof, err := p.Prove(t.Context(), work.Seed{1}, 160)
	require.NoError(t, err)
	require.NoError(t, work.Verifier{}.VerifyProof(t.Context(), proof))
	roots, err := series.Prove(t.Context(), p, work.Seed{1}, 64, 3)
	require.NoError(t, err)
	want, err := series.Prove(t.Context(), work.CPU{}, work.Seed{1}, 64, 3)
	require.NoError(t, err)
	require.Equal(t, want, roots)
	if !present {
		_, err = p.Fill(t.Context(), [32]byte{}, vram.Shape{Blocks: 1, Passes: 1})
		require.ErrorIs(t, err, attest.ErrAbsent, "the processor's memory is not what is asked about")
		_, err = p.Free(t.Context())
		require.ErrorIs(t, err, attest.ErrAbsent)
		_, err = gpu.Open(t.Context(), gpu.Options{Only: true})
		require.ErrorIs(t, err, attest.ErrAbsent)
	}
}

func TestSimulatedGPU(t *testing.T) {
	l := fakecuda.Build(t)
	p, err := gpu.Open(t.Context(), gpu.Options{Device: cuda.Options{Driver: l.Path, BLAS: l.Path}})
	require.NoError(t, err)
	require.Equal(t, "Simulated GPU 0 cuBLASLt", p.Name())
	require.Empty(t, p.Reason())

	proof, err := p.Prove(t.Context(), work.Seed{1}, 64)
	require.NoError(t, err)
	require.NoError(t, work.Verifier{}.VerifyProof(t.Context(), proof))
	_, err = p.Prove(t.Context(), work.Seed{1}, 65)
	require.ErrorIs(t, err, work.ErrOrder)
	_, err = p.Series(t.Context(), work.Seed{1}, 64, 0)
	require.ErrorIs(t, err, series.ErrEncoding)

	// A series and its checked rounds.
	roots, err := series.Prove(t.Context(), p, work.Seed{5}, 32, 3)
	require.NoError(t, err)
	c := series.Claim{Seed: work.Seed{5}, N: 32, Rounds: 3, Roots: series.Digest(roots)}
	seeds := series.Seeds(c.Seed, roots)
	require.NoError(t, series.Verify(t.Context(), c, roots, []int{0, 2}, func(r int) (io.Reader, error) {
		proof, err := p.Prove(t.Context(), seeds[r], 32)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		_, err = proof.WriteTo(&b)
		return &b, err
	}))

	// A sweep of its memory.
	shape := vram.Shape{Blocks: 2, Passes: 1}
	memory, err := p.Fill(t.Context(), [32]byte{6}, shape)
	require.NoError(t, err)
	v := vram.Claim{Seed: [32]byte{6}, Nonce: [32]byte{7}, Shape: shape}
	sweep, err := memory.Sweep(t.Context(), v.Nonce)
	require.NoError(t, err)
	v.Root = sweep.Root
	opened, err := sweep.Open([]int{0, 1})
	require.NoError(t, err)
	require.NoError(t, vram.Verify(t.Context(), v, []int{0, 1}, opened))
	require.NoError(t, memory.Close())
	require.NoError(t, p.Close())
	require.Equal(t, fakecuda.Alive{}, l.Alive())
}

// A GPU that computes wrongly is found out before anything is signed.
func TestSelfTest(t *testing.T) {
	l := fakecuda.Build(t)
	l.Wrong(true)
	p, err := gpu.Open(t.Context(), gpu.Options{Device: cuda.Options{Driver: l.Path, BLAS: l.Path}})
	require.NoError(t, err)
	require.Equal(t, "Simulated GPU 0 dp4a", p.Name(), "a wrong cuBLASLt is done without")
	require.NoError(t, p.Close())
	require.Equal(t, fakecuda.Alive{}, l.Alive())

	l.Idle(true)
	_, err = gpu.Open(t.Context(), gpu.Options{Device: cuda.Options{Driver: l.Path, BLAS: "none"}})
	require.ErrorIs(t, err, gpu.ErrSelfTest, "kernels that do nothing")
	require.Equal(t, fakecuda.Alive{}, l.Alive())

	l.Device(1, 12_040, 6, 1, 1<<30)
	_, err = gpu.Open(t.Context(), gpu.Options{Device: cuda.Options{Driver: l.Path}})
	require.ErrorIs(t, err, cuda.ErrUnsupported, "a GPU that does not serve is not replaced silently")
}
