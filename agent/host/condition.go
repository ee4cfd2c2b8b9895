package host

import (
	"context"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gantry-market/gantry/agent/faults"
)

// Condition is what a provider can change about a GPU, or must know before renting it out. A nil reading is one that the device or
// the driver does not have.
type Condition struct {
	Index int
	// Model is empty where the driver does not say it.
	Model string
	// Silent says why the device does not answer; then nothing else is known. Empty for one that does.
	Silent string
	MIG    bool
	// Shared: the device has no memory of its own.
	Shared bool
	// Waits: the device is part of a fabric of NVSwitches that is not set up.
	Waits bool
	// The limit in force, and the one that the device comes with, in milliwatts.
	PowerLimitMW, DefaultPowerLimitMW *uint32
	// Persistence keeps the driver's state of the device while nothing uses it.
	Persistence *bool
	// Uncorrected errors of memory since the driver was loaded.
	Uncorrected                     *uint64
	RowRemapPending, RowRemapFailed *bool
	// Needs is what the driver needs for the device.
	Needs *faults.Action
	// Processes that compute on the device.
	Processes []uint32
}

// Conditions reads every device. One that does not answer is in the result; it is no error.
func (g *GPUs) Conditions(ctx context.Context) ([]Condition, error) {
	var out []Condition
	err := g.handles(ctx, func(i int, d nvml.Device, ret nvml.Return) error {
		c := Condition{Index: i}
		if ret == nvml.SUCCESS {
			c.Model, _ = d.GetName()
			// The driver knows a device that does not answer any more; one without a thermometer is there nevertheless.
			if _, state := d.GetTemperature(nvml.TEMPERATURE_GPU); silent(state) {
				ret = state
			}
		}
		if ret != nvml.SUCCESS {
			c.Silent = answer(ret)
		} else {
			g.condition(d, &c)
		}
		out = append(out, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (g *GPUs) condition(d nvml.Device, c *Condition) {
	if g.has("nvmlDeviceGetMigMode") {
		mode, _, ret := d.GetMigMode()
		c.MIG = ret == nvml.SUCCESS && mode == nvml.DEVICE_MIG_ENABLE
	}
	_, ret := d.GetMemoryInfo()
	c.Shared, c.Waits = ret == nvml.ERROR_NOT_SUPPORTED, g.waits(d)
	limit, ret := d.GetEnforcedPowerLimit()
	c.PowerLimitMW = reading(limit, ret)
	limit, ret = d.GetPowerManagementDefaultLimit()
	c.DefaultPowerLimitMW = reading(limit, ret)
	persistence, ret := d.GetPersistenceMode()
	c.Persistence = reading(persistence == nvml.FEATURE_ENABLED, ret)
	uncorrected, ret := d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC)
	c.Uncorrected = reading(uncorrected, ret)
	if g.has("nvmlDeviceGetRemappedRows") {
		_, _, pending, failed, ret := d.GetRemappedRows()
		c.RowRemapPending, c.RowRemapFailed = reading(pending, ret), reading(failed, ret)
	}
	if g.has("nvmlDeviceGetFieldValues") {
		if action, says := faults.ActionOf(d); says {
			c.Needs = &action
		}
	}
	if processes, ret := d.GetComputeRunningProcesses(); ret == nvml.SUCCESS {
		for _, p := range processes {
			c.Processes = append(c.Processes, p.Pid)
		}
	}
}
