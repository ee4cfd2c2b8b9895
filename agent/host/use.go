package host

import (
	"context"
	"time"

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
	now, err := m.health(ctx)
	if err != nil {
		return nil, err
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

// health is what the driver says of each GPU that it has. The caller holds mu.
func (m *Machine) health(ctx context.Context) (map[string]Health, error) {
	list, err := m.gpus.Health(ctx)
	if err != nil {
		return nil, err
	}
	now := make(map[string]Health, len(list))
	for _, h := range list {
		now[h.UUID] = h
	}
	return now, nil
}

// Health is what the driver says now of the GPUs of the inventory, in its order; a GPU that it does not know any more is missing.
func (m *Machine) Health(ctx context.Context) ([]Health, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gpus == nil {
		return nil, nil
	}
	now, err := m.health(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Health, len(m.Inventory.GPUs))
	for i, g := range m.Inventory.GPUs {
		h, there := now[g.UUID]
		if !there {
			h = Health{UUID: g.UUID, At: time.Now().UTC(), Missing: true, Simulated: g.Simulated}
		}
		out[i] = h
	}
	return out, nil
}
