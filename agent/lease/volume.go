package lease

import (
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
)

// minDiskMiB is what a volume leaves at least of its lease's share of the disk, for the container's other files.
const minDiskMiB = 64

// diskBeside is the disk that a lease's container has beside its volume; 0 is no limit.
func (m *Manager) diskBeside(r store.Lease) uint64 {
	disk := uint64(m.share(r, float64(m.o.Node.DiskMiB)))
	if disk == 0 || r.Job.Volume == nil {
		return disk
	}
	return max(disk, minDiskMiB+r.Job.Volume.MiB) - r.Job.Volume.MiB
}

// fits says why a job's volume is more than its lease's share of the disk allows.
func (m *Manager) fits(r store.Lease) error {
	disk, v := uint64(m.share(r, float64(m.o.Node.DiskMiB))), r.Job.Volume
	if disk == 0 || v == nil || v.MiB+minDiskMiB <= disk {
		return nil
	}
	return fmt.Errorf("%w: its %d MiB and %d MiB for the container's other files are more than the lease's %d MiB of the disk", runtime.ErrVolume, v.MiB, minDiskMiB, disk)
}

// setVolumeKey keeps the key of a lease's volume, or forgets it. The lease's worker forgets it once the job runs.
func (m *Manager) setVolumeKey(lease solana.PublicKey, key runtime.VolumeKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.volumeKeys[lease])
	delete(m.volumeKeys, lease)
	if key != nil {
		m.volumeKeys[lease] = slices.Clone(key)
	}
}

// volumeKey is a copy of the key of a lease's volume; nil if it is not here.
func (m *Manager) volumeKey(lease solana.PublicKey) runtime.VolumeKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.volumeKeys[lease])
}

func (m *Manager) hasVolumeKey(lease solana.PublicKey) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.volumeKeys[lease] != nil
}
