package host

import (
	"context"

	"github.com/gantry-market/gantry/client/messages"
)

// Use is what the driver says of the GPUs in a mask now.
func (m *Machine) Use(ctx context.Context, mask uint64) ([]messages.GPUUse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []messages.GPUUse{}
	if m.gpus == nil {
		return out, nil
	}
	health, err := m.gpus.Health(ctx)
	if err != nil {
		return nil, err
	}
	now := make(map[string]Health, len(health))
	for _, h := range health {
		now[h.UUID] = h
	}
	for i, g := range m.Inventory.GPUs {
		if i >= 64 || mask>>i&1 == 0 {
			continue
		}
		h, there := now[g.UUID]
		out = append(out, messages.GPUUse{
			Name: g.Model, UUID: g.UUID, Percent: h.GPUPercent, MemoryUsedMiB: h.MemoryUsedMiB, MemoryMiB: g.VRAMMiB,
			TempC: h.TemperatureC, PowerMW: h.PowerMW, Missing: !there || h.Missing, Simulated: g.Simulated,
		})
	}
	return out, nil
}
