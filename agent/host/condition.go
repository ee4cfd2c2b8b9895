package host

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Condition is what a provider can change about a GPU, or must know before renting it out. A nil reading is one that the device or
// the driver does not have.
type Condition struct {
	Index int
	// Lost is true when the driver calls the device lost; then nothing else is known.
	Lost bool
	MIG  bool
	// The limit in force, and the one that the device comes with, in milliwatts.
	PowerLimitMW, DefaultPowerLimitMW *uint32
	// Persistence keeps the driver's state of the device while nothing uses it.
	Persistence *bool
	// Uncorrected errors of memory since the driver was loaded.
	Uncorrected                     *uint64
	RowRemapPending, RowRemapFailed *bool
	// Processes that compute on the device.
	Processes []uint32
}

// Conditions reads every device. One that is lost is in the result; it is no error.
func (g *GPUs) Conditions(ctx context.Context) ([]Condition, error) {
	count, ret := g.n.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("%w: count devices: %v", ErrNVML, ret)
	}
	out := make([]Condition, count)
	for i := range out {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i].Index = i
		d, ret := g.n.DeviceGetHandleByIndex(i)
		if ret == nvml.ERROR_GPU_IS_LOST {
			out[i].Lost = true
			continue
		}
		if ret != nvml.SUCCESS {
			return nil, fmt.Errorf("%w: device %d: %v", ErrNVML, i, ret)
		}
		// The driver knows a device that does not answer any more; one without a thermometer is there nevertheless.
		if _, state := d.GetTemperature(nvml.TEMPERATURE_GPU); state == nvml.ERROR_GPU_IS_LOST {
			out[i].Lost = true
			continue
		}
		g.condition(d, &out[i])
	}
	return out, nil
}

func (g *GPUs) condition(d nvml.Device, c *Condition) {
	if g.has("nvmlDeviceGetMigMode") {
		mode, _, ret := d.GetMigMode()
		c.MIG = ret == nvml.SUCCESS && mode == nvml.DEVICE_MIG_ENABLE
	}
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
	if processes, ret := d.GetComputeRunningProcesses(); ret == nvml.SUCCESS {
		for _, p := range processes {
			c.Processes = append(c.Processes, p.Pid)
		}
	}
}
