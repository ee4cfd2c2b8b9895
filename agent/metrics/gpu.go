package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// reading is one of dcgm-exporter's figures of a GPU. Source: github.com/NVIDIA/dcgm-exporter, etc/default-counters.csv.
type reading struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	// read returns nil where the device or the driver has no such reading.
	read func(GPU) *float64
}

func number[T uint32 | uint64](v *T, unit float64) *float64 {
	if v == nil {
		return nil
	}
	f := float64(*v) / unit
	return &f
}

func readings() []reading {
	of := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, gpuLabels, nil) }
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	return []reading{
		{of("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C)."), gauge, func(g GPU) *float64 { return number(g.Reading.TemperatureC, 1) }},
		{of("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W)."), gauge, func(g GPU) *float64 { return number(g.Reading.PowerMW, 1000) }},
		{of("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %)."), gauge, func(g GPU) *float64 { return number(g.Reading.GPUPercent, 1) }},
		{of("DCGM_FI_DEV_MEM_COPY_UTIL", "Memory utilization (in %)."), gauge, func(g GPU) *float64 { return number(g.Reading.MemoryPercent, 1) }},
		{of("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB)."), gauge, func(g GPU) *float64 { return number(g.Reading.MemoryUsedMiB, 1) }},
		{of("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB)."), gauge, func(g GPU) *float64 {
			if g.Reading.MemoryUsedMiB == nil || *g.Reading.MemoryUsedMiB > g.Device.VRAMMiB {
				return nil
			}
			free := float64(g.Device.VRAMMiB - *g.Reading.MemoryUsedMiB)
			return &free
		}},
		{of("DCGM_FI_DEV_FAN_SPEED", "Fan speed (in %)."), gauge, func(g GPU) *float64 { return number(g.Reading.FanPercent, 1) }},
		{of("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "Total number of single-bit volatile ECC errors."), counter, func(g GPU) *float64 { return number(g.Reading.ECCCorrected, 1) }},
		{of("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "Total number of double-bit volatile ECC errors."), counter, func(g GPU) *float64 { return number(g.Reading.ECCUncorrected, 1) }},
		{of("DCGM_FI_DEV_ROW_REMAP_FAILURE", "Whether remapping of rows has failed."), gauge, func(g GPU) *float64 {
			if g.Reading.RowRemapFailed == nil {
				return nil
			}
			v := 0.0
			if *g.Reading.RowRemapFailed {
				v = 1
			}
			return &v
		}},
	}
}

// gpuLabels are dcgm-exporter's, and whether the GPU is simulated: then its readings mean nothing.
var gpuLabels = []string{"gpu", "UUID", "pci_bus_id", "modelName", "simulated"}

// collectGPUs shows the readings of GPUs, and by missing which of them have fallen off the bus.
func (c *collector) collectGPUs(to chan<- prometheus.Metric, gpus []GPU) {
	for _, g := range gpus {
		index, simulated := strconv.Itoa(g.Device.Index), strconv.FormatBool(g.Device.Simulated)
		gone := 0.0
		if g.Reading.Silent != "" {
			gone = 1
		}
		to <- prometheus.MustNewConstMetric(c.missing, prometheus.GaugeValue, gone, index, simulated)
		if g.Reading.Silent != "" {
			continue
		}
		for _, r := range c.gpu {
			if v := r.read(g); v != nil {
				to <- prometheus.MustNewConstMetric(r.desc, r.kind, *v, index, g.Device.UUID, g.Device.PCIBusID, g.Device.Model, simulated)
			}
		}
	}
}
