package host

import (
	"context"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gantry-market/gantry/agent/faults"
)

// Reading is what the driver says of one GPU now: how it is, what its owner can change about it, and what somebody must know
// before renting it out. Nil fields are those that the device or the driver does not have.
type Reading struct {
	Index int
	// UUID and Model are empty where the driver does not say them.
	UUID, Model string
	// Silent says why the device does not answer; then nothing else is known. Empty for one that does.
	Silent string

	TemperatureC, PowerMW *uint32
	// The limit in force, and the one that the device comes with, in milliwatts.
	PowerLimitMW, DefaultPowerLimitMW *uint32
	FanPercent                        *uint32
	// Utilisation of the last sampling interval, in percent.
	GPUPercent, MemoryPercent *uint32
	MemoryUsedMiB             *uint64
	// ECC errors since the driver was loaded.
	ECCCorrected, ECCUncorrected *uint64
	// A failed repair of rows means that the memory cannot be repaired any more.
	RowRemapPending, RowRemapFailed *bool

	MIG bool
	// Shared: the device has no memory of its own.
	Shared bool
	// Waits: the device is part of a fabric of NVSwitches that is not set up.
	Waits bool
	// Persistence keeps the driver's state of the device while nothing uses it.
	Persistence *bool
	// Needs is what the driver needs for the device.
	Needs *faults.Action
	// Processes that compute on the device.
	Processes []uint32
}

// Readings reads every device. One that does not answer is in the result; it is no error.
func (g *GPUs) Readings(ctx context.Context) ([]Reading, error) {
	var out []Reading
	err := g.handles(ctx, func(i int, d nvml.Device, ret nvml.Return) error {
		r := Reading{Index: i}
		if ret == nvml.SUCCESS {
			r.Model, _ = d.GetName()
			r.UUID, _ = d.GetUUID()
			ret = g.read(d, &r)
		}
		if ret != nvml.SUCCESS {
			r = Reading{Index: i, UUID: r.UUID, Model: r.Model, Silent: answer(ret)}
		}
		out = append(out, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// read returns what the driver answers for a device that does not answer any more.
func (g *GPUs) read(d nvml.Device, r *Reading) nvml.Return {
	// The driver knows a device that does not answer any more; one without a thermometer is there nevertheless.
	temperature, ret := d.GetTemperature(nvml.TEMPERATURE_GPU)
	if silent(ret) {
		return ret
	}
	r.TemperatureC = reading(temperature, ret)
	power, ret := d.GetPowerUsage()
	r.PowerMW = reading(power, ret)
	limit, ret := d.GetEnforcedPowerLimit()
	r.PowerLimitMW = reading(limit, ret)
	limit, ret = d.GetPowerManagementDefaultLimit()
	r.DefaultPowerLimitMW = reading(limit, ret)
	fan, ret := d.GetFanSpeed() // passively cooled devices have none
	r.FanPercent = reading(fan, ret)
	use, ret := d.GetUtilizationRates()
	r.GPUPercent, r.MemoryPercent = reading(use.Gpu, ret), reading(use.Memory, ret)
	memory, ret := d.GetMemoryInfo()
	r.MemoryUsedMiB, r.Shared = reading(memory.Used/mib, ret), ret == nvml.ERROR_NOT_SUPPORTED
	corrected, ret := d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.VOLATILE_ECC)
	r.ECCCorrected = reading(corrected, ret)
	uncorrected, ret := d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC)
	r.ECCUncorrected = reading(uncorrected, ret)
	if g.has("nvmlDeviceGetRemappedRows") {
		_, _, pending, failed, ret := d.GetRemappedRows()
		r.RowRemapPending, r.RowRemapFailed = reading(pending, ret), reading(failed, ret)
	}
	r.MIG, r.Waits = g.split(d), g.waits(d)
	persistence, ret := d.GetPersistenceMode()
	r.Persistence = reading(persistence == nvml.FEATURE_ENABLED, ret)
	if g.has("nvmlDeviceGetFieldValues") {
		if action, says := faults.ActionOf(d); says {
			r.Needs = &action
		}
	}
	if processes, ret := d.GetComputeRunningProcesses(); ret == nvml.SUCCESS {
		for _, p := range processes {
			r.Processes = append(r.Processes, p.Pid)
		}
	}
	return nvml.SUCCESS
}

// split reports whether a device is split in instances (MIG).
func (g *GPUs) split(d nvml.Device) bool {
	if !g.has("nvmlDeviceGetMigMode") {
		return false
	}
	mode, _, ret := d.GetMigMode()
	return ret == nvml.SUCCESS && mode == nvml.DEVICE_MIG_ENABLE
}

func reading[T any](v T, ret nvml.Return) *T {
	if ret != nvml.SUCCESS {
		return nil
	}
	return &v
}
