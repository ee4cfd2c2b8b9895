//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/attest/work/cuda"
	"github.com/gantry-market/gantry/attest/work/internal/fakecuda"
	"github.com/gantry-market/gantry/attest/work/series"
	"github.com/gantry-market/gantry/attest/work/vram"
)

func open(t *testing.T, l *fakecuda.Library, blas string) *cuda.Device {
	t.Helper()
	d, err := cuda.Open(t.Context(), cuda.Options{Driver: l.Path, BLAS: blas})
	require.NoError(t, err)
	return d
}

func requireNothingLeft(t *testing.T, l *fakecuda.Library, what string) {
	t.Helper()
	require.Equal(t, fakecuda.Alive{}, l.Alive(), "%s: something was not given back", what)
	require.NoError(t, l.Failure(), what)
}

func TestDevice(t *testing.T) {
	l := fakecuda.Build(t)
	l.Device(2, 12_040, 9, 0, 1<<30)
	d, err := cuda.Open(t.Context(), cuda.Options{Driver: l.Path, BLAS: "none", Index: 1})
	require.NoError(t, err)
	require.Equal(t, "Simulated GPU 1", d.Info.Name)
	require.Equal(t, 90, d.Info.Capability)
	require.Equal(t, 12_040, d.Info.Driver)
	require.EqualValues(t, 1<<30, d.Info.Memory)
	require.EqualValues(t, 41, d.Info.UUID[0])
	require.Equal(t, "dp4a", d.Method())
	free, err := d.Free(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1<<30, free)
	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
	requireNothingLeft(t, l, "closed")
	_, err = d.Free(t.Context())
	require.ErrorIs(t, err, cuda.ErrClosed)
	_, _, err = d.Product(t.Context(), work.Seed{}, 32)
	require.ErrorIs(t, err, cuda.ErrClosed)
}

// The whole path, from Go through the driver's calls to the kernels' PTX, gives what the processor computes; with
// cuBLASLt and without.
func TestProductsAndChains(t *testing.T) {
	l := fakecuda.Build(t)
	for _, blas := range []string{"none", l.Path} {
		d := open(t, l, blas)
		if blas != "none" {
			require.Equal(t, "cuBLASLt", d.Method())
		}
		for _, n := range []int{32, 96} {
			seed := work.Seed{byte(n), 200}
			want, err := work.CPU{Workers: 1}.Prove(t.Context(), seed, n)
			require.NoError(t, err)
			c, root, err := d.Product(t.Context(), seed, n)
			require.NoError(t, err, "%v", l.Failure())
			require.Equal(t, want.C, c)
			require.Equal(t, want.Root, root)
		}
		want, err := series.Prove(t.Context(), work.CPU{Workers: 1}, work.Seed{9}, 32, 4)
		require.NoError(t, err)
		roots, err := d.Chain(t.Context(), work.Seed{9}, 32, 4, series.Next)
		require.NoError(t, err)
		require.Equal(t, want, roots)
		_, _, err = d.Product(t.Context(), work.Seed{}, 33)
		require.ErrorIs(t, err, work.ErrOrder)
		require.NoError(t, d.Close())
		requireNothingLeft(t, l, "blas "+blas)
	}
}

func TestMemory(t *testing.T) {
	l := fakecuda.Build(t)
	d := open(t, l, "none")
	shape := vram.Shape{Blocks: 3, Passes: 2}
	seed, nonce := [32]byte{1}, [32]byte{2}
	f, err := d.Fill(t.Context(), seed, shape)
	require.NoError(t, err)
	digests, err := f.Digests(t.Context(), nonce)
	require.NoError(t, err, "%v", l.Failure())
	for i, got := range digests {
		b, err := vram.Block(seed, uint32(i), shape.Passes)
		require.NoError(t, err)
		want, err := vram.Digest(b, nonce, uint32(i))
		require.NoError(t, err)
		require.Equal(t, want, got, "block %d", i)
	}
	_, err = d.Fill(t.Context(), seed, vram.Shape{})
	require.ErrorIs(t, err, vram.ErrShape)
	_, err = d.Fill(t.Context(), seed, vram.ShapeFor(2<<30, 1))
	var e *cuda.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "CUDA_ERROR_OUT_OF_MEMORY", e.Name)
	require.Equal(t, "out of memory", e.Text)
	require.NoError(t, f.Close())
	_, err = f.Digests(t.Context(), nonce)
	require.ErrorIs(t, err, cuda.ErrClosed)
	require.NoError(t, f.Close())
	require.NoError(t, d.Close())
	requireNothingLeft(t, l, "memory")
	require.NoError(t, f.Close(), "memory goes with its device")
}

func TestAbsentOldAndUnsupported(t *testing.T) {
	_, err := cuda.Open(t.Context(), cuda.Options{Driver: "libcuda-that-is-not-there.so"})
	require.ErrorIs(t, err, attest.ErrAbsent)
	require.ErrorContains(t, err, "libcuda-that-is-not-there.so")

	l := fakecuda.Build(t)
	for name, c := range map[string]struct {
		count, driver, major, minor, index int
		want                               error
	}{
		"no device":     {0, 12_040, 9, 0, 0, attest.ErrAbsent},
		"second of one": {1, 12_040, 9, 0, 1, attest.ErrAbsent},
		"negative":      {1, 12_040, 9, 0, -1, attest.ErrAbsent},
		"old driver":    {1, 9_020, 9, 0, 0, cuda.ErrUnsupported},
		"old device":    {1, 12_040, 6, 1, 0, cuda.ErrUnsupported},
	} {
		l.Device(c.count, c.driver, c.major, c.minor, 1<<30)
		_, err := cuda.Open(t.Context(), cuda.Options{Driver: l.Path, BLAS: "none", Index: c.index})
		require.ErrorIs(t, err, c.want, name)
		requireNothingLeft(t, l, name)
	}
	_, err = cuda.Open(t.Context(), cuda.Options{Driver: "libc.so.6"})
	require.ErrorContains(t, err, "cuInit", "a library without the functions")
}

// Every call fails once, at every point where it is made: the error carries the driver's name for it, and everything is
// given back.
func TestEveryCallFailing(t *testing.T) {
	l := fakecuda.Build(t)
	l.Idle(true)
	shape := vram.Shape{Blocks: 1, Passes: 1}
	scenario := func() error {
		d, err := cuda.Open(t.Context(), cuda.Options{Driver: l.Path, BLAS: "none"})
		if err != nil {
			return err
		}
		_, err = d.Free(t.Context())
		_, _, err2 := d.Product(t.Context(), work.Seed{1}, 32)
		_, err3 := d.Chain(t.Context(), work.Seed{1}, 32, 2, series.Next)
		f, err4 := d.Fill(t.Context(), [32]byte{}, shape)
		if err4 == nil {
			_, err4 = f.Digests(t.Context(), [32]byte{})
			err4 = errors.Join(err4, f.Close())
		}
		return errors.Join(err, err2, err3, err4, d.Close())
	}
	require.NoError(t, scenario())
	requireNothingLeft(t, l, "without a fault")
	const illegalAddress = 700
	// Releasing cannot be tried again: what such a call did not give back stays.
	releases := map[string]bool{"cuMemFree_v2": true, "cuModuleUnload": true, "cuDevicePrimaryCtxRelease_v2": true}
	points := 0
	for _, name := range []string{
		"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDeviceTotalMem_v2",
		"cuDeviceGetUuid", "cuDevicePrimaryCtxRetain", "cuCtxSynchronize", "cuModuleLoadDataEx", "cuModuleGetFunction", "cuMemGetInfo_v2",
		"cuMemAlloc_v2", "cuMemcpyDtoH_v2", "cuLaunchKernel", "cuMemFree_v2", "cuModuleUnload", "cuDevicePrimaryCtxRelease_v2",
	} {
		for after := 0; ; after++ {
			l.Fail(name, after, illegalAddress)
			err := scenario()
			if err == nil {
				break // it is called no more than this often
			}
			points++
			var e *cuda.Error
			require.ErrorAs(t, err, &e, name)
			require.Equal(t, name, e.Call)
			require.Equal(t, "CUDA_ERROR_ILLEGAL_ADDRESS", e.Name)
			if name == "cuModuleLoadDataEx" {
				require.Contains(t, e.Log, "simulated", "the compiler's own words")
			}
			if releases[name] {
				l = fakecuda.Build(t)
				l.Idle(true)
				break
			}
			requireNothingLeft(t, l, name)
		}
	}
	t.Logf("%d points of failure", points)
	require.Greater(t, points, 60)
}

func TestBLASFailing(t *testing.T) {
	l := fakecuda.Build(t)
	// A library that does not open is done without.
	for _, c := range []struct{ name, path string }{{"", "no-such-library.so"}, {"cublasLtCreate", l.Path}} {
		if c.name != "" {
			l.Fail(c.name, 0, 14)
		}
		d := open(t, l, c.path)
		require.Equal(t, "dp4a", d.Method())
		require.NoError(t, d.Close())
		requireNothingLeft(t, l, c.path)
	}
	// One that fails later is an error, by its name.
	for _, name := range []string{
		"cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate", "cublasLtMatmulPreferenceCreate",
		"cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul",
	} {
		d := open(t, l, l.Path)
		l.Fail(name, 0, 15)
		_, _, err := d.Product(t.Context(), work.Seed{}, 32)
		var e *cuda.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, "CUBLAS_STATUS_NOT_SUPPORTED", e.Name)
		require.Equal(t, name, e.Call)
		require.NoError(t, d.Close())
		requireNothingLeft(t, l, name)
	}
}

func TestCancelled(t *testing.T) {
	l := fakecuda.Build(t)
	d := open(t, l, "none")
	ctx, cancel := context.WithCancel(t.Context())
	rounds := 0
	_, err := d.Chain(ctx, work.Seed{}, 32, 100, func(s work.Seed, r work.Hash) work.Seed {
		if rounds++; rounds == 3 {
			cancel()
		}
		return series.Next(s, r)
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 3, rounds)
	_, err = d.Fill(ctx, [32]byte{}, vram.Shape{Blocks: 1, Passes: 1})
	require.ErrorIs(t, err, context.Canceled)
	_, err = cuda.Open(ctx, cuda.Options{Driver: l.Path})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, d.Close())
	requireNothingLeft(t, l, "cancelled")
}
