package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// withDisks is a runtime whose containers have file systems of their own.
func withDisks(t *testing.T) (*Process, string) {
	t.Helper()
	p, reference := containers(t)
	_, err := findMkfs()
	if err == nil {
		_, err = os.Stat("/dev/loop-control")
	}
	if err != nil {
		t.Skipf("SKIPPED: no file systems for containers: %v: run scripts/toolchain.sh sandbox", err)
	}
	return p, reference
}

// attached are the loop devices of a runtime's leases.
func attached(t *testing.T, p *Process) (out []string) {
	t.Helper()
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	require.NoError(t, err)
	for _, f := range files {
		if raw, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(raw), p.root) {
			out = append(out, f)
		}
	}
	return out
}

func nothingAttached(t *testing.T, p *Process) {
	t.Helper()
	require.Eventually(t, func() bool { return len(attached(t, p)) == 0 }, time.Minute, 20*time.Millisecond, "the device is free again")
}

// A full disk is an error of the job's own, which it sees and survives; the node's disk is as it was.
func TestHostileContainersFillTheirOwnDisk(t *testing.T) {
	p, reference := withDisks(t)
	st, out := ran(t, p, Spec{
		LeaseID: "full", Image: reference, Command: []string{"fill=/home/ml/x", "fill=/home/ml/y", "who", "exit"}, Limits: Limits{DiskMiB: 32, Wall: 2 * time.Minute},
	})
	require.Equal(t, ReasonExited, st.Exit.Reason, out)
	require.Equal(t, 9, st.Exit.Code, out)
	require.Equal(t, 2, strings.Count(out, "no space left on device"), out)
	require.Contains(t, out, "who 1 1000 1000")
	require.Contains(t, strings.Join(st.Limits, "\n"), "disk 32 MiB: a file system of its own on /dev/loop")
	d, err := p.dir("full")
	require.NoError(t, err)
	var file syscall.Stat_t
	require.NoError(t, syscall.Stat(d.diskFile(), &file))
	require.LessOrEqual(t, file.Blocks*512, int64(32<<20))
	nothingAttached(t, p)
	removeJob(t, p, "full")
	require.NoDirExists(t, string(d))
}

// A disk is as large as it is ordered, and takes of the node what is written to it.
func TestDisksTakeWhatIsWritten(t *testing.T) {
	p, reference := withDisks(t)
	st, out := ran(t, p, Spec{LeaseID: "large", Image: reference, Command: []string{"who"}, Limits: Limits{DiskMiB: 1 << 20, Wall: 2 * time.Minute}})
	require.Equal(t, 0, st.Exit.Code, out)
	d, err := p.dir("large")
	require.NoError(t, err)
	var file syscall.Stat_t
	require.NoError(t, syscall.Stat(d.diskFile(), &file))
	require.Equal(t, int64(1<<40), file.Size)
	require.Less(t, file.Blocks*512, int64(1<<30))
	t.Logf("a file system of 1 TiB takes %d MiB, and was made and left in %v", file.Blocks*512>>20, st.Exit.FinishedAt.Sub(st.Exit.StartedAt))
	nothingAttached(t, p)
}

// An image is a part of its lease's share of the disk: one that does not fit is refused at once, also where another lease has fetched it.
// What it leaves is the job's, if the job names no disk of its own.
func TestAnImageIsAPartOfTheShare(t *testing.T) {
	p, reference := withDisks(t)
	spec := Spec{LeaseID: "tight", Image: reference, Command: []string{"who"}, Limits: Limits{DiskMiB: 1024, ShareMiB: 1025, ImageMiB: 1, Wall: 2 * time.Minute}}
	require.ErrorIs(t, p.Prepare(background(t), spec, Pull{}), ErrSpec)
	removeJob(t, p, "tight")

	for id, limits := range map[string]Limits{"whole": {DiskMiB: 256, ShareMiB: 256, ImageMiB: 192}, "named": {DiskMiB: 64, ShareMiB: 256, ImageMiB: 192}} {
		limits.Wall = 2 * time.Minute
		st, out := ran(t, p, Spec{LeaseID: id, Image: reference, Command: []string{"who"}, Limits: limits})
		require.Equal(t, 0, st.Exit.Code, out)
		d, err := p.dir(id)
		require.NoError(t, err)
		c, err := readContainer(d)
		require.NoError(t, err)
		require.Greater(t, c.Bytes, int64(1<<20), "the image of this test has a program")
		want := uint64(64)
		if id == "whole" {
			want = 256 - uint64(c.Bytes+1<<20-1)>>20
		}
		file, err := os.Stat(d.diskFile())
		require.NoError(t, err)
		require.EqualValues(t, want<<20, file.Size())
	}
	_, err := p.Start(background(t), spec)
	require.ErrorIs(t, err, ErrSpec)
	require.ErrorContains(t, err, "more than the 1 MiB that it may take here")
	nothingAttached(t, p)
}

// Whoever is killed, the kernel frees the device.
func TestDisksGoWithTheirSupervisor(t *testing.T) {
	p, reference := withDisks(t)
	_, err := p.Start(background(t), Spec{LeaseID: "l", Image: reference, Command: []string{"wait"}, Limits: Limits{DiskMiB: 32}})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.Contains(printed(t, p, "l"), "waiting") }, time.Minute, 20*time.Millisecond)
	require.Len(t, attached(t, p), 1)
	d, err := p.dir("l")
	require.NoError(t, err)
	var r runRecord
	_, err = readJSON(d.run(), &r)
	require.NoError(t, err)
	require.NoError(t, r.Supervisor.Signal(syscall.SIGKILL))
	nothingAttached(t, p)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	require.NotContains(t, string(mounts), p.root)
	st, err := p.Status(background(t), "l")
	require.NoError(t, err)
	require.Equal(t, Lost, st.Phase)
	removeJob(t, p, "l")
}

// Where there can be no file system the disk is watched as before, and the lease says why.
func TestDisksThatCannotBeMade(t *testing.T) {
	p, reference := containers(t)
	d, err := p.dir("l")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(d.diskFile(), 0o700)) // in the file's place
	st, out := ran(t, p, Spec{LeaseID: "l", Image: reference, Command: []string{"fill=/home/ml/x"}, Limits: Limits{DiskMiB: 8, Wall: 2 * time.Minute}})
	require.Equal(t, ReasonDisk, st.Exit.Reason, out)
	require.Contains(t, strings.Join(st.Limits, "\n"), "watch over the directory, because it can have no file system of its own")
	t.Logf("a disk of 8 MiB that is watched had %d MiB when the job was killed", diskUse(d.work(), 1<<40)>>20)
}
