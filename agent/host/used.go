package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

const (
	// usedPercent is the share of a GPU's time from which on a process that only draws uses it: a desktop that stands still does not.
	usedPercent = 10
	// samplesOf is how far back the driver's samples count.
	samplesOf = 10 * time.Second
)

// UsedBy says which process uses one of the GPUs in a mask, ours aside; empty for none. A process uses a GPU that it computes on,
// whatever it does there, because it has memory; one that only draws uses it from a tenth of its time on.
func (m *Machine) UsedBy(ctx context.Context, mask uint64, ours func(pid uint32) bool) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gpus == nil {
		return "", nil
	}
	var failed error // of one GPU: the others are looked at nevertheless
	for i, g := range m.Inventory.GPUs {
		if i >= 64 || mask>>i&1 == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
		who, err := m.gpus.usedBy(g.UUID, ours)
		if err == nil && who != "" {
			return who, nil
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}

func (g *GPUs) usedBy(uuid string, ours func(pid uint32) bool) (string, error) {
	d, ret := g.n.DeviceGetHandleByUUID(uuid)
	if ofDriver(ret) {
		return "", fmt.Errorf("%w: device %s: %v", ErrNVML, uuid, ret)
	}
	if ret != nvml.SUCCESS {
		return "", nil // nobody uses what does not answer
	}
	computing, ret := d.GetComputeRunningProcesses()
	switch ret {
	case nvml.SUCCESS, nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_GPU_IS_LOST:
	default:
		return "", fmt.Errorf("%w: processes of device %s: %v", ErrNVML, uuid, ret)
	}
	for _, p := range computing {
		if !ours(p.Pid) {
			return fmt.Sprintf("process %d computes on %s", p.Pid, uuid), nil
		}
	}
	if !g.has("nvmlDeviceGetProcessUtilization") {
		return "", nil
	}
	// Microseconds. A driver that keeps no samples, or has none that are newer, says nothing.
	samples, ret := d.GetProcessUtilization(uint64(time.Now().Add(-samplesOf).UnixMicro()))
	if ret != nvml.SUCCESS {
		return "", nil
	}
	for _, s := range samples {
		if s.SmUtil >= usedPercent && !ours(s.Pid) {
			return fmt.Sprintf("process %d takes %d %% of %s", s.Pid, s.SmUtil, uuid), nil
		}
	}
	return "", nil
}
