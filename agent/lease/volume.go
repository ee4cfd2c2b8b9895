package lease

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// diskBeside is the disk that a lease's container has beside its volume; 0 is no limit.
func (m *Manager) diskBeside(r store.Lease) uint64 {
	disk := m.share(r).DiskMiB
	if disk == 0 || r.Job.Volume == nil {
		return disk
	}
	return max(disk, jobspec.MinFilesMiB+r.Job.Volume.MiB) - r.Job.Volume.MiB
}

// volumeSecrets are what opens a lease's volume, and where its snapshots go.
type volumeSecrets struct {
	key    runtime.VolumeKey
	backup *messages.Backup
}

// setVolumeSecrets keeps what opens a lease's volume, or forgets it. The lease's worker forgets it once the job runs.
func (m *Manager) setVolumeSecrets(lease solana.PublicKey, s volumeSecrets) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.volumes[lease].key)
	delete(m.volumes, lease)
	if s.key != nil {
		m.volumes[lease] = volumeSecrets{slices.Clone(s.key), s.backup}
	}
}

// addVolumeSecrets gives the runtime what opens a job's volume. A lease that was moved goes on from the last snapshot that
// the machine before it has put on chain.
func (m *Manager) addVolumeSecrets(spec *runtime.Spec, r store.Lease) error {
	m.mu.Lock()
	s := m.volumes[solana.PublicKey(r.Address)]
	m.mu.Unlock()
	spec.VolumeKey = slices.Clone(s.key)
	if s.backup == nil {
		return nil
	}
	b := *s.backup
	if r.Checkpoint != "" {
		if n, err := hex.Decode(b.From[:], []byte(r.Checkpoint)); err != nil || n != len(b.From) {
			return fmt.Errorf("checkpoint %q of lease %s: %w", r.Checkpoint, spec.LeaseID, err)
		}
	}
	spec.Backup = &b
	return nil
}

func (m *Manager) hasVolumeKey(lease solana.PublicKey) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.volumes[lease].key != nil
}

// snapshotOf is the snapshot of a job's volume that is to be on chain; zero for none, and for one that could not be put there.
func (w *worker) snapshotOf(job runtime.Status) (hash [32]byte) {
	if job.Snapshot == nil {
		return hash
	}
	if n, err := hex.Decode(hash[:], []byte(job.Snapshot.Hash)); err != nil || n != len(hash) || hash == w.unsent {
		return [32]byte{}
	}
	return hash
}

// submitCheckpoint puts the hash of the last snapshot on chain. A failure is left to the next snapshot: nothing else of the
// lease may wait for it.
func (w *worker) submitCheckpoint(ctx context.Context, f Facts) error {
	err := w.m.o.Chain.Checkpoint(ctx, f.Account, f.Snapshot)
	if err != nil {
		w.unsent = f.Snapshot
		w.log.Warn().Err(err).Msg("the hash of a snapshot was not put on chain")
		return nil
	}
	w.log.Info().Hex("hash", f.Snapshot[:]).Msg("snapshot of the volume is on chain")
	err = w.awaitView(ctx, func(l market.Lease, ok bool) bool { return !ok || l.CheckpointHash == f.Snapshot })
	if l, ok := w.m.o.Chain.Lease(w.address); err == nil && ok && l.CheckpointHash != f.Snapshot {
		w.unsent = f.Snapshot // it is there, and the view is behind
	}
	return err
}
