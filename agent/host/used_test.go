package host

import (
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
	"github.com/stretchr/testify/require"
)

// known is a driver that has every function.
type known struct{ nvml.Interface }

func (known) Extensions() nvml.ExtendedInterface {
	return &mock.ExtendedInterface{LookupSymbolFunc: func(string) error { return nil }}
}

func TestUsedBy(t *testing.T) {
	n := simulate(t, SimulatedA100, 2, 1)
	d, ret := n.DeviceGetHandleByIndex(1)
	require.Equal(t, nvml.SUCCESS, ret)
	second, ok := d.(*server.Device)
	require.True(t, ok)
	uuid, _ := second.GetUUID()
	m := &Machine{nvml: n, gpus: &GPUs{n: known{n}}, Inventory: Inventory{GPUs: []GPU{{UUID: "SIM-gone"}, {UUID: uuid}}}}
	ours := func(pid uint32) bool { return pid == 1 }
	used := func(mask uint64) string {
		who, err := m.UsedBy(t.Context(), mask, ours)
		require.NoError(t, err)
		return who
	}
	compute := func(ret nvml.Return, pids ...uint32) {
		second.GetComputeRunningProcessesFunc = func() (out []nvml.ProcessInfo, _ nvml.Return) {
			for _, pid := range pids {
				out = append(out, nvml.ProcessInfo{Pid: pid})
			}
			return out, ret
		}
	}
	since := uint64(0)
	draw := func(ret nvml.Return, samples ...nvml.ProcessUtilizationSample) {
		second.GetProcessUtilizationFunc = func(from uint64) ([]nvml.ProcessUtilizationSample, nvml.Return) {
			since = from
			return samples, ret
		}
	}
	require.Empty(t, used(3))
	compute(nvml.SUCCESS, 1)
	require.Empty(t, used(3), "the agent's own")
	compute(nvml.SUCCESS, 1, 7)
	require.Equal(t, "process 7 computes on "+uuid, used(3))
	require.Empty(t, used(1), "another GPU")
	compute(nvml.ERROR_NOT_SUPPORTED)
	draw(nvml.SUCCESS, nvml.ProcessUtilizationSample{Pid: 8, SmUtil: usedPercent - 1}, nvml.ProcessUtilizationSample{Pid: 1, SmUtil: 100})
	require.Empty(t, used(3), "a desktop that stands still")
	require.InDelta(t, time.Now().Add(-samplesOf).UnixMicro(), since, 1e6*60)
	draw(nvml.SUCCESS, nvml.ProcessUtilizationSample{Pid: 8, SmUtil: usedPercent})
	require.Equal(t, "process 8 takes 10 % of "+uuid, used(3))
	draw(nvml.ERROR_NOT_FOUND)
	require.Empty(t, used(3))
	compute(nvml.ERROR_UNKNOWN)
	_, err := m.UsedBy(t.Context(), 3, ours)
	require.ErrorIs(t, err, ErrNVML)
	first, ret := m.nvml.DeviceGetHandleByIndex(0)
	require.Equal(t, nvml.SUCCESS, ret)
	m.Inventory.GPUs[0].UUID, _ = first.GetUUID()
	first.(*server.Device).GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.ERROR_UNKNOWN }
	compute(nvml.SUCCESS, 7)
	require.Contains(t, used(3), "process 7", "an error of the first GPU hides no use of the second")
}
