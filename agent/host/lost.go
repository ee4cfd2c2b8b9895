package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// ErrLost: a GPU that the machine had is gone.
var ErrLost = errors.New("host: a GPU is lost")

// Gone is a GPU that the machine had when it was opened and that does not answer any more.
type Gone struct {
	// Index, UUID and Model are as the inventory has them.
	Index       int
	UUID, Model string
	// Why is what the driver answers; empty where it does not list the device any more.
	Why string
	// Silent: the driver lists the device and does not call it lost.
	Silent bool
}

// Reason says for people what the driver answers, with the GPU's model.
func (g Gone) Reason() string {
	if g.Why == "" {
		return g.Model + ", which the driver does not list any more"
	}
	return g.Model + ": " + g.Why
}

// Gone returns the GPUs that the machine had when it was opened and that do not answer: the driver calls them lost, does not list
// them any more, or has nothing but errors for them. A driver that does not answer for any GPU is an error, and says nothing
// about one.
func (m *Machine) Gone(ctx context.Context) ([]Gone, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gpus == nil {
		return nil, nil
	}
	return m.gone(ctx)
}

// gone is Gone. The caller holds mu.
func (m *Machine) gone(ctx context.Context) ([]Gone, error) {
	there, away, err := m.gpus.present(ctx)
	if err != nil {
		return nil, err
	}
	var out []Gone
	for i, g := range m.Inventory.GPUs {
		if slices.Contains(there, g.UUID) {
			continue
		}
		one := Gone{Index: i, UUID: g.UUID, Model: g.Model}
		for _, s := range away { // a device without a handle has no UUID: its place says which it is
			if s.UUID == g.UUID || s.UUID == "" && s.Index == g.Index {
				one.Why, one.Silent = answer(s.Ret), s.Ret != nvml.ERROR_GPU_IS_LOST
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// present lists the UUIDs of the devices that answer, and why others do not. Where no device answers and the driver calls none
// lost or in need of a reset, that may be the driver: an error.
func (g *GPUs) present(ctx context.Context) (there []string, away []*SilentError, err error) {
	certain := false
	err = g.handles(ctx, func(i int, d nvml.Device, ret nvml.Return) error {
		s := SilentError{Index: i, What: "handle", Ret: ret}
		if s.Ret == nvml.SUCCESS {
			s.What = "UUID"
			s.UUID, s.Ret = d.GetUUID()
		}
		if s.Ret == nvml.SUCCESS { // the driver knows the name of a device that does not answer any more
			if _, state := d.GetTemperature(nvml.TEMPERATURE_GPU); silent(state) {
				s.What, s.Ret = "temperature", state
			}
		}
		if s.Ret == nvml.SUCCESS {
			there = append(there, s.UUID)
			return nil
		}
		certain = certain || s.Ret == nvml.ERROR_GPU_IS_LOST || s.Ret == nvml.ERROR_RESET_REQUIRED
		away = append(away, &s)
		return nil
	})
	if err == nil && len(there) == 0 && len(away) > 0 && !certain {
		return nil, nil, fmt.Errorf("%w: no device answers: %w", ErrNVML, away[0])
	}
	return there, away, err
}
