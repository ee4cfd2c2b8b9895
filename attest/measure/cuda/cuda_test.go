//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/cuda"
	"github.com/gantry-market/gantry/attest/measure/internal/fakecuda"
)

// least is the least that a run may be.
var least = measure.Profile{Order: 1024, Fold: 4, Rows: 1024, Resident: 1, Lanes: 1}

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
	_, err = d.Run(t.Context(), measure.Task{Profile: least}, func(uint32, measure.Hash) {})
	require.ErrorIs(t, err, cuda.ErrClosed)
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
	scenario := func() error {
		d, err := cuda.Open(t.Context(), cuda.Options{Driver: l.Path, BLAS: "none"})
		if err != nil {
			return err
		}
		_, err = d.Free(t.Context())
		run, err2 := d.Run(t.Context(), measure.Task{Profile: least}, func(uint32, measure.Hash) {})
		if err2 == nil {
			err2 = run.Close()
		}
		return errors.Join(err, err2, d.Close())
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
	require.Greater(t, points, 40)
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
		_, err := d.Run(t.Context(), measure.Task{Profile: least}, func(uint32, measure.Hash) {})
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
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := cuda.Open(ctx, cuda.Options{Driver: l.Path})
	require.ErrorIs(t, err, context.Canceled)
	requireNothingLeft(t, l, "cancelled")
}
