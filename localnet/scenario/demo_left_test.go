//go:build e2e

package scenario

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/network"
)

// A demo that is interrupted while its containers run takes all of them along, and what it has made of this computer. One that
// is killed leaves a folder and empty control groups, which the next network in its folder removes.
func TestAnInterruptedDemoLeavesNothing(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"interrupted": syscall.SIGINT, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) { // one after the other: all machines of a demo are measured at the same instants
			dir := stateDir(t)
			leases := demoUntilVisited(t, dir, sig)
			if sig == syscall.SIGKILL {
				n, err := network.Start(t.Context(), network.Config{Engine: kind(t), Dir: dir, Keepers: 1, Customers: 1, Log: warnings(t)})
				require.NoError(t, err)
				require.NoError(t, n.Close())
			}
			require.Eventually(t, func() bool { return len(leftOf(t, dir, leases)) == 0 }, time.Minute, 100*time.Millisecond, "left: %v", leftOf(t, dir, leases))
		})
	}
}

// demoUntilVisited runs the demo until its container was visited, sends a signal, and returns the leases of the machine with
// containers once the demo has ended.
func demoUntilVisited(t *testing.T, dir string, sig syscall.Signal) (leases []string) {
	t.Helper()
	binary, err := network.Binary("gantry-localnet")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), binary, "demo", "--engine", string(kind(t)), "--state", dir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	visited := false
	for lines := bufio.NewScanner(out); !visited && lines.Scan(); {
		_, why, none := strings.Cut(lines.Text(), "no containers: ")
		if none {
			_ = cmd.Process.Signal(syscall.SIGINT)
			_ = cmd.Wait()
			t.Skip("SKIPPED: no containers: " + why)
		}
		visited = strings.Contains(lines.Text(), "gantry port ")
	}
	jobs, err := filepath.Glob(filepath.Join(dir, "agents", "node-[67]", "jobs", "*"))
	require.NoError(t, err)
	for _, j := range jobs {
		leases = append(leases, filepath.Base(j))
	}
	if visited && len(leases) > 0 {
		require.NotEmpty(t, leftOf(t, dir, leases), "what is looked for is there while the demo runs")
	}
	require.NoError(t, cmd.Process.Signal(sig))
	go func() { _, _ = bufio.NewReader(out).WriteTo(os.Stderr) }()
	require.Error(t, cmd.Wait())
	require.True(t, visited, "the demo ended before its container was visited")
	require.NotEmpty(t, leases)
	return leases
}

// leftOf is what a demo has left on this computer: processes and mounts that name its folder, loop devices of its files, and
// control groups of its leases.
func leftOf(t *testing.T, dir string, leases []string) (left []string) {
	t.Helper()
	globbed := func(pattern string) []string {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		return found
	}
	for _, path := range append(globbed("/proc/[0-9]*/cmdline"), globbed("/sys/block/loop*/loop/backing_file")...) {
		if raw, err := os.ReadFile(path); err == nil && strings.Contains(string(raw), dir) {
			left = append(left, path+": "+strings.ReplaceAll(string(raw), "\x00", " "))
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	for _, line := range strings.Split(string(mounts), "\n") {
		if strings.Contains(line, dir) {
			left = append(left, line)
		}
	}
	for _, l := range leases {
		left = append(left, globbed("/sys/fs/cgroup/*/gantry-"+l)...)
		left = append(left, globbed("/sys/fs/cgroup/*/gantry/"+l)...)
		left = append(left, globbed("/sys/fs/cgroup/gantry/"+l)...)
	}
	return left
}
