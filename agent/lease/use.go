package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/messages"
)

// useEvery is how often a lease is measured at most: a customer that asks more often gets the last measurement again.
const useEvery = time.Second

// usage remembers the last measurement of each lease.
type usage struct {
	mu   sync.Mutex
	last map[store.Key]messages.Use
	at   map[store.Key]time.Time
}

func newUsage() usage {
	return usage{last: map[store.Key]messages.Use{}, at: map[store.Key]time.Time{}}
}

// Use tells a customer what its lease uses. Error: *RefusedError.
func (m *Manager) Use(ctx context.Context, from solana.PublicKey, lease [32]byte) (messages.Use, error) {
	if err := m.authorise(ctx, from, lease); err != nil {
		return messages.Use{}, err
	}
	r, err := m.o.Store.Lease(lease)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return messages.Use{}, refuse(messages.JobMissing)
	case err != nil:
		return messages.Use{}, err
	case !r.State.Live():
		return messages.Use{}, refuse(messages.LeaseOver)
	case r.Job == nil:
		return messages.Use{}, refuse(messages.JobMissing)
	}
	m.usage.mu.Lock() // one measurement at a time: it reads many files
	defer m.usage.mu.Unlock()
	if last, ok := m.usage.last[lease]; ok && time.Since(m.usage.at[lease]) < useEvery {
		return last, nil
	}
	use, err := m.measure(ctx, r)
	if err != nil {
		return messages.Use{}, err
	}
	for known, at := range m.usage.at {
		if time.Since(at) > useEvery {
			delete(m.usage.last, known)
			delete(m.usage.at, known)
		}
	}
	m.usage.last[lease], m.usage.at[lease] = use, time.Now()
	return use, nil
}

// measure asks the runtime and the driver.
func (m *Manager) measure(ctx context.Context, r store.Lease) (messages.Use, error) {
	u, err := m.o.Runtime.Usage(ctx, keyString(r.Address))
	switch {
	case errors.Is(err, runtime.ErrStarting):
		return messages.Use{}, refuse(messages.ContainerStarts)
	case errors.Is(err, runtime.ErrNotFound), errors.Is(err, runtime.ErrNotRunning):
		return messages.Use{}, refuse("the lease's job does not run: %v", err)
	case err != nil:
		return messages.Use{}, fmt.Errorf("measure lease %s: %w", keyString(r.Address), err)
	}
	spec := m.spec(r)
	use := messages.Use{
		AtMs: uint64(u.At.UnixMilli()), CPUMs: uint64(u.CPU.Milliseconds()), MilliCPUs: uint64(spec.Limits.CPUs * 1000),
		Memory: u.Memory, MemoryLimit: spec.Limits.MemoryMiB << 20, Disk: u.Disk, DiskLimit: cmp.Or(u.DiskLimit, spec.Limits.DiskMiB<<20),
		Sent: u.Sent, Received: u.Received, Connected: spec.Network != "", GPUs: []messages.GPUUse{}, Volume: u.Volume, VolumeSize: u.VolumeSize,
	}
	if m.o.GPUs == nil {
		return use, nil
	}
	use.GPUs, err = m.o.GPUs(ctx, spec.GPUMask)
	return use, err
}
