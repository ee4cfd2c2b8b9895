package runtime

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// leavers are ways in which a process leaves the job that started it. Each writes "left" once it has.
var leavers = map[string]string{
	"setsid":      `setsid sh -c 'echo left; exec sleep 301' &`,
	"double fork": `( ( setsid sh -c 'echo left; exec sleep 302' & ) & )`,
	"nohup":       `nohup sh -c 'echo left; exec sleep 303' 2>/dev/null &`,
}

// What a job starts ends with it, also when it has left the session, and also when the job has killed its supervisor.
func TestAJobLeavesNothingBehind(t *testing.T) {
	for name, leave := range leavers {
		id := fmt.Sprintf("%s-%d", strings.ReplaceAll(name, " ", "-"), os.Getpid()) // another run's leftovers are not this one's
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newRuntime(t)
			runToEnd(t, p, shell(id, leave+`
while ! grep -q left ../stdout.log; do sleep 0.05; done`))
			requireNoneLeft(t, id)
		})
		t.Run(name+", supervisor killed", func(t *testing.T) {
			t.Parallel()
			p, id := newRuntime(t), id+"-killed"
			s := shell(id, leave+`
while ! grep -q left ../stdout.log; do sleep 0.05; done; kill -9 $PPID; sleep 304`)
			_, err := p.Start(background(t), s)
			require.NoError(t, err)
			st, err := p.Wait(background(t), id)
			require.NoError(t, err)
			require.Equal(t, Lost, st.Phase)
			_, err = p.Stop(background(t), id, 0)
			require.NoError(t, err)
			requireNoneLeft(t, id)
		})
	}
}

// The end of a job ends no process outside it, also one that has the lease's address in its environment, as a customer's own
// script on the same computer may.
func TestAJobsEndLeavesOtherProcessesAlone(t *testing.T) {
	t.Parallel()
	p, id := newRuntime(t), fmt.Sprintf("foreign-%d", os.Getpid())
	runToEnd(t, p, shell(id, "exit 0"))
	foreign := exec.CommandContext(t.Context(), "sleep", "2")
	foreign.Env = append(os.Environ(), "GANTRY_LEASE="+id)
	require.NoError(t, foreign.Start())
	removeJob(t, p, id)
	require.NoError(t, foreign.Wait())
}

// A job has no more processes than its limit. To an ordinary user the kernel refuses more; root it does not limit, and
// there the watch ends the job. The bomb has a bound of its own, for a runtime without limits.
func TestAForkBombIsBounded(t *testing.T) {
	t.Parallel()
	p, id := newRuntime(t), fmt.Sprintf("bomb-%d", os.Getpid())
	s := shell(id, `i=0; while [ $i -lt 200 ]; do sleep 305 & i=$((i+1)); done; echo all started; sleep 306`)
	s.Limits.Processes = 50
	st := runToEnd(t, p, s)
	t.Log(st.Exit.Reason, strings.Join(st.Limits, "; "))
	require.Contains(t, strings.Join(st.Limits, "; "), "50 processes")
	if os.Getuid() == 0 && !strings.Contains(strings.Join(st.Limits, "; "), "50 processes: cgroup") {
		require.Equal(t, ReasonProcesses, st.Exit.Reason)
	} else {
		require.NotContains(t, output(t, p, id, Stdout), "all started")
	}
	requireNoneLeft(t, id)
}

// The same as a user that the kernel limits, where the tests run as root.
func TestAForkBombOfAUserIsBounded(t *testing.T) {
	if os.Getuid() != 0 {
		return // the test above has done it
	}
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "gantry-user-") // a path that another user can walk
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o777))
	binary, err := os.ReadFile(self)
	require.NoError(t, err)
	path := filepath.Join(dir, "runtime.test")
	require.NoError(t, os.WriteFile(path, binary, 0o755))
	cmd := exec.CommandContext(t.Context(), path, "-test.v", "-test.run=^TestAForkBombIsBounded$")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
}

// A job that names no limit has one.
func TestProcessesAreLimitedByDefault(t *testing.T) {
	t.Parallel()
	p := newRuntime(t)
	st := runToEnd(t, p, shell("default", "exit 0"))
	require.Contains(t, strings.Join(st.Limits, "\n"), "4096 processes")
}
