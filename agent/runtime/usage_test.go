package runtime

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/internal/testkit/nettest"
)

// busy waits until a job has had so much of the processors, and returns the measurement.
func busy(t *testing.T, p *Process, lease string, least time.Duration) (u Usage) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		u, err = p.Usage(background(t), lease)
		require.NoError(t, err)
		return u.CPU >= least
	}, 2*time.Minute, 50*time.Millisecond, "%+v", &u)
	return u
}

// A container that keeps a processor busy, holds 100 MiB and fills 32 MiB of disk shows that, and its network's bytes.
func TestWhatAContainerUses(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	nettest.Internet(t, nettest.Web, nettest.Resolver)
	p, image := withDisks(t)
	p = restarted(t, p, network.Options{})
	began := time.Now()
	limits := Limits{MemoryMiB: 1024, DiskMiB: 32, Wall: 10 * time.Minute}
	_, err := p.Start(background(t), Spec{LeaseID: "idle", Image: image, Limits: limits, Network: NetworkInternet, Command: []string{"wait"}})
	require.NoError(t, err)
	_, err = p.Start(background(t), Spec{
		LeaseID: "busy", Image: image, Limits: limits, Network: NetworkInternet,
		Command: []string{"hold=100", "fill=/home/ml/x", "resolve=anything.example", "burn", "wait"},
	})
	require.NoError(t, err)
	for _, lease := range []string{"idle", "busy"} {
		require.Eventually(t, func() bool { return strings.Contains(printed(t, p, lease), "waiting") }, time.Minute, 20*time.Millisecond)
	}
	first := busy(t, p, "busy", 0)
	second := busy(t, p, "busy", first.CPU+3*time.Second)
	idle := busy(t, p, "idle", 0)
	t.Logf("busy: %+v", second)
	t.Logf("idle: %+v", idle)
	require.LessOrEqual(t, second.CPU, 4*time.Since(began), "no more than the job's threads can have had")
	require.Less(t, idle.CPU, second.CPU)
	require.Greater(t, second.Memory, uint64(100<<20))
	require.Less(t, second.Memory, uint64(300<<20))
	require.Greater(t, second.Memory, idle.Memory+90<<20)
	require.Greater(t, second.Disk, uint64(25<<20))
	require.LessOrEqual(t, second.Disk, uint64(32<<20))
	require.Less(t, idle.Disk, uint64(5<<20))
	require.Zero(t, second.Volume+second.VolumeSize, "it has none")
	require.Greater(t, second.Sent, idle.Sent)
	require.Greater(t, second.Received, idle.Received)

	for _, lease := range []string{"idle", "busy"} {
		_, err = p.Stop(background(t), lease, 0)
		require.NoError(t, err)
		_, err = p.Usage(background(t), lease)
		require.ErrorIs(t, err, ErrNotRunning)
		removeJob(t, p, lease)
		_, err = p.Usage(background(t), lease)
		require.ErrorIs(t, err, ErrNotFound)
	}
	requireNothingLeft(t)
}

// A job without a group of its own is measured by its processes.
func TestWhatAProcessUses(t *testing.T) {
	p := newRuntime(t)
	_, err := p.Start(background(t), shell("l", "head -c 5000000 /dev/zero > file; echo written; while :; do :; done"))
	require.NoError(t, err)
	waitOutput(t, p, "l", "written")
	u := busy(t, p, "l", time.Second)
	require.Greater(t, u.Memory, uint64(100<<10))
	require.Less(t, u.Memory, uint64(100<<20))
	require.GreaterOrEqual(t, u.Disk, uint64(5000000))
	require.Zero(t, u.Sent+u.Received)
	_, err = p.Usage(background(t), "other")
	require.ErrorIs(t, err, ErrNotFound)
	_, err = p.Usage(background(t), "../l")
	require.ErrorIs(t, err, ErrSpec)
}

// The files of a group of cgroup v2, which no machine of the tests has.
func TestUseByGroup(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cpu.stat": "usage_usec 2500000\nuser_usec 2000000\n", "memory.current": "200000\n", "memory.stat": "anon 100000\ninactive_file 50000\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	r := runRecord{Cgroup: dir}
	spent, memory, err := r.consumption("l")
	require.NoError(t, err)
	require.Equal(t, 2500*time.Millisecond, spent)
	require.Equal(t, uint64(150000), memory)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "memory.stat"), []byte("anon 1\n"), 0o600))
	_, _, err = r.consumption("l")
	require.ErrorContains(t, err, "inactive_file")
}

// A job that has not begun is asked again; one that is over is not.
func TestAJobThatHasNotBegunIsStarting(t *testing.T) {
	for phase, want := range map[Phase]error{Created: ErrStarting, Preparing: ErrStarting, Starting: ErrStarting, Exited: ErrNotRunning, Lost: ErrNotRunning} {
		require.ErrorIs(t, phase.notRunning(), want, phase)
	}
}

// A job's process is there before what is mounted for it.
func TestAContainerWithoutItsFileSystemsIsStarting(t *testing.T) {
	var r runRecord
	r.Job.PID = os.Getpid()
	missing := filepath.Join(t.TempDir(), "volume")
	_, _, err := r.mounted(missing)
	require.ErrorIs(t, err, ErrStarting)
	require.NoError(t, os.Mkdir(missing, 0o700))
	_, size, err := r.mounted(missing)
	require.NoError(t, err)
	require.NotZero(t, size)
	over := exec.Command("true")
	require.NoError(t, over.Run())
	r.Job.PID = over.Process.Pid
	_, _, err = r.mounted(missing)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NotErrorIs(t, err, ErrStarting)
}
