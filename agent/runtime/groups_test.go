package runtime

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// emptyGroup is what a container that was killed with its supervisor leaves.
func emptyGroup(t *testing.T, lease string) string {
	t.Helper()
	path := filepath.Join(cgroupV1, cgroupName(lease))
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Skipf("SKIPPED: no cgroup v1 in which this test may make groups: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
	return path
}

// The group of a job that was killed with its supervisor goes when its agent sees it, not only when the lease is removed.
func TestGroupsOfLostJobsGo(t *testing.T) {
	p, id := newRuntime(t), fmt.Sprintf("group-%d", os.Getpid())
	_, err := p.Start(background(t), shell(id, `kill -9 $PPID; sleep 300`))
	require.NoError(t, err)
	st, err := p.Wait(background(t), id)
	require.NoError(t, err)
	require.Equal(t, Lost, st.Phase)
	group := emptyGroup(t, id)
	_, err = p.Stop(background(t), id, 0)
	require.NoError(t, err)
	require.NoDirExists(t, group)
}

// What was killed with a job may still be in its group: the kernel ends it a moment later.
func TestGroupsAreRemovedWhenTheyAreEmpty(t *testing.T) {
	lease := fmt.Sprintf("busy-%d", os.Getpid())
	group := emptyGroup(t, lease)
	inside := exec.Command("sleep", "1")
	require.NoError(t, inside.Start())
	t.Cleanup(func() { _ = inside.Process.Kill() })
	require.NoError(t, os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(inside.Process.Pid)), 0o600))
	require.Error(t, os.Remove(group), "something is in it")
	ended := make(chan error, 1)
	go func() { ended <- inside.Wait() }()
	RemoveGroups(lease)
	require.NoDirExists(t, group)
	require.NoError(t, <-ended)
}

// An agent that starts removes groups of leases that no folder names any more, but none that is about to be entered.
func TestGroupsWithoutAFolderGo(t *testing.T) {
	old, fresh := emptyGroup(t, fmt.Sprintf("old-%d", os.Getpid())), emptyGroup(t, fmt.Sprintf("fresh-%d", os.Getpid()))
	before := time.Now().Add(-2 * groupRest)
	require.NoError(t, os.Chtimes(old, before, before))
	newRuntime(t)
	require.NoDirExists(t, old)
	require.DirExists(t, fresh)
}

// When a job was lost is known from its supervisor's last sign of life, however late an agent looks.
func TestALostJobEndedWithItsSupervisor(t *testing.T) {
	p, id := newRuntime(t), fmt.Sprintf("lost-%d", os.Getpid())
	st, err := p.Start(background(t), shell(id, `sleep 2; kill -9 $PPID; sleep 300`))
	require.NoError(t, err)
	started := st.StartedAt
	st, err = p.Wait(background(t), id)
	require.NoError(t, err)
	require.Equal(t, Lost, st.Phase)
	found := time.Now()
	require.True(t, st.LostAt.After(started) && st.LostAt.Before(found), "%s to %s: %s", started, found, st.LostAt)
	later, err := p.Stop(background(t), id, 0)
	require.NoError(t, err)
	require.Equal(t, st.LostAt, later.LostAt)
}
