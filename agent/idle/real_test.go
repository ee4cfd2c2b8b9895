package idle

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/records"
)

// The test binary serves as the agent's binary: it answers the hidden subcommand.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == runtime.InternalCommand {
		os.Exit(runtime.InternalMain(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// realMachine has one GPU without a lease, and real processes. Its time is that of a period in which nothing is measured for two minutes.
func realMachine(t *testing.T, root string, leased *atomic.Uint64, script string) (*Job, *runtime.Process) {
	t.Helper()
	p, err := runtime.NewProcess(t.Context(), runtime.ProcessOptions{
		Root: filepath.Join(root, "jobs"), Log: zerolog.Nop(),
		Cluster: runtime.Cluster{GenesisHash: "4sGjMW1sUnHzSxGspuhpqLDx6wiyjNtZAMdL4VZHirAn", Endpoints: []string{"http://127.0.0.1:8899", "ws://localhost:8900"}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = End(context.Background(), p) })
	quiet := time.Until(instant.Tick(1000, 3, hour).Add(90 * time.Second))
	j, err := New(Options{
		Runtime: p, Spec: runtime.Spec{Command: []string{"sh", "-c", script}}, UUIDs: []string{"SIM-0"},
		Resolve: func(_ context.Context, image string) (string, error) { return image, nil },
		Part:    func(int) jobspec.Share { return jobspec.Share{} },
		Leased:  func() (uint64, error) { return leased.Load(), nil }, Changed: func() <-chan struct{} { return nil },
		Withheld: func() string { return "" }, Share: func() (uint64, float64, bool) { return 0, 0, false }, Period: func() uint32 { return hour },
		Instants: func(context.Context, records.Period, int, int) (int, int, error) { return instant.Ticks, 0, errBlind },
		Output:   filepath.Join(root, "idle.log"), Now: func() time.Time { return time.Now().Add(quiet) }, Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	return j, p
}

func runs(t *testing.T, j *Job) func() {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- j.Run(ctx) }()
	return func() { cancel(); <-done }
}

// pidOf is the process that the job's script has written down, when it runs.
func pidOf(t *testing.T, path string, not int) (pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		raw, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(raw)))
		return err == nil && pid != not && syscall.Kill(pid, 0) == nil
	}, time.Minute, 20*time.Millisecond)
	return pid
}

func dead(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

// A real job that does not listen to SIGTERM is gone with all it has started when a lease may begin, and what it has printed is kept.
// The next agent adopts a running job, and restarts one whose supervisor was killed. Two never run at once.
func TestARealJob(t *testing.T) {
	root := t.TempDir()
	pidFile := filepath.Join(root, "pid")
	script := "trap '' TERM; echo hello; echo $$ > " + pidFile + "; sleep 1000 & while :; do wait; done"
	var leased atomic.Uint64
	first, p := realMachine(t, root, &leased, script)
	ctx, kill := context.WithCancel(t.Context())
	killed := make(chan struct{})
	go func() { // an agent that is killed ends nothing: what it does when it is told to end is left out
		defer close(killed)
		_ = first.adopt(ctx, true)
		for ctx.Err() == nil && !first.running() {
			_ = first.step(ctx)
			time.Sleep(10 * time.Millisecond)
		}
	}()
	pid := pidOf(t, pidFile, 0)
	kill()
	<-killed

	second, _ := realMachine(t, root, &leased, script)
	end := runs(t, second)
	require.Eventually(t, second.running, time.Minute, 10*time.Millisecond)
	require.Equal(t, pid, pidOf(t, pidFile, 0), "it is the same one")

	st, err := p.Status(t.Context(), ID)
	require.NoError(t, err)
	require.Equal(t, runtime.Running, st.Phase)
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(st.PID) + "/status")
	require.NoError(t, err)
	_, parent, _ := strings.Cut(string(raw), "PPid:\t")
	parent, _, _ = strings.Cut(parent, "\n")
	supervisor, err := strconv.Atoi(parent)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(supervisor, syscall.SIGKILL))
	next := pidOf(t, pidFile, pid)
	require.True(t, dead(pid))

	leased.Store(1)
	began := time.Now()
	require.NoError(t, second.Yield(t.Context(), 1))
	t.Logf("gone %v after the award", time.Since(began).Round(time.Millisecond))
	require.True(t, dead(next))
	require.NoDirExists(t, filepath.Join(root, "jobs", ID))
	kept, err := os.ReadFile(filepath.Join(root, "idle.log"))
	require.NoError(t, err)
	require.Contains(t, string(kept), "hello\n")
	time.Sleep(2 * lookEvery)
	require.NoDirExists(t, filepath.Join(root, "jobs", ID), "the GPU has a lease")
	end()
}

// What the job prints takes a bounded part of the disk, however long it prints.
func TestTheJobsOutputIsBounded(t *testing.T) {
	root := t.TempDir()
	var leased atomic.Uint64
	j, p := realMachine(t, root, &leased, "yes gantry | head -c 3000000")
	require.NoError(t, j.adopt(t.Context(), true))
	for range 12 {
		_, err := p.Start(t.Context(), j.specFor(1, "", time.Minute))
		require.NoError(t, err)
		st, err := p.Wait(t.Context(), ID)
		require.NoError(t, err)
		require.NoError(t, j.keep(st))
		require.NoError(t, j.remove(t.Context()))
	}
	var sum int64
	for _, path := range []string{j.o.Output, OlderOutput(j.o.Output)} {
		info, err := os.Stat(path)
		require.NoError(t, err, "it was begun anew")
		sum += info.Size()
	}
	require.Less(t, sum, int64(2*(keptBytes+2*logBytes)))
}

func (j *Job) running() bool {
	s, _ := j.State()
	return s.Runs()
}
