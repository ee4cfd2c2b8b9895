package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// ErrLost: a GPU that the machine had is gone.
var ErrLost = errors.New("host: a GPU is lost")

// Lost returns the UUIDs of the GPUs that the machine had when it was opened and that the driver calls lost or does not
// list any more. A driver that does not answer is an error, and says nothing about a GPU.
func (m *Machine) Lost(ctx context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gpus == nil {
		return nil, nil
	}
	return m.lost(ctx)
}

func (m *Machine) lost(ctx context.Context) ([]string, error) {
	there, err := m.gpus.present(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(m.UUIDs(), func(uuid string) bool { return slices.Contains(there, uuid) }), nil
}

// present lists the devices that answer. One that the driver calls lost is left out; any other error is one.
func (g *GPUs) present(ctx context.Context) ([]string, error) {
	var out []string
	err := g.handles(ctx, func(i int, d nvml.Device, ret nvml.Return) error {
		var uuid string
		if ret == nvml.SUCCESS {
			uuid, ret = d.GetUUID()
		}
		if ret == nvml.SUCCESS { // the driver knows the name of a device that does not answer any more
			if _, state := d.GetTemperature(nvml.TEMPERATURE_GPU); state == nvml.ERROR_GPU_IS_LOST {
				ret = state
			}
		}
		switch ret {
		case nvml.SUCCESS:
			out = append(out, uuid)
		case nvml.ERROR_GPU_IS_LOST:
		default:
			return fmt.Errorf("%w: device %d: %v", ErrNVML, i, ret)
		}
		return nil
	})
	return out, err
}

// losing is a simulated machine whose first GPU is lost while a file exists.
type losing struct {
	nvml.Interface
	file string
}

func (losing) simulated() bool { return true }

func (l losing) DeviceGetHandleByIndex(i int) (nvml.Device, nvml.Return) {
	if i == 0 {
		if _, err := os.Stat(l.file); err == nil {
			return nil, nvml.ERROR_GPU_IS_LOST
		}
	}
	return l.Interface.DeviceGetHandleByIndex(i)
}
