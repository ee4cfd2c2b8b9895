package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
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
)

// helperVariable makes the test binary play a supervising parent, see TestNoOrphanAfterKill.
const helperVariable = "GANTRY_PROCESS_TEST_PARENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperVariable); dir != "" {
		parent(dir)
		return
	}
	os.Exit(m.Run())
}

// parent starts a child that starts a grandchild in a session of its own, prints the child's pid, and sleeps.
func parent(dir string) {
	sup, err := New(dir, zerolog.Nop())
	if err != nil {
		fmt.Println("error", err)
		return
	}
	p, err := sup.Start(Spec{Name: "child", Path: "sh", Args: []string{"-c", grandchildScript(dir)}})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println(p.Pid())
	time.Sleep(time.Minute)
}

// grandchildScript writes the pid of a grandchild that leaves the process group to dir/grandchild.
func grandchildScript(dir string) string {
	return fmt.Sprintf(`setsid sleep 300 & echo $! > %[1]s/g && mv %[1]s/g %[1]s/grandchild; wait`, dir)
}

func newSupervisor(t *testing.T, dir string) *Supervisor {
	t.Helper()
	sup, err := New(dir, zerolog.New(zerolog.NewTestWriter(t)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	return sup
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	require.Eventually(t, cond, time.Minute, 5*time.Millisecond, what)
}

func readPid(t *testing.T, path string) int {
	t.Helper()
	var pid int
	eventually(t, "pid file "+path, func() bool {
		b, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil
	})
	return pid
}

func TestRunsLogsAndEnds(t *testing.T) {
	dir := t.TempDir()
	sup := newSupervisor(t, dir)
	p, err := sup.Start(Spec{Name: "talker", Path: "sh", Args: []string{"-c", "echo out $WORD; echo err >&2"}, Env: []string{"WORD=yes"}})
	require.NoError(t, err)
	<-p.Done()
	require.NoError(t, p.Err())
	log, err := os.ReadFile(sup.LogPath("talker"))
	require.NoError(t, err)
	require.Contains(t, string(log), "out yes\n")
	require.Contains(t, string(log), "err\n")
	require.NoFileExists(t, filepath.Join(dir, "pids", "talker.pid"))
}

func TestCrashIsRestartedAndExitIsNot(t *testing.T) {
	sup := newSupervisor(t, t.TempDir())
	p, err := sup.Start(Spec{Name: "sleeper", Path: "sleep", Args: []string{"300"}, Restart: OnCrash})
	require.NoError(t, err)
	first := p.Pid()
	require.NoError(t, sup.Kill("sleeper"))
	eventually(t, "restart", func() bool { return p.Restarts() == 1 })
	require.NotEqual(t, first, p.Pid())
	require.True(t, alive(p.Pid()))
	require.Equal(t, p.Pid(), readPid(t, p.pidPath()))

	q, err := sup.Start(Spec{Name: "done", Path: "true", Restart: OnCrash})
	require.NoError(t, err)
	<-q.Done()
	require.NoError(t, q.Err())
	require.Zero(t, q.Restarts())

	r, err := sup.Start(Spec{Name: "once", Path: "false"})
	require.NoError(t, err)
	<-r.Done()
	require.Error(t, r.Err())
	require.Zero(t, r.Restarts())
}

// A child that is killed for a while is not started again before.
func TestAKilledChildStaysAway(t *testing.T) {
	sup := newSupervisor(t, t.TempDir())
	p, err := sup.Start(Spec{Name: "away", Path: "sleep", Args: []string{"300"}, Restart: OnCrash})
	require.NoError(t, err)
	const away = 2 * time.Second
	killed := time.Now()
	require.NoError(t, p.KillFor(away))
	require.Eventually(t, func() bool { return p.Restarts() == 1 }, time.Minute, 10*time.Millisecond)
	require.GreaterOrEqual(t, time.Since(killed), away)
}

func TestGivesUp(t *testing.T) {
	sup := newSupervisor(t, t.TempDir())
	p, err := sup.Start(Spec{Name: "broken", Path: "false", Restart: OnCrash, MaxRestarts: 2})
	require.NoError(t, err)
	<-p.Done()
	require.ErrorIs(t, p.Err(), ErrGaveUp)
	require.Equal(t, 2, p.Restarts())
}

func TestStopInsists(t *testing.T) {
	sup := newSupervisor(t, t.TempDir())
	p, err := sup.Start(Spec{
		Name: "ignores-term", Path: "sh", Args: []string{"-c", "trap '' TERM; echo ready; while :; do sleep 1; done"},
		Restart: OnCrash, StopTimeout: 100 * time.Millisecond,
	})
	require.NoError(t, err)
	eventually(t, "ready", func() bool {
		b, _ := os.ReadFile(p.LogPath())
		return strings.Contains(string(b), "ready")
	})
	require.NoError(t, p.Stop(context.Background()))
	require.NoError(t, p.Err())
	require.False(t, alive(p.Pid()))
}

func TestStopDuringBackoff(t *testing.T) {
	sup := newSupervisor(t, t.TempDir())
	p, err := sup.Start(Spec{Name: "broken", Path: "false", Restart: OnCrash})
	require.NoError(t, err)
	eventually(t, "two restarts", func() bool { return p.Restarts() >= 2 })
	require.NoError(t, p.Stop(context.Background()))
	require.NoError(t, p.Err())
}

func TestNamesAreUniqueWhileRunning(t *testing.T) {
	sup := newSupervisor(t, t.TempDir())
	p, err := sup.Start(Spec{Name: "a", Path: "sleep", Args: []string{"300"}})
	require.NoError(t, err)
	_, err = sup.Start(Spec{Name: "a", Path: "true"})
	require.ErrorContains(t, err, "already running")
	require.NoError(t, p.Stop(context.Background()))
	_, err = sup.Start(Spec{Name: "a", Path: "true"})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, sup.Names())
	require.ErrorIs(t, sup.Kill("b"), ErrUnknown)
}

func TestBadSpecs(t *testing.T) {
	sup := newSupervisor(t, t.TempDir())
	for _, spec := range []Spec{
		{Name: "", Path: "true"},
		{Name: "../x", Path: "true"},
		{Name: "x"},
		{Name: "x", Path: "/does/not/exist"},
		{Name: "x", Path: "true", Dir: "/does/not/exist"},
	} {
		_, err := sup.Start(spec)
		require.Error(t, err, "%+v", spec)
	}
	require.Empty(t, sup.Names())
}

func TestCloseEndsGrandchildren(t *testing.T) {
	dir := t.TempDir()
	sup := newSupervisor(t, dir)
	p, err := sup.Start(Spec{Name: "child", Path: "sh", Args: []string{"-c", grandchildScript(dir)}})
	require.NoError(t, err)
	grandchild := readPid(t, filepath.Join(dir, "grandchild"))
	require.True(t, alive(grandchild))
	require.NoError(t, sup.Close())
	require.False(t, alive(p.Pid()))
	eventually(t, "grandchild ended", func() bool { return !alive(grandchild) })
	_, err = sup.Start(Spec{Name: "late", Path: "true"})
	require.ErrorIs(t, err, ErrClosed)
}

func TestDirectoryIsLocked(t *testing.T) {
	dir := t.TempDir()
	sup := newSupervisor(t, dir)
	_, err := New(dir, zerolog.Nop())
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, strconv.Itoa(os.Getpid()))
	require.NoError(t, sup.Close())
	newSupervisor(t, dir)
}

// TestNoOrphanAfterKill kills the supervising process with SIGKILL: its child dies at once by the kernel's hand, the
// grandchild when the next supervisor opens the directory.
func TestNoOrphanAfterKill(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err, line)
	grandchild := readPid(t, filepath.Join(dir, "grandchild"))
	require.True(t, alive(child))

	_, err = New(dir, zerolog.Nop())
	require.ErrorIs(t, err, ErrLocked)

	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	eventually(t, "child ended", func() bool { return !alive(child) })

	newSupervisor(t, dir)
	eventually(t, "grandchild ended", func() bool { return !alive(grandchild) })
}

func TestStopHonoursItsContext(t *testing.T) {
	sup := newSupervisor(t, t.TempDir())
	p, err := sup.Start(Spec{Name: "ignores-term", Path: "sh", Args: []string{"-c", "trap '' TERM; while :; do sleep 1; done"}, StopTimeout: 300 * time.Millisecond})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		require.True(t, errors.Is(err, context.DeadlineExceeded))
	}
	<-p.Done()
}

// TestJobsAreFound covers processes with a clean environment, as jobs of leases have.
func TestJobsAreFound(t *testing.T) {
	dir := t.TempDir()
	sup := newSupervisor(t, dir)
	job := exec.Command("sleep", "300")
	job.Env = []string{"HOME=" + filepath.Join(dir, "agent", "lease", "work")}
	require.NoError(t, job.Start())
	foreign := exec.Command("sleep", "300")
	foreign.Env = []string{"HOME=" + dir + "-other"}
	require.NoError(t, foreign.Start())
	defer func() {
		_ = foreign.Process.Kill()
		_ = foreign.Wait()
	}()
	require.NoError(t, sup.Close())
	require.Error(t, job.Wait(), "killed")
	require.True(t, alive(foreign.Process.Pid))
}

func TestBelongs(t *testing.T) {
	b := belongs{dir: "/state", mark: "abc"}
	join := func(parts ...string) []byte { return []byte(strings.Join(parts, "\x00") + "\x00") }
	for name, c := range map[string]struct {
		args, env []byte
		want      bool
	}{
		"mark":                 {join("sleep"), join("A=b", MarkVariable+"=abc"), true},
		"another mark":         {join("sleep"), join(MarkVariable + "=abcd"), false},
		"home":                 {join("sh"), join("HOME=/state/agent/work"), true},
		"home beside":          {join("sh"), join("HOME=/state-2/agent"), false},
		"supervisor":           {join("gantry-agent", "internal", "/state/agent/lease"), nil, true},
		"another supervisor's": {join("/bin/gantry-agent", "internal", "/other/lease"), nil, false},
		"the directory itself": {join("gantry-localnet", "status", "--dir", "/state"), nil, false},
		"a reader of the logs": {join("tail", "-f", "/state/logs/node.log"), nil, false},
		"nothing":              {nil, nil, false},
	} {
		require.Equal(t, c.want, b.match(c.args, c.env), name)
	}
}
