//go:build e2e

package scenario

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/syncbuf"
	"github.com/gantry-market/gantry/localnet/network"
)

// localnet starts gantry-localnet up and waits until it says that it is ready.
func localnet(t *testing.T, dir string) (*exec.Cmd, *syncbuf.Buffer) {
	t.Helper()
	path, err := network.Binary("gantry-localnet")
	require.NoError(t, err)
	var out syncbuf.Buffer
	cmd := exec.Command(path, "up", "--engine", string(kind(t)), "--state", dir, "--agents", "2")
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		return strings.Contains(out.String(), "ready after")
	}, 60*time.Second, 50*time.Millisecond, "%s", &out)
	return cmd, &out
}

// Ctrl-C and kill -9 leave no process behind, and a lock that nobody holds does not keep the next one from starting.
func TestUpLeavesNothingBehind(t *testing.T) {
	dir := stateDir(t)
	self, err := network.Binary("gantry-localnet")
	require.NoError(t, err)
	none := func() bool {
		left, err := ofNetwork(dir)
		return err == nil && len(left) == 0
	}

	cmd, out := localnet(t, dir)
	state, err := network.ReadState(dir)
	require.NoError(t, err, "%s", out)
	require.Equal(t, cmd.Process.Pid, state.PID)
	require.Len(t, state.Keepers, 3)
	require.Len(t, state.Nodes, 2)
	page := regexp.MustCompile(`page +(http://127\.0\.0\.1:\d+/)#code=\S+`).FindStringSubmatch(out.String())
	require.NotEmpty(t, page, "%s", out)
	answer, err := http.Get(page[1])
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	for _, m := range append(state.Keepers, state.Nodes...) {
		require.FileExists(t, m.Log)
		require.FileExists(t, m.Keypair)
	}
	status, err := exec.Command(self, "status", "--state", dir).CombinedOutput()
	require.NoError(t, err, "%s", status)
	require.Contains(t, string(status), state.RPC)

	// A wallet of one's own gets what it needs to take part.
	mine := filepath.Join(t.TempDir(), "mine.json")
	gantry, err := network.Binary("gantry")
	require.NoError(t, err)
	for _, command := range [][]string{{gantry, "key", "new", mine}, {self, "fund", "--state", dir, "--sol", "2", mine}, {self, "fund", "--state", dir, "--usdc", "0.5", mine}} {
		said, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		require.NoError(t, err, "%s", said)
	}
	show, err := exec.Command(gantry, "--json", "--url", state.RPC, "--ws", state.WS, "--keypair", mine, "credits", "show").Output()
	require.NoError(t, err)
	require.Contains(t, string(show), `"wallet": "1000.50"`, "%s", show)

	// A second one in the same directory is refused in one line.
	second, err := exec.Command(self, "up", "--state", dir).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(second), "directory is in use")

	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, cmd.Wait(), "%s", out)
	require.Eventually(t, none, time.Minute, 50*time.Millisecond)
	_, err = network.ReadState(dir)
	require.ErrorIs(t, err, network.ErrNotRunning)
	down, err := exec.Command(self, "down", "--state", dir).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(down), "no local network runs here")

	// Killed, it can be started again at once, with the same wallets; what was left is gone.
	cmd, out = localnet(t, dir)
	again, err := network.ReadState(dir)
	require.NoError(t, err, "%s", out)
	require.Equal(t, state.Customers, again.Customers)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	_, err = network.ReadState(dir)
	require.ErrorIs(t, err, network.ErrNotRunning)
	_, err = os.Stat(filepath.Join(dir, "lock"))
	require.NoError(t, err)
	require.Eventually(t, none, time.Minute, 50*time.Millisecond, "children die with their parent")

	cmd, out = localnet(t, dir)
	down, err = exec.Command(self, "down", "--state", dir).CombinedOutput()
	require.NoError(t, err, "%s", down)
	require.NoError(t, cmd.Wait(), "%s", out)
	require.Eventually(t, none, time.Minute, 50*time.Millisecond)
}
