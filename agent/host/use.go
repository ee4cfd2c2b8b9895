package host

import (
	"context"
	"slices"

	"github.com/gantry-market/gantry/sdk/messages"
)

// Use is what the driver says of the GPUs in a mask now.
func (m *Machine) Use(ctx context.Context, mask uint64) ([]messages.GPUUse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []messages.GPUUse{}
	if m.gpus == nil {
		return out, nil
	}
	now, err := m.readings(ctx, m.Inventory.GPUs)
	if err != nil {
		return nil, err
	}
	for i, g := range m.Inventory.GPUs {
		if i >= 64 || mask>>i&1 == 0 {
			continue
		}
		r := now[i]
		out = append(out, messages.GPUUse{
			Name: g.Model, UUID: g.UUID, Percent: r.GPUPercent, MemoryUsedMiB: r.MemoryUsedMiB, MemoryMiB: g.VRAMMiB,
			TempC: r.TemperatureC, PowerMW: r.PowerMW, Missing: r.Silent != "", Simulated: g.Simulated, PowerLimitMW: r.PowerLimitMW,
		})
	}
	return out, nil
}

// Readings is what the driver says now of the GPUs of the inventory, in its order; one that it does not know any more does not
// answer.
func (m *Machine) Readings(ctx context.Context) ([]Reading, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gpus == nil {
		return nil, nil
	}
	return m.readings(ctx, m.Inventory.GPUs)
}

// readings is Readings of these GPUs. The caller holds mu.
func (m *Machine) readings(ctx context.Context, of []GPU) ([]Reading, error) {
	list, err := m.gpus.Readings(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Reading, len(of))
	for i, g := range of {
		out[i] = Reading{Index: g.Index, UUID: g.UUID, Model: g.Model, Silent: "the driver does not list it any more"}
		if at := slices.IndexFunc(list, func(r Reading) bool { return r.UUID == g.UUID }); at >= 0 {
			out[i] = list[at]
		}
	}
	return out, nil
}
