package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/jobspec"
)

// The test binary serves as the agent's binary: it answers the hidden subcommand, and "test-agent ROOT LEASE" is an
// agent that starts a job and then waits to be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case InternalCommand:
			os.Exit(InternalMain(os.Args[2:]))
		case "test-agent":
			testAgent(os.Args[2], os.Args[3])
			return
		case "volume-agent":
			volumeAgent(os.Args[2:])
			return
		}
	}
	os.Exit(m.Run())
}

func testAgent(root, lease string) {
	p, err := NewProcess(context.Background(), options(root))
	if err == nil {
		_, err = p.Start(context.Background(), Spec{
			LeaseID: lease,
			Command: []string{"sh", "-c", "echo begun; sleep 1.2; echo done; exit 7"},
		})
	}
	fmt.Println("started", err)
	select {}
}

func options(root string) ProcessOptions {
	return ProcessOptions{
		Root: root,
		Cluster: Cluster{
			GenesisHash: "4sGjMW1sUnHzSxGspuhpqLDx6wiyjNtZAMdL4VZHirAn",
			Endpoints:   []string{"http://127.0.0.1:8899", "ws://localhost:8900"},
		},
		Log: zerolog.Nop(),
	}
}

func newRuntime(t *testing.T) *Process {
	t.Helper()
	root := t.TempDir()
	p, err := NewProcess(context.Background(), options(root))
	require.NoError(t, err)
	t.Cleanup(func() { stopAll(t, p) })
	return p
}

// stopAll ends the jobs that a test has left.
func stopAll(t *testing.T, p *Process) {
	t.Helper()
	entries, err := os.ReadDir(p.root)
	require.NoError(t, err)
	for _, e := range entries {
		if _, err := p.Stop(context.Background(), e.Name(), 0); err != nil {
			require.ErrorIs(t, err, ErrNotFound)
		}
	}
}

// removeJob removes a job that is over. Its supervisor writes the exit shortly before it gives up the lock.
func removeJob(t *testing.T, p *Process, lease string) {
	t.Helper()
	require.Eventually(t, func() bool { return !errors.Is(p.Remove(background(t), lease), ErrRunning) }, time.Minute, 10*time.Millisecond)
	_, err := p.Status(background(t), lease)
	require.ErrorIs(t, err, ErrNotFound)
}

func background(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func shell(lease, script string) Spec {
	return Spec{LeaseID: lease, Command: []string{"sh", "-c", script}}
}

func runToEnd(t *testing.T, p *Process, s Spec) Status {
	t.Helper()
	ctx := background(t)
	_, err := p.Start(ctx, s)
	require.NoError(t, err)
	st, err := p.Wait(ctx, s.LeaseID)
	require.NoError(t, err)
	require.Equal(t, Exited, st.Phase)
	return st
}

func output(t *testing.T, p *Process, lease string, stream Stream) string {
	t.Helper()
	r, err := p.Logs(background(t), lease, stream, 0, false)
	require.NoError(t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(b)
}

func TestJobRunsAndItsExitIsKept(t *testing.T) {
	t.Parallel()
	p := newRuntime(t)
	st := runToEnd(t, p, shell("lease1", "echo out; echo err >&2; exit 3"))
	require.Equal(t, ReasonExited, st.Exit.Reason)
	require.Equal(t, 3, st.Exit.Code)
	require.False(t, st.Exit.FinishedAt.Before(st.Exit.StartedAt))
	require.Equal(t, "out\n", output(t, p, "lease1", Stdout))
	require.Equal(t, "err\n", output(t, p, "lease1", Stderr))
	require.NotEmpty(t, st.Limits)

	_, err := p.Start(background(t), shell("lease1", "true"))
	require.ErrorIs(t, err, ErrExists)
	removeJob(t, p, "lease1")
	_, err = p.Status(background(t), "lease1")
	require.ErrorIs(t, err, ErrNotFound)
}

func TestJobThatCannotStart(t *testing.T) {
	t.Parallel()
	p := newRuntime(t)
	for i, command := range [][]string{{"/no/such/program"}, {"no-such-program-anywhere"}, {"/etc/passwd"}, {"/"}} {
		lease := "bad" + strconv.Itoa(i)
		st, err := p.Start(background(t), Spec{LeaseID: lease, Command: command})
		require.NoError(t, err)
		st, err = p.Wait(background(t), st.LeaseID)
		require.NoError(t, err)
		require.Equal(t, ReasonStartFailed, st.Exit.Reason)
		require.Equal(t, 127, st.Exit.Code)
		require.NotEmpty(t, st.Exit.Message)
	}
}

func TestEnvironmentIsClean(t *testing.T) {
	t.Setenv("SECRET_OF_THE_AGENT", "x")
	p := newRuntime(t)
	s := shell("envlease", "env; pwd; ulimit -n; ulimit -c; ls /proc/self/fd | wc -l; tr '\\0' '\\n' < /proc/$PPID/environ")
	s.Env = map[string]string{"GREETING": "hello world"}
	s.GPUMask = 0b1010
	s.GPUUUIDs = []string{"GPU-a", "GPU-b"}
	runToEnd(t, p, s)
	out := output(t, p, "envlease", Stdout)
	require.NotContains(t, out, "SECRET")
	work := leaseDir(filepath.Join(p.root, "envlease")).work()
	for _, want := range []string{
		"GANTRY_LEASE=envlease\n", "GANTRY_GPU_MASK=10\n", "GANTRY_GPUS=1,3\n", "GANTRY_GPU_COUNT=2\n",
		"CUDA_VISIBLE_DEVICES=GPU-a,GPU-b\n", "GREETING=hello world\n", "HOME=" + work + "\n", "\n" + work + "\n4096\n0\n",
	} {
		require.Contains(t, out, want)
	}
	require.Contains(t, out, "\n4\n", "only stdin, stdout, stderr and the listing itself are open")
	require.Empty(t, output(t, p, "envlease", Stderr))

	s = shell("nogpu", "echo [$CUDA_VISIBLE_DEVICES] $NVIDIA_VISIBLE_DEVICES")
	runToEnd(t, p, s)
	require.Equal(t, "[] void\n", output(t, p, "nogpu", Stdout))
}

func TestBadSpecs(t *testing.T) {
	p := newRuntime(t)
	ok := Spec{LeaseID: "l", Command: []string{"true"}}
	for name, change := range map[string]func(*Spec){
		"escape":         func(s *Spec) { s.LeaseID = "../x" },
		"no id":          func(s *Spec) { s.LeaseID = "" },
		"dot":            func(s *Spec) { s.LeaseID = ".." },
		"no command":     func(s *Spec) { s.Command = nil },
		"empty command":  func(s *Spec) { s.Command = []string{""} },
		"zero byte":      func(s *Spec) { s.Command = []string{"a\x00b"} },
		"env name":       func(s *Spec) { s.Env = map[string]string{"A=B": ""} },
		"reserved env":   func(s *Spec) { s.Env = map[string]string{"GANTRY_LEASE": "other"} },
		"preload":        func(s *Spec) { s.Env = map[string]string{"LD_PRELOAD": "x"} },
		"gpu count":      func(s *Spec) { s.GPUUUIDs = []string{"a"} },
		"negative cpus":  func(s *Spec) { s.Limits.CPUs = -1 },
		"negative wall":  func(s *Spec) { s.Limits.Wall = -1 },
		"overflow":       func(s *Spec) { s.Limits.MemoryMiB = 1 << 50 },
		"too long":       func(s *Spec) { s.Command = []string{strings.Repeat("x", jobspec.MaxBytes)} },
		"negative log":   func(s *Spec) { s.Limits.LogBytes = -1 },
		"visible device": func(s *Spec) { s.Env = map[string]string{"CUDA_VISIBLE_DEVICES": "0"} },
	} {
		s := ok
		change(&s)
		_, err := p.Start(background(t), s)
		require.ErrorIs(t, err, ErrSpec, name)
	}
	s := ok
	s.Image = "ubuntu:24.04"
	_, err := p.Start(background(t), s)
	require.ErrorIs(t, err, ErrSpec)
	s.Image = "ubuntu@sha256:" + strings.Repeat("a", 64)
	_, err = p.Start(background(t), s)
	require.ErrorIs(t, err, ErrImage)
	entries, err := os.ReadDir(p.root)
	require.NoError(t, err)
	require.Empty(t, entries, "a refused job leaves nothing behind")
	_, err = p.Logs(background(t), "l", Stdout, 0, false)
	require.ErrorIs(t, err, ErrNotFound)
	_, err = p.Stop(background(t), "l", 0)
	require.ErrorIs(t, err, ErrNotFound)
}

func TestStopWithGrace(t *testing.T) {
	t.Parallel()
	p := newRuntime(t)
	s := shell("graceful", `trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.05; done`)
	_, err := p.Start(background(t), s)
	require.NoError(t, err)
	waitOutput(t, p, "graceful", "up\n")
	st, err := p.Stop(background(t), "graceful", 5*time.Second)
	require.NoError(t, err)
	require.Equal(t, ReasonStopped, st.Exit.Reason)
	require.Equal(t, 5, st.Exit.Code)
	require.Contains(t, output(t, p, "graceful", Stdout), "bye")
	again, err := p.Stop(background(t), "graceful", 0)
	require.NoError(t, err)
	require.Equal(t, st.Exit, again.Exit)
}

func TestStopKillsTheWholeTree(t *testing.T) {
	t.Parallel()
	p := newRuntime(t)
	// One child ignores TERM, one leaves the session, both must go.
	s := shell("stubborn", `trap '' TERM; setsid sleep 300 & (trap '' TERM; sleep 301) & echo $! up; sleep 302; sleep 303`)
	_, err := p.Start(background(t), s)
	require.NoError(t, err)
	waitOutput(t, p, "stubborn", "up\n")
	start := time.Now()
	st, err := p.Stop(background(t), "stubborn", 300*time.Millisecond)
	require.NoError(t, err)
	require.Less(t, time.Since(start), 5*time.Second)
	require.Equal(t, "SIGKILL", st.Exit.Signal)
	require.Equal(t, 137, st.Exit.Code)
	requireNoneLeft(t, "stubborn")
}

func TestLeftoversEndWithTheJob(t *testing.T) {
	t.Parallel()
	p := newRuntime(t)
	runToEnd(t, p, shell("parent", `setsid sleep 300 & sleep 301 & exit 0`))
	requireNoneLeft(t, "parent")
}

// requireNoneLeft checks that no process of a lease is left. A job without an image has its lease in its environment.
func requireNoneLeft(t *testing.T, lease string) {
	t.Helper()
	all, err := listProcesses()
	require.NoError(t, err)
	for _, s := range all {
		require.False(t, s.state != 'Z' && hasEnv(s.pid, []byte("GANTRY_LEASE="+lease)), "process %d of %s is left", s.pid, lease)
	}
}

func waitOutput(t *testing.T, p *Process, lease, want string) {
	t.Helper()
	require.Eventually(t, func() bool {
		b, _ := os.ReadFile(leaseDir(filepath.Join(p.root, lease)).log(Stdout))
		return strings.Contains(string(b), want)
	}, time.Minute, 10*time.Millisecond)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	p := newRuntime(t)
	t.Run("wall", func(t *testing.T) {
		s := shell("wall", "sleep 60")
		s.Limits.Wall = 200 * time.Millisecond
		st := runToEnd(t, p, s)
		require.Equal(t, ReasonWall, st.Exit.Reason)
		require.Equal(t, "SIGTERM", st.Exit.Signal)
	})
	t.Run("memory of the tree", func(t *testing.T) {
		// Each process stays far below the limit, also while its shell copies the string: only their sum is too much.
		s := shell("memory", `for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do (x=$(head -c 4000000 /dev/zero | tr '\0' x); sleep 30; :) & done; wait`)
		s.Limits.MemoryMiB = 40
		st := runToEnd(t, p, s)
		require.Equal(t, ReasonMemory, st.Exit.Reason, "%+v, standard error: %s", st.Exit, output(t, p, "memory", Stderr))
	})
	t.Run("memory of a job that needs less than the agent", func(t *testing.T) {
		s := shell("little", `echo fits`)
		s.Limits.MemoryMiB = 4
		st := runToEnd(t, p, s)
		require.Equal(t, ReasonExited, st.Exit.Reason)
		require.Equal(t, 0, st.Exit.Code, output(t, p, "little", Stderr))
		require.Equal(t, "fits\n", output(t, p, "little", Stdout))
	})
	t.Run("memory of one process", func(t *testing.T) {
		s := shell("data", `x=$(head -c 120000000 /dev/zero | tr '\0' x); echo survived`)
		s.Limits.MemoryMiB = 40
		st := runToEnd(t, p, s)
		require.NotEqual(t, 0, st.Exit.Code)
		require.NotContains(t, output(t, p, "data", Stdout), "survived")
	})
	t.Run("disk", func(t *testing.T) {
		s := shell("disk", `for i in 1 2 3 4 5 6; do head -c 1000000 /dev/urandom > f$i; done; sleep 30`)
		s.Limits.DiskMiB = 4
		st := runToEnd(t, p, s)
		require.Equal(t, ReasonDisk, st.Exit.Reason)
	})
	t.Run("one file", func(t *testing.T) {
		s := Spec{LeaseID: "file", Command: []string{"dd", "if=/dev/zero", "of=big", "bs=1M", "count=10"}}
		s.Limits.DiskMiB = 4
		st := runToEnd(t, p, s)
		require.NotEqual(t, 0, st.Exit.Code)
		require.LessOrEqual(t, fileSize(filepath.Join(leaseDir(filepath.Join(p.root, "file")).work(), "big")), int64(4<<20))
	})
	t.Run("output", func(t *testing.T) {
		s := shell("log", `head -c 100000 /dev/zero | tr '\0' y; echo end >&2`)
		s.Limits.LogBytes = 1000
		st := runToEnd(t, p, s)
		require.Equal(t, 0, st.Exit.Code, "the job is not blocked")
		out := output(t, p, "log", Stdout)
		require.Equal(t, strings.Repeat("y", 1000), out[:1000])
		require.Contains(t, out[1000:], "output limit reached")
		require.Less(t, len(out), 1100)
		require.Equal(t, "end\n", output(t, p, "log", Stderr))
	})
	t.Run("cpus", func(t *testing.T) {
		s := Spec{LeaseID: "cpu", Command: []string{"nproc"}}
		s.Limits.CPUs = 0.5
		st := runToEnd(t, p, s)
		if !strings.Contains(strings.Join(st.Limits, "\n"), "affinity") {
			t.Skip("skipped: a cgroup limits the CPU time here, which nproc does not show")
		}
		require.Equal(t, "1\n", output(t, p, "cpu", Stdout))
	})
}

func TestExtend(t *testing.T) {
	t.Parallel()
	p := newRuntime(t)
	s := shell("extended", "sleep 1; echo made it")
	s.Limits.Wall = 300 * time.Millisecond
	d := leaseDir(filepath.Join(p.root, "extended"))
	require.NoError(t, os.MkdirAll(d.work(), 0o700))
	require.NoError(t, d.write(d.spec(), s))
	require.ErrorIs(t, p.Extend(background(t), "extended", -1), ErrSpec)
	require.NoError(t, p.Extend(background(t), "extended", time.Minute))
	_, err := p.Start(background(t), s)
	require.NoError(t, err)
	st, err := p.Wait(background(t), "extended")
	require.NoError(t, err)
	require.Equal(t, ReasonExited, st.Exit.Reason)
	require.Equal(t, "made it\n", output(t, p, "extended", Stdout))
	require.ErrorIs(t, p.Extend(background(t), "extended", time.Minute), ErrOver)
	require.ErrorIs(t, p.Extend(background(t), "unknown", time.Minute), ErrNotFound)

	_, err = p.Start(background(t), shell("shortened", "sleep 60"))
	require.NoError(t, err)
	require.NoError(t, p.Extend(background(t), "shortened", time.Millisecond))
	st, err = p.Wait(background(t), "shortened")
	require.NoError(t, err)
	require.Equal(t, ReasonWall, st.Exit.Reason)
}

func TestFollowLogsFromAnOffset(t *testing.T) {
	t.Parallel()
	p := newRuntime(t)
	_, err := p.Start(background(t), shell("follow", "echo one; sleep 0.3; echo two; sleep 0.3; echo three"))
	require.NoError(t, err)
	r, err := p.Logs(background(t), "follow", Stdout, 2, true)
	require.NoError(t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "e\ntwo\nthree\n", string(b))

	_, err = p.Start(background(t), shell("endless", "echo here; sleep 100"))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	r, err = p.Logs(ctx, "endless", Stdout, 0, true)
	require.NoError(t, err)
	defer r.Close()
	b, err = io.ReadAll(r)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, "here\n", string(b))
	require.ErrorIs(t, p.Remove(background(t), "endless"), ErrRunning)
	_, err = p.Logs(background(t), "endless", Stream("all"), 0, false)
	require.ErrorIs(t, err, ErrSpec)
	_, err = p.Logs(background(t), "endless", Stdout, -1, false)
	require.ErrorIs(t, err, ErrSpec)
}

// kill -9 of the agent and of its whole process group: the job goes on, and the next agent gets its output and its exit
// code.
func TestJobSurvivesTheAgent(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	exe, err := os.Executable()
	require.NoError(t, err)
	agent := exec.Command(exe, "test-agent", root, "survivor")
	agent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := agent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, agent.Start())
	line := make([]byte, 64)
	n, err := out.Read(line)
	require.NoError(t, err)
	require.Equal(t, "started <nil>\n", string(line[:n]))
	require.NoError(t, syscall.Kill(-agent.Process.Pid, syscall.SIGKILL))
	require.Error(t, agent.Wait())

	p, err := NewProcess(context.Background(), options(root))
	require.NoError(t, err)
	st, err := p.Status(background(t), "survivor")
	require.NoError(t, err)
	require.Equal(t, Running, st.Phase)
	require.Positive(t, st.PID)
	_, err = p.Start(background(t), shell("survivor", "echo twice"))
	require.ErrorIs(t, err, ErrExists)
	st, err = p.Wait(background(t), "survivor")
	require.NoError(t, err)
	require.Equal(t, 7, st.Exit.Code)
	require.Equal(t, "begun\ndone\n", output(t, p, "survivor", Stdout))
}

func TestKilledSupervisorMeansLost(t *testing.T) {
	t.Parallel()
	p := newRuntime(t)
	st, err := p.Start(background(t), shell("lost", "sleep 300 & sleep 301"))
	require.NoError(t, err)
	var run runRecord
	_, err = readJSON(leaseDir(filepath.Join(p.root, "lost")).run(), &run)
	require.NoError(t, err)
	require.Equal(t, st.PID, run.Job.PID)
	require.NoError(t, syscall.Kill(run.Supervisor.PID, syscall.SIGKILL))
	st, err = p.Wait(background(t), "lost")
	require.NoError(t, err)
	require.Equal(t, Lost, st.Phase)
	require.Nil(t, st.Exit)
	require.Eventually(t, func() bool { return !run.Job.Alive() }, time.Minute, 10*time.Millisecond)
	st, err = p.Stop(background(t), "lost", 0)
	require.NoError(t, err)
	require.Equal(t, Lost, st.Phase)
	requireNoneLeft(t, "lost")
	_, err = p.Start(background(t), shell("lost", "true"))
	require.ErrorIs(t, err, ErrExists, "a lost job is not run a second time")
	removeJob(t, p, "lost")
}

// A crash after the specification was written and before anything ran.
func TestCreatedJobMayBeStarted(t *testing.T) {
	t.Parallel()
	p := newRuntime(t)
	d := leaseDir(filepath.Join(p.root, "again"))
	require.NoError(t, os.MkdirAll(d.work(), 0o700))
	_, err := p.Status(background(t), "again")
	require.ErrorIs(t, err, ErrNotFound)
	require.NoError(t, d.write(d.spec(), shell("again", "true")))
	st, err := p.Status(background(t), "again")
	require.NoError(t, err)
	require.Equal(t, Created, st.Phase)
	require.Equal(t, 0, runToEnd(t, p, shell("again", "true")).Exit.Code)
}

// Two supervisors for one lease: one runs, the other leaves.
func TestJobIsStartedAtMostOnce(t *testing.T) {
	t.Parallel()
	p := newRuntime(t)
	d := leaseDir(filepath.Join(p.root, "once"))
	require.NoError(t, os.MkdirAll(d.work(), 0o700))
	require.NoError(t, d.write(d.spec(), shell("once", "echo ran >> count; sleep 0.3")))
	var cmds []*exec.Cmd
	for i := 0; i < 4; i++ {
		cmd := exec.Command(self, InternalCommand, stageSupervise, string(d))
		require.NoError(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		require.NoError(t, cmd.Wait())
	}
	require.NoError(t, exec.Command(self, InternalCommand, stageSupervise, string(d)).Run())
	b, err := os.ReadFile(filepath.Join(d.work(), "count"))
	require.NoError(t, err)
	require.Equal(t, "ran\n", string(b))
}

func TestReusedPidIsNotTheJob(t *testing.T) {
	me, err := Identify(os.Getpid())
	require.NoError(t, err)
	require.True(t, me.Alive())
	other := me
	other.Start++
	require.False(t, other.Alive())
	require.NoError(t, other.Signal(syscall.SIGKILL), "must not be delivered")
	other = me
	other.Boot = "before"
	require.False(t, other.Alive())
	require.NoError(t, other.Signal(syscall.SIGKILL))
	require.NoError(t, ProcID{}.Signal(syscall.SIGKILL))
}

func TestCancelledStartLeavesTheJobAlone(t *testing.T) {
	p := newRuntime(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := p.Start(ctx, shell("never", "true"))
	require.ErrorIs(t, err, context.Canceled)
	st, err := p.Status(background(t), "never")
	require.NoError(t, err)
	require.Equal(t, Created, st.Phase)
	removeJob(t, p, "never")
}

func TestInternalMainMisuse(t *testing.T) {
	require.Equal(t, 2, InternalMain(nil))
	require.Equal(t, 1, InternalMain([]string{"odd", "/nonexistent"}))
	require.Equal(t, 1, InternalMain([]string{stageDetach, "/nonexistent/dir"}))
}

// Both outputs together are in the common log, in their order.
func TestOutputTogether(t *testing.T) {
	p := newRuntime(t)
	_, err := p.Start(background(t), Spec{LeaseID: "both", Command: []string{"sh", "-c", "echo one; sleep 0.1; echo two >&2; sleep 0.1; echo three"}})
	require.NoError(t, err)
	_, err = p.Wait(background(t), "both")
	require.NoError(t, err)
	r, err := p.Logs(background(t), "both", Output, 0, true)
	require.NoError(t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\nthree\n", string(b))
}
