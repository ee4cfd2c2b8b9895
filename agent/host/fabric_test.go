package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/stretchr/testify/require"
)

// A machine with NVSwitches needs NVIDIA's fabric manager, running and in the driver's version. Others need none.
func TestTheFabricManager(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	f := Fabric{Root: root, Driver: "550.90.07", Version: func(context.Context) (string, error) { return "", errors.New("not installed") }}
	require.NoError(t, f.Check(t.Context()), "there are no NVSwitches")
	write("sys/bus/pci/devices/0000:18:00.0/class", "0x030200\n")
	write("sys/bus/pci/devices/0000:18:00.0/vendor", "0x10de\n")
	write("sys/bus/pci/devices/0000:19:00.0/class", "0x068000\n")
	write("sys/bus/pci/devices/0000:19:00.0/vendor", "0x8086\n")
	require.NoError(t, f.Check(t.Context()), "a bridge of another maker's is none")
	write("sys/bus/pci/devices/0000:19:00.0/vendor", "0x10de\n")
	write("proc/7/comm", "nvidia-persiste\n")
	require.ErrorIs(t, f.Check(t.Context()), ErrFabric)
	require.ErrorContains(t, f.Check(t.Context()), "does not run")
	write("proc/8/comm", "nv-fabricmanage\n")
	require.ErrorContains(t, f.Check(t.Context()), "not installed")
	f.Version = func(context.Context) (string, error) { return "Fabric Manager version is : 550.54.15\n", nil }
	require.ErrorContains(t, f.Check(t.Context()), "another version than the driver, 550.90.07: Fabric Manager version is : 550.54.15")
	f.Driver = "550.54.15"
	require.NoError(t, f.Check(t.Context()))
	f.Waiting = []int{3}
	require.ErrorContains(t, f.Check(t.Context()), "GPU 3 waits")
}

// The driver says of devices behind NVSwitches whether they are part of the fabric yet.
func TestADeviceWaitsForTheFabric(t *testing.T) {
	m := newMachine(t, Source{Simulated: true, Model: SimulatedH100, Count: 2})
	d, ret := m.nvml.DeviceGetHandleByIndex(1)
	require.Equal(t, nvml.SUCCESS, ret)
	for state, waits := range map[uint8]bool{
		nvml.GPU_FABRIC_STATE_NOT_SUPPORTED: false, nvml.GPU_FABRIC_STATE_NOT_STARTED: true, nvml.GPU_FABRIC_STATE_IN_PROGRESS: true,
		nvml.GPU_FABRIC_STATE_COMPLETED: false,
	} {
		d.(*mock.Device).GetGpuFabricInfoFunc = func() (nvml.GpuFabricInfo, nvml.Return) {
			return nvml.GpuFabricInfo{State: state}, nvml.SUCCESS
		}
		f, err := m.fabric(t.Context())
		require.NoError(t, err)
		require.Equal(t, waits, len(f.Waiting) == 1, state)
	}
	d.(*mock.Device).GetGpuFabricInfoFunc = func() (nvml.GpuFabricInfo, nvml.Return) {
		return nvml.GpuFabricInfo{State: nvml.GPU_FABRIC_STATE_COMPLETED, Status: uint32(nvml.ERROR_UNKNOWN)}, nvml.SUCCESS
	}
	f, err := m.fabric(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{1}, f.Waiting, "it was refused")
	require.NoError(t, m.CheckFabric(t.Context()), "simulated devices need no fabric")
}
