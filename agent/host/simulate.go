package host

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	mockserver "github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
)

// simulatedPrefix opens the name of every simulated GPU.
const simulatedPrefix = "SIMULATED "

// simulatedUUID opens the UUID of every simulated GPU; real ones open with "GPU-".
const simulatedUUID = "SIM-"

// SimulatedModel is a GPU that can be simulated.
type SimulatedModel string

// Simulated models.
const (
	SimulatedA100 SimulatedModel = "a100" // A100-SXM4-40GB, from go-nvml's own mock
	SimulatedH100 SimulatedModel = "h100" // H100 80GB HBM3
)

// MaxSimulated is the most GPUs of a simulated machine.
const MaxSimulated = 8

// ErrSimulation: no such simulated machine.
var ErrSimulation = errors.New("host: cannot simulate that")

// simulation marks an nvml.Interface as not real.
type simulation struct{ nvml.Interface }

func (simulation) simulated() bool { return true }

func isSimulated(n nvml.Interface) bool {
	s, ok := n.(interface{ simulated() bool })
	return ok && s.simulated()
}

// Simulate returns an NVML with count GPUs of a model, for local networks and tests. Their UUIDs follow from the seed,
// so that each agent has devices of its own and keeps them over a restart.
func Simulate(model SimulatedModel, count int, seed [32]byte) (nvml.Interface, error) {
	if count < 1 || count > MaxSimulated {
		return nil, fmt.Errorf("%w: %d GPUs, must be 1 to %d", ErrSimulation, count, MaxSimulated)
	}
	server := dgxa100.New()
	devices := make([]nvml.Device, count)
	for i := range devices {
		uuid := simulatedDeviceUUID(model, i, seed)
		switch model {
		case SimulatedA100:
			d, ok := server.Devices[i].(*mockserver.Device)
			if !ok {
				return nil, fmt.Errorf("%w: unknown kind of A100 mock", ErrSimulation)
			}
			d.UUID, d.Config.Name = uuid, simulatedPrefix+"NVIDIA A100-SXM4-40GB"
			fillMock(&d.Device, readings{busID: d.PciBusID, device: 0x20B010DE, links: 12, temperature: 34, power: 52_000, limit: 400_000}, i)
			devices[i] = d
		case SimulatedH100:
			devices[i] = newH100(i, uuid)
		default:
			return nil, fmt.Errorf("%w: model %q, known are a100 and h100", ErrSimulation, model)
		}
	}
	server.DriverVersion, server.NvmlVersion = "550.54.15", "12.550.54.15"
	server.DeviceGetCountFunc = func() (int, nvml.Return) { return count, nvml.SUCCESS }
	server.DeviceGetHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i < 0 || i >= count {
			return nil, nvml.ERROR_INVALID_ARGUMENT
		}
		return devices[i], nvml.SUCCESS
	}
	server.DeviceGetHandleByUUIDFunc = func(uuid string) (nvml.Device, nvml.Return) {
		for _, d := range devices {
			if u, ret := d.GetUUID(); ret == nvml.SUCCESS && u == uuid {
				return d, nvml.SUCCESS
			}
		}
		return nil, nvml.ERROR_NOT_FOUND
	}
	server.SystemGetConfComputeStateFunc = func() (nvml.ConfComputeSystemState, nvml.Return) {
		return nvml.ConfComputeSystemState{}, nvml.SUCCESS // feature off
	}
	return simulation{server}, nil
}

// simulatedDeviceUUID has the shape of a UUID and is labelled.
func simulatedDeviceUUID(model SimulatedModel, index int, seed [32]byte) string {
	m := append([]byte("gantry-simulated-gpu"), seed[:]...)
	m = append(m, model...)
	m = binary.LittleEndian.AppendUint32(m, uint32(index))
	h := sha256.Sum256(m)
	h[6], h[8] = h[6]&0x0f|0x40, h[8]&0x3f|0x80
	return fmt.Sprintf("%s%x-%x-%x-%x-%x", simulatedUUID, h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// newH100 is a mock with the figures of an H100 SXM5 80GB.
func newH100(index int, uuid string) nvml.Device {
	d := &mock.Device{}
	d.GetNameFunc = func() (string, nvml.Return) { return simulatedPrefix + "NVIDIA H100 80GB HBM3", nvml.SUCCESS }
	d.GetUUIDFunc = func() (string, nvml.Return) { return uuid, nvml.SUCCESS }
	d.GetIndexFunc = func() (int, nvml.Return) { return index, nvml.SUCCESS }
	d.GetMinorNumberFunc = func() (int, nvml.Return) { return index, nvml.SUCCESS }
	d.GetBrandFunc = func() (nvml.BrandType, nvml.Return) { return nvml.BRAND_NVIDIA, nvml.SUCCESS }
	d.GetArchitectureFunc = func() (nvml.DeviceArchitecture, nvml.Return) { return nvml.DEVICE_ARCH_HOPPER, nvml.SUCCESS }
	d.GetCudaComputeCapabilityFunc = func() (int, int, nvml.Return) { return 9, 0, nvml.SUCCESS }
	d.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) {
		const total = 81559 * mib // as nvidia-smi shows it
		return nvml.Memory{Total: total, Free: total - 4*mib, Used: 4 * mib}, nvml.SUCCESS
	}
	d.GetMigModeFunc = func() (int, int, nvml.Return) { return 0, 0, nvml.SUCCESS }
	fillMock(d, readings{busID: fmt.Sprintf("0000:%02x:00.0", 0x18+index), device: 0x233010DE, links: 18, temperature: 31, power: 71_000, limit: 700_000}, index)
	return d
}

// readings of a device at rest.
type readings struct {
	busID                     string
	device                    uint32
	links                     int
	temperature, power, limit uint32
}

// fillMock gives a mock every function that this package calls; one that is missing would panic.
func fillMock(d *mock.Device, r readings, index int) {
	d.GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) {
		p := nvml.PciInfo{PciDeviceId: r.device}
		for i := 0; i < len(r.busID) && i < len(p.BusId)-1; i++ {
			setByte(&p.BusId[i], r.busID[i])
		}
		return p, nvml.SUCCESS
	}
	d.GetNvLinkStateFunc = func(link int) (nvml.EnableState, nvml.Return) {
		if link < 0 || link >= r.links {
			return 0, nvml.ERROR_INVALID_ARGUMENT
		}
		return nvml.FEATURE_ENABLED, nvml.SUCCESS
	}
	d.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) {
		return r.temperature + uint32(index), nvml.SUCCESS
	}
	d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return r.power + 500*uint32(index), nvml.SUCCESS }
	d.GetEnforcedPowerLimitFunc = func() (uint32, nvml.Return) { return r.limit, nvml.SUCCESS }
	d.GetFanSpeedFunc = func() (uint32, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED } // cooled by the chassis
	d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{}, nvml.SUCCESS }
	d.GetTotalEccErrorsFunc = func(nvml.MemoryErrorType, nvml.EccCounterType) (uint64, nvml.Return) {
		return 0, nvml.SUCCESS
	}
	d.GetPowerManagementDefaultLimitFunc = func() (uint32, nvml.Return) { return r.limit, nvml.SUCCESS }
	d.GetPersistenceModeFunc = func() (nvml.EnableState, nvml.Return) { return nvml.FEATURE_ENABLED, nvml.SUCCESS }
	d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.SUCCESS }
	d.GetProcessUtilizationFunc = func(uint64) ([]nvml.ProcessUtilizationSample, nvml.Return) { return nil, nvml.ERROR_NOT_FOUND }
	d.GetGpuFabricInfoFunc = func() (nvml.GpuFabricInfo, nvml.Return) { return nvml.GpuFabricInfo{}, nvml.ERROR_NOT_SUPPORTED }
	d.GetFieldValuesFunc = func([]nvml.FieldValue) nvml.Return { return nvml.ERROR_NOT_SUPPORTED }
	d.GetRemappedRowsFunc = func() (int, int, bool, bool, nvml.Return) { return 0, 0, false, false, nvml.SUCCESS }
}

func setByte[T ~int8 | ~uint8](dst *T, b byte) { *dst = T(b) }
