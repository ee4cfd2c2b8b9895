package lease

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

func volumeJob() messages.JobSpec {
	return messages.JobSpec{
		Version: messages.Version, Image: "registry.test/team/job@sha256:" + strings.Repeat("0", 64),
		Volume: &messages.Volume{Name: "data", MiB: 1 << 10, Path: "/data"},
	}
}

func withKey(job messages.JobSpec) messages.DeployRequest {
	req := deployRequest(job)
	req.VolumeKey = bytes.Repeat([]byte("volume key "), 6)[:messages.VolumeKeyBytes]
	return req
}

// volumeModel is an agent that is awarded a lease of a job with a volume.
func volumeModel(t *testing.T) *agentModel {
	t.Helper()
	c := newClock()
	a := &agentModel{t: t, clock: c, chain: newFakeChain(c), dir: memDir(t)}
	a.rt = newFakeRuntime(c)
	a.rt.prepare = func(context.Context, image.Credential) error { return nil }
	a.open()
	t.Cleanup(func() { require.NoError(t, a.store.Close()) })
	a.chain.award(volumeJob(), false, time.Hour, true)
	return a
}

func (a *agentModel) crash() {
	require.NoError(a.t, a.store.Close())
	a.open()
}

// stepTo acts until the next action would be another, and returns that one.
func (a *agentModel) stepTo(done Action) {
	for range 20 {
		if a.step().Action == done {
			return
		}
	}
	a.t.Fatal("the agent does not", done)
}

// The key goes to the runtime and nowhere else. An agent that was killed has it no more: the job waits for the customer to
// bring it again, before the lease starts and after.
func TestAVolumesKeyIsInMemoryAlone(t *testing.T) {
	for name, killed := range map[string]Action{"before the start": Wait, "between the start and the job": SubmitStart} {
		t.Run(name, func(t *testing.T) {
			a := volumeModel(t)
			_, err := a.m.Deploy(t.Context(), testCustomer, withKey(volumeJob()))
			require.NoError(t, err)
			if killed != Wait {
				a.stepTo(killed)
			}
			a.crash()
			for range 5 {
				require.Equal(t, Wait, a.step().Action)
			}
			require.Contains(t, a.step().Why, "key of the customer's volume")
			require.Zero(t, a.rt.starts)
			_, err = a.m.Deploy(t.Context(), testCustomer, withKey(volumeJob()))
			require.NoError(t, err)
			a.untilIdle()
			require.Equal(t, 1, a.rt.starts)
			spec := a.rt.jobs[testLease.String()].spec
			require.Equal(t, runtime.VolumeKey(withKey(volumeJob()).VolumeKey), spec.VolumeKey)
			require.Equal(t, volumeJob().Volume, spec.Volume)
			require.False(t, a.m.hasVolumeKey(testLease), "the supervisor has it now")
			_, err = a.m.Deploy(t.Context(), testCustomer, withKey(volumeJob()))
			require.NoError(t, err)
			require.False(t, a.m.hasVolumeKey(testLease), "also when it comes again")
			raw, err := os.ReadFile(filepath.Join(a.dir, "agent.db"))
			require.NoError(t, err)
			require.NotContains(t, string(raw), "volume key ")
			require.NotContains(t, string(raw), "dm9sdW1lIGtleS") // the same in base64
		})
	}
}

// A customer that keeps the key back pays for the machine that it holds, like one that brings no job.
func TestAVolumeWithoutItsKeyDoesNotHoldTheMachine(t *testing.T) {
	a := volumeModel(t)
	_, err := a.m.Deploy(t.Context(), testCustomer, withKey(volumeJob()))
	require.NoError(t, err)
	a.crash()
	require.Equal(t, Wait, a.step().Action)
	a.clock.add(a.chain.deadline / 2)
	a.untilIdle()
	require.Equal(t, 1, a.chain.starts)
	require.Zero(t, a.rt.starts)
}

func TestVolumesThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		disk  uint64
		key   int
		want  string
		never bool
	}{
		"more than the share": {1<<10 + jobspec.MinFilesMiB - 1, messages.VolumeKeyBytes, "more than the lease's 1087 MiB of the disk", true},
		"no key":              {0, 0, "the key of the volume has 0 bytes", false},
		"another key":         {0, 32, "the key of the volume has 32 bytes", false},
	} {
		t.Run(name, func(t *testing.T) {
			a := volumeModel(t)
			a.m.o.Node.DiskMiB = c.disk
			req := withKey(volumeJob())
			req.VolumeKey = req.VolumeKey[:c.key]
			_, err := a.m.Deploy(t.Context(), testCustomer, req)
			var refused *RefusedError
			require.ErrorAs(t, err, &refused)
			require.Contains(t, refused.Why, c.want)
			r, err := a.m.o.Store.Lease(store.Key(testLease))
			if !c.never {
				require.ErrorIs(t, err, store.ErrNotFound)
				return
			}
			require.NoError(t, err)
			require.NotEmpty(t, r.Refused)
			a.clock.add(a.chain.deadline)
			a.untilIdle()
			require.Zero(t, a.chain.starts)
		})
	}
}

// The container's other files have what the volume leaves of the lease's share.
func TestVolumesAreAPartOfTheShare(t *testing.T) {
	a := volumeModel(t)
	a.m.o.Node.DiskMiB = 3 << 10
	job := volumeJob()
	r := newEntry(market.Lease{})
	r.GPUMask = 1
	r.Job = &store.Job{Image: job.Image, Volume: job.Volume}
	require.NoError(t, a.m.fits(r, job))
	require.EqualValues(t, 2<<10, a.m.spec(r).Limits.DiskMiB)
	require.EqualValues(t, 2<<10, a.m.spec(r).Limits.ShareMiB, "of the files and the image together")
	require.EqualValues(t, 2<<10-jobspec.MinFilesMiB, a.m.spec(r).Limits.ImageMiB)
	r.Job.DiskMiB = 100
	require.EqualValues(t, 100, a.m.spec(r).Limits.DiskMiB)
	require.EqualValues(t, 2<<10-100, a.m.spec(r).Limits.ImageMiB)
	a.m.o.GPUUUIDs = []string{"1", "2"} // a half of the machine
	r.Job.DiskMiB = 0
	require.NoError(t, a.m.fits(r, job))
	require.EqualValues(t, 512, a.m.spec(r).Limits.DiskMiB)
	r.Job.Volume = nil
	require.EqualValues(t, 1536, a.m.spec(r).Limits.DiskMiB)
}

// The hash of each snapshot goes on chain, also of the last, before the lease ends. One that cannot be put there holds nothing
// up.
func TestSnapshotsGoOnChain(t *testing.T) {
	for name, fault := range map[string]fault{"sent": none, "lost": lost, "unsure": unsure} {
		t.Run(name, func(t *testing.T) {
			a := volumeModel(t)
			a.chain.lease.RunToCompletion = 1
			req := withBackup()
			_, err := a.m.Deploy(t.Context(), testCustomer, req)
			require.NoError(t, err)
			a.untilIdle()
			job := a.rt.jobs[testLease.String()]
			require.Equal(t, req.Backup, job.spec.Backup)
			first, last := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
			job.snapshot = &runtime.Snapshot{Hash: first}
			a.untilIdle()
			require.Equal(t, first, hex.EncodeToString(a.chain.lease.CheckpointHash[:]))
			a.rt.finish(0, false)
			job.snapshot = &runtime.Snapshot{Hash: last}
			a.chain.next = fault
			a.untilIdle()
			require.Equal(t, market.LeaseEnded, a.chain.lease.State())
			want := last
			if fault == lost {
				want = first
			}
			require.Equal(t, want, hex.EncodeToString(a.chain.lease.CheckpointHash[:]))
		})
	}
}

// A lease that was moved begins with the snapshot that the machine before it put on chain, another with that of the customer.
func TestMovedLeasesBeginWithTheLastSnapshot(t *testing.T) {
	for _, checkpoint := range [][32]byte{{}, {9, 9}} {
		a := volumeModel(t)
		a.chain.lease.CheckpointHash = checkpoint
		req := withBackup()
		req.Backup.From = [32]byte{1}
		_, err := a.m.Deploy(t.Context(), testCustomer, req)
		require.NoError(t, err)
		a.untilIdle()
		want := checkpoint
		if want == [32]byte{} {
			want = req.Backup.From
		}
		require.Equal(t, want, a.rt.jobs[testLease.String()].spec.Backup.From)
	}
	a := volumeModel(t)
	req := withKey(volumeJob())
	req.Backup = &messages.Backup{}
	_, err := a.m.Deploy(t.Context(), testCustomer, req)
	require.ErrorContains(t, err, "this is not a backup")
}

func withBackup() messages.DeployRequest {
	req := withKey(volumeJob())
	req.Backup = &messages.Backup{
		Endpoint: "https://s3.example", Bucket: "b", Prefix: "p", AccessKey: "a", SecretKey: "s", Key: make([]byte, messages.BackupKeyBytes),
	}
	return req
}
