package host

import (
	"context"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Health is a snapshot of one GPU. A nil reading is one that the device or the driver does not have.
type Health struct {
	UUID         string    `json:"uuid"`
	At           time.Time `json:"at"`
	TemperatureC *uint32   `json:"temperature_c,omitempty"`
	PowerMW      *uint32   `json:"power_mw,omitempty"`
	PowerLimitMW *uint32   `json:"power_limit_mw,omitempty"`
	FanPercent   *uint32   `json:"fan_percent,omitempty"`
	// Utilisation of the last sampling interval, in percent.
	GPUPercent    *uint32 `json:"gpu_percent,omitempty"`
	MemoryPercent *uint32 `json:"memory_percent,omitempty"`
	MemoryUsedMiB *uint64 `json:"memory_used_mib,omitempty"`
	// ECC errors since the driver was loaded.
	ECCCorrected   *uint64 `json:"ecc_corrected,omitempty"`
	ECCUncorrected *uint64 `json:"ecc_uncorrected,omitempty"`
	// RowRemapFailed means that the memory cannot be repaired any more.
	RowRemapFailed *bool `json:"row_remap_failed,omitempty"`
	// Missing is true when the device does not answer.
	Missing   bool `json:"missing,omitempty"`
	Simulated bool `json:"simulated"`
}

// Health reads a snapshot of every device. A device that does not answer is no error: it is in the result as Missing, or not at all
// if the driver has no handle of it.
func (g *GPUs) Health(ctx context.Context) ([]Health, error) {
	var out []Health
	err := g.handles(ctx, func(_ int, d nvml.Device, ret nvml.Return) error {
		if ret == nvml.SUCCESS {
			out = append(out, g.snapshot(d))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (g *GPUs) snapshot(d nvml.Device) Health {
	h := Health{At: time.Now().UTC(), Simulated: g.Simulated()}
	h.UUID, _ = d.GetUUID()
	t, ret := d.GetTemperature(nvml.TEMPERATURE_GPU)
	h.Missing = silent(ret)
	h.TemperatureC = reading(t, ret)
	power, ret := d.GetPowerUsage()
	h.PowerMW = reading(power, ret)
	limit, ret := d.GetEnforcedPowerLimit()
	h.PowerLimitMW = reading(limit, ret)
	fan, ret := d.GetFanSpeed() // passively cooled devices have none
	h.FanPercent = reading(fan, ret)
	use, ret := d.GetUtilizationRates()
	h.GPUPercent, h.MemoryPercent = reading(use.Gpu, ret), reading(use.Memory, ret)
	memory, ret := d.GetMemoryInfo()
	h.MemoryUsedMiB = reading(memory.Used/mib, ret)
	corrected, ret := d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.VOLATILE_ECC)
	h.ECCCorrected = reading(corrected, ret)
	uncorrected, ret := d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC)
	h.ECCUncorrected = reading(uncorrected, ret)
	if g.has("nvmlDeviceGetRemappedRows") {
		_, _, _, failed, ret := d.GetRemappedRows()
		h.RowRemapFailed = reading(failed, ret)
	}
	return h
}

func reading[T any](v T, ret nvml.Return) *T {
	if ret != nvml.SUCCESS {
		return nil
	}
	return &v
}
