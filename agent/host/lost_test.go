package host

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/stretchr/testify/require"
)

// A GPU that the driver calls lost is known by its absence; the machine then claims nothing at all.
func TestALostGPU(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lost")
	m, err := New(t.Context(), Options{Source: Source{Simulated: true, Model: SimulatedH100, Count: 3, LostFile: file}, DiskPath: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	require.True(t, m.Inventory.Simulated)
	gone, err := m.Gone(t.Context())
	require.NoError(t, err)
	require.Empty(t, gone)
	whole, err := m.Claim(t.Context())
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(file, nil, 0o600))
	gone, err = m.Gone(t.Context())
	require.NoError(t, err)
	require.Equal(t, []Gone{{Index: 0, UUID: m.UUIDs()[0], Model: m.Inventory.GPUs[0].Model, Why: "the GPU is lost"}}, gone)
	_, err = m.Claim(t.Context())
	require.ErrorIs(t, err, ErrLost)
	readings, err := m.Readings(t.Context())
	require.NoError(t, err, "of the others, too")
	require.Len(t, readings, 3)
	for i, r := range readings {
		require.Equal(t, m.UUIDs()[i], r.UUID)
		require.Equal(t, i == 0, r.Silent != "")
		require.Equal(t, i == 0, r.TemperatureC == nil)
	}
	use, err := m.Use(t.Context(), 0b011)
	require.NoError(t, err)
	require.Len(t, use, 2)
	require.True(t, use[0].Missing)
	require.False(t, use[1].Missing)

	require.NoError(t, os.Remove(file))
	again, err := m.Claim(t.Context())
	require.NoError(t, err)
	require.Equal(t, whole.Device, again.Device)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = m.Gone(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// What a driver can say of a device, and what of it means that the device is lost.
func TestWhatALostDeviceIs(t *testing.T) {
	temperature, handle, count := nvml.SUCCESS, nvml.SUCCESS, 2
	listed := func(uuid string, state *nvml.Return) *mock.Device {
		return &mock.Device{
			GetUUIDFunc:        func() (string, nvml.Return) { return uuid, nvml.SUCCESS },
			GetTemperatureFunc: func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 30, *state },
		}
	}
	fine := nvml.SUCCESS
	counted := nvml.SUCCESS
	g := &GPUs{n: &mock.Interface{
		DeviceGetCountFunc: func() (int, nvml.Return) { return count, counted },
		DeviceGetHandleByIndexFunc: func(i int) (nvml.Device, nvml.Return) {
			if i == 1 {
				return listed("GPU-1", &temperature), handle
			}
			return listed("GPU-0", &fine), nvml.SUCCESS
		},
	}}
	present := func(want ...string) {
		t.Helper()
		got, _, err := g.present(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	present("GPU-0", "GPU-1")
	temperature = nvml.ERROR_NOT_SUPPORTED
	present("GPU-0", "GPU-1")
	temperature = nvml.ERROR_GPU_IS_LOST
	present("GPU-0")
	temperature, handle = nvml.SUCCESS, nvml.ERROR_GPU_IS_LOST
	present("GPU-0")
	handle, count = nvml.SUCCESS, 1
	present("GPU-0")
	count = 2
	for _, handle = range []nvml.Return{nvml.ERROR_UNKNOWN, nvml.ERROR_RESET_REQUIRED, nvml.ERROR_IRQ_ISSUE, nvml.ERROR_GPU_NOT_FOUND} {
		present("GPU-0")
	}
	fine = nvml.ERROR_UNKNOWN
	_, _, err := g.present(t.Context())
	require.ErrorIs(t, err, ErrNVML, "no device answers: that may be the driver")
	handle = nvml.ERROR_RESET_REQUIRED
	_, away, err := g.present(t.Context())
	require.NoError(t, err, "the driver does answer")
	require.Len(t, away, 2)
	handle, fine = nvml.ERROR_UNINITIALIZED, nvml.SUCCESS
	_, _, err = g.present(t.Context())
	require.ErrorIs(t, err, ErrNVML, "that is the driver, whichever device was asked for")
	counted = nvml.ERROR_UNINITIALIZED
	_, _, err = g.present(t.Context())
	require.ErrorIs(t, err, ErrNVML)
}
