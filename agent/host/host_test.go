package host

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func simulate(t testing.TB, m SimulatedModel, count int, seed byte) nvml.Interface {
	t.Helper()
	n, err := Simulate(m, count, [32]byte{seed})
	require.NoError(t, err)
	return n
}

func TestDetectThisMachine(t *testing.T) {
	dir := t.TempDir()
	inv, err := Detect(context.Background(), DetectOptions{DiskPath: dir, DiskTestBytes: 4 << 20, NVML: nvml.New()})
	require.NoError(t, err)
	require.NotEmpty(t, inv.CPU.Model)
	require.Positive(t, inv.CPU.Cores)
	require.GreaterOrEqual(t, inv.CPU.Threads, inv.CPU.Cores)
	require.Greater(t, inv.RAMMiB, uint64(64))
	require.NotEmpty(t, inv.Host.Kernel)
	require.True(t, inv.Disk.Speed.Measured, inv.Disk.Speed.Note)
	require.Positive(t, inv.Disk.Speed.WriteMBps)
	require.Positive(t, inv.Disk.Speed.ReadMBps)
	require.EqualValues(t, 4<<20, inv.Disk.Speed.Bytes)
	require.False(t, inv.Network.Measured)
	require.Contains(t, inv.Network.Note, "no peer")
	require.False(t, inv.Simulated)
	// With a GPU there are devices, without one there is a statement; never neither.
	require.NotEqual(t, len(inv.GPUs) > 0, inv.GPUStatement != "", "%d GPUs, statement %q", len(inv.GPUs), inv.GPUStatement)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "the disk test leaves nothing behind")
	_, err = json.Marshal(inv)
	require.NoError(t, err)
}

func TestMissingDriverIsAStatement(t *testing.T) {
	for ret, want := range map[nvml.Return]string{
		nvml.ERROR_LIBRARY_NOT_FOUND:       "install the NVIDIA driver",
		nvml.ERROR_DRIVER_NOT_LOADED:       "kernel module is not loaded",
		nvml.ERROR_NO_PERMISSION:           "permission",
		nvml.ERROR_LIB_RM_VERSION_MISMATCH: "different versions",
	} {
		n := &mock.Interface{InitFunc: func() nvml.Return { return ret }}
		_, err := OpenGPUs(n)
		require.ErrorIs(t, err, ErrNoDriver)
		inv, err := Detect(context.Background(), DetectOptions{NVML: n})
		require.NoError(t, err)
		require.Contains(t, inv.GPUStatement, want)
		require.Empty(t, inv.GPUs)
		require.NotContains(t, strings.Join(inv.Notes, "\n"), "NVML")
	}
	n := &mock.Interface{InitFunc: func() nvml.Return { return nvml.ERROR_UNKNOWN }}
	inv, err := Detect(context.Background(), DetectOptions{NVML: n})
	require.NoError(t, err)
	require.NotEmpty(t, inv.GPUStatement)
	require.Contains(t, strings.Join(inv.Notes, "\n"), "NVML")
	inv, err = Detect(context.Background(), DetectOptions{})
	require.NoError(t, err)
	require.Contains(t, inv.GPUStatement, "not looked for")
}

func TestSimulatedMachines(t *testing.T) {
	for model, want := range map[SimulatedModel]GPU{
		SimulatedA100: {Model: "SIMULATED NVIDIA A100-SXM4-40GB", VRAMMiB: 40960, Architecture: "Ampere", NVLinks: 12, PCIBusID: "0000:01:00.0", PCIID: "10de:20b0"},
		SimulatedH100: {Model: "SIMULATED NVIDIA H100 80GB HBM3", VRAMMiB: 81559, Architecture: "Hopper", NVLinks: 18, PCIBusID: "0000:19:00.0", PCIID: "10de:2330"},
	} {
		inv, err := Detect(context.Background(), DetectOptions{NVML: simulate(t, model, 3, 1)})
		require.NoError(t, err)
		require.True(t, inv.Simulated)
		require.Empty(t, inv.GPUStatement)
		require.Len(t, inv.GPUs, 3)
		require.Equal(t, CCOff, inv.Driver.CC)
		require.Equal(t, "12.4", inv.Driver.CUDA)
		g := inv.GPUs[1]
		require.True(t, strings.HasPrefix(g.UUID, "SIM-"))
		want.Index, want.UUID, want.Interconnect, want.Simulated = 1, g.UUID, NVLink, true
		require.Equal(t, want, g)
	}
	for _, bad := range []int{-1, 0, 9} {
		_, err := Simulate(SimulatedA100, bad, [32]byte{})
		require.ErrorIs(t, err, ErrSimulation)
	}
	_, err := Simulate("b200", 1, [32]byte{})
	require.ErrorIs(t, err, ErrSimulation)
}

func TestSimulatedDevicesAreTheAgentsOwn(t *testing.T) {
	seen := map[DeviceID]bool{}
	for _, m := range []SimulatedModel{SimulatedA100, SimulatedH100} {
		for seed := byte(0); seed < 4; seed++ {
			inv, err := Detect(context.Background(), DetectOptions{NVML: simulate(t, m, 8, seed)})
			require.NoError(t, err)
			again, err := Detect(context.Background(), DetectOptions{NVML: simulate(t, m, 8, seed)})
			require.NoError(t, err)
			require.Equal(t, inv.DeviceRoot(), again.DeviceRoot())
			for _, id := range inv.DeviceIDs() {
				require.False(t, seen[id])
				seen[id] = true
			}
		}
	}
}

func TestReadings(t *testing.T) {
	g, err := OpenGPUs(simulate(t, SimulatedH100, 2, 1))
	require.NoError(t, err)
	defer g.Close()
	list, err := g.Readings(context.Background())
	require.NoError(t, err)
	require.Len(t, list, 2)
	h := list[1]
	require.Equal(t, 1, h.Index)
	require.Empty(t, h.Silent)
	require.EqualValues(t, 32, *h.TemperatureC)
	require.EqualValues(t, 700_000, *h.PowerLimitMW)
	require.Nil(t, h.FanPercent)
	require.EqualValues(t, 0, *h.GPUPercent)
	require.EqualValues(t, 4, *h.MemoryUsedMiB)
	require.EqualValues(t, 0, *h.ECCUncorrected)
	require.False(t, *h.RowRemapFailed)
	require.True(t, *h.Persistence)
	require.EqualValues(t, 700_000, *h.DefaultPowerLimitMW)
	require.False(t, h.MIG || h.Shared || h.Waits)
}

// A driver that knows nothing new, and a device that has nothing but a name.
func TestOldDriverAndBareDevice(t *testing.T) {
	bare := &mock.Device{}
	fillMock(bare, readings{}, 0)
	bare.GetNameFunc = func() (string, nvml.Return) { return "Tesla P4", nvml.SUCCESS }
	bare.GetUUIDFunc = func() (string, nvml.Return) { return "GPU-1", nvml.SUCCESS }
	bare.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 8 << 30}, nvml.SUCCESS }
	bare.GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) { return nvml.PciInfo{}, nvml.ERROR_NOT_SUPPORTED }
	bare.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 0, nvml.ERROR_GPU_IS_LOST }
	// The functions below do not exist in that driver; calling them would crash.
	bare.GetArchitectureFunc, bare.GetMigModeFunc, bare.GetRemappedRowsFunc = nil, nil, nil
	n := &mock.Interface{
		InitFunc:                       func() nvml.Return { return nvml.SUCCESS },
		ShutdownFunc:                   func() nvml.Return { return nvml.SUCCESS },
		SystemGetDriverVersionFunc:     func() (string, nvml.Return) { return "390.1", nvml.SUCCESS },
		SystemGetNVMLVersionFunc:       func() (string, nvml.Return) { return "", nvml.ERROR_UNKNOWN },
		SystemGetCudaDriverVersionFunc: func() (int, nvml.Return) { return 0, nvml.ERROR_FUNCTION_NOT_FOUND },
		DeviceGetCountFunc:             func() (int, nvml.Return) { return 1, nvml.SUCCESS },
		DeviceGetHandleByIndexFunc:     func(int) (nvml.Device, nvml.Return) { return bare, nvml.SUCCESS },
		ExtensionsFunc: func() nvml.ExtendedInterface {
			return &mock.ExtendedInterface{LookupSymbolFunc: func(string) error { return errors.New("no such symbol") }}
		},
	}
	inv, err := Detect(context.Background(), DetectOptions{NVML: n})
	require.NoError(t, err)
	require.Equal(t, []GPU{{Model: "Tesla P4", UUID: "GPU-1", VRAMMiB: 8192, Interconnect: PCIe}}, inv.GPUs)
	require.Equal(t, Driver{Version: "390.1", CC: CCUnknown}, inv.Driver)
	require.False(t, inv.Simulated)
	g, err := OpenGPUs(n)
	require.NoError(t, err)
	list, err := g.Readings(context.Background())
	require.NoError(t, err)
	require.Equal(t, []Reading{{UUID: "GPU-1", Model: "Tesla P4", Silent: "the GPU is lost"}}, list)
	bare.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 40, nvml.SUCCESS }
	list, err = g.Readings(context.Background())
	require.NoError(t, err)
	require.EqualValues(t, 40, *list[0].TemperatureC)
	require.Nil(t, list[0].RowRemapFailed)
	require.Nil(t, list[0].Needs)
	require.False(t, list[0].MIG)

	// A device without a UUID cannot be registered.
	bare.GetUUIDFunc = func() (string, nvml.Return) { return "", nvml.ERROR_UNKNOWN }
	inv, err = Detect(context.Background(), DetectOptions{NVML: n})
	require.NoError(t, err)
	require.Empty(t, inv.GPUs)
	require.Contains(t, strings.Join(inv.Notes, "\n"), "UUID")
}

func TestConfidentialComputing(t *testing.T) {
	state, ret := nvml.ConfComputeSystemState{}, nvml.SUCCESS
	n := &mock.Interface{
		InitFunc:                      func() nvml.Return { return nvml.SUCCESS },
		SystemGetConfComputeStateFunc: func() (nvml.ConfComputeSystemState, nvml.Return) { return state, ret },
		ExtensionsFunc: func() nvml.ExtendedInterface {
			return &mock.ExtendedInterface{LookupSymbolFunc: func(string) error { return nil }}
		},
	}
	g, err := OpenGPUs(n)
	require.NoError(t, err)
	require.Equal(t, CCOff, g.confidential())
	state.CcFeature = nvml.CC_SYSTEM_FEATURE_ENABLED
	require.Equal(t, CCOn, g.confidential())
	state.DevToolsMode = nvml.CC_SYSTEM_DEVTOOLS_MODE_ON
	require.Equal(t, CCDevTools, g.confidential())
	ret = nvml.ERROR_NOT_SUPPORTED
	require.Equal(t, CCOff, g.confidential())
	ret = nvml.ERROR_UNKNOWN
	require.Equal(t, CCUnknown, g.confidential())
}

func TestDeviceRoot(t *testing.T) {
	require.Equal(t, [32]byte{}, DeviceRoot(nil))
	rapid.Check(t, func(rt *rapid.T) {
		uuids := rapid.SliceOfNDistinct(rapid.String(), 1, 9, rapid.ID).Draw(rt, "uuids")
		ids := make([]DeviceID, len(uuids))
		for i, u := range uuids {
			ids[i] = NewDeviceID(u)
		}
		root := DeviceRoot(ids)
		shuffled := rapid.Permutation(ids).Draw(rt, "order")
		require.Equal(rt, root, DeviceRoot(shuffled))
		require.Equal(rt, root, DeviceRoot(append(shuffled, ids[0])), "a device counts once")
		require.NotEqual(rt, root, DeviceRoot(append(shuffled, NewDeviceID("another one"))))
		require.NotEqual(rt, root, DeviceRoot(ids[1:]))
	})
}

func TestDiskErrors(t *testing.T) {
	_, err := MeasureDisk(context.Background(), "/no/such/dir", 1)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = MeasureDisk(context.Background(), t.TempDir(), 1<<60)
	require.ErrorIs(t, err, ErrNoSpace)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = MeasureDisk(ctx, t.TempDir(), 1)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Detect(ctx, DetectOptions{})
	require.ErrorIs(t, err, context.Canceled)
	inv, err := Detect(context.Background(), DetectOptions{DiskPath: "/no/such/dir"})
	require.NoError(t, err)
	require.Contains(t, strings.Join(inv.Notes, "\n"), "free disk space unknown")
}

func TestNetworkSpeed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 2)
	go func() {
		for range 2 {
			c, err := listener.Accept()
			if err != nil {
				served <- err
				return
			}
			served <- ServeSpeed(c)
			c.Close()
		}
	}()
	peer := StreamPeer{Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
	}}
	inv, err := Detect(context.Background(), DetectOptions{Peer: peer, NetworkTestBytes: 4 << 20})
	require.NoError(t, err)
	require.NoError(t, <-served)
	require.NoError(t, <-served)
	require.True(t, inv.Network.Measured, inv.Network.Note)
	require.Positive(t, inv.Network.UpMbps)
	require.Positive(t, inv.Network.DownMbps)
	require.NoError(t, listener.Close())

	inv, err = Detect(context.Background(), DetectOptions{Peer: peer})
	require.NoError(t, err)
	require.False(t, inv.Network.Measured)
	require.Contains(t, inv.Network.Note, "not measured")
}

// A peer that never answers must not hold the caller beyond its context.
func TestSilentPeer(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := StreamPeer{Dial: func(context.Context) (io.ReadWriteCloser, error) { return client, nil }}.Receive(ctx, 10)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestSpeedServerRefusesNonsense(t *testing.T) {
	for _, raw := range []string{"", "S", "X\x00\x00\x00\x00\x00\x00\x00\x00", "R\xff\xff\xff\xff\xff\xff\xff\x7f"} {
		require.ErrorIs(t, ServeSpeed(bytes.NewBufferString(raw)), ErrSpeed)
	}
}

// The chain has another implementation of the same rule; its vectors say what both must give.
func TestDeviceRootIsTheChains(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "idl", "vectors", "device_root.json"))
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Devices []string
			Root    string
		}
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	require.Len(t, file.Cases, 8)
	for _, c := range file.Cases {
		var ids []DeviceID
		for _, d := range c.Devices {
			b, err := hex.DecodeString(d)
			require.NoError(t, err)
			ids = append(ids, DeviceID(b))
		}
		root := DeviceRoot(ids)
		require.Equal(t, c.Root, hex.EncodeToString(root[:]))
	}
}
