//go:build e2e

package scenario

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/console"
	"github.com/gantry-market/gantry/internal/testkit/syncbuf"
	"github.com/gantry-market/gantry/localnet/network"
)

// tutorialMarket is how each tutorial starts its market, in a terminal of its own.
const tutorialMarket = "gantry-localnet up --state ~/gantry-tutorial"

// Every command of the tutorials is run as it stands, and its output is compared with the one that the page shows.
func TestTutorials(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"first-lease", "first-machine", "audit-a-lease", "run-a-keeper"} {
		t.Run(name, func(t *testing.T) { runTutorial(t, "../../docs/tutorials/"+name+".md") })
	}
}

func runTutorial(t *testing.T, path string) {
	t.Helper()
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(page), "\n"+tutorialMarket+"\n", "the tutorial says how its market is started")
	steps, err := console.Parse(string(page))
	require.NoError(t, err)
	require.NotEmpty(t, steps)

	home := stateDir(t)
	as := reader(t, home)
	env := append(os.Environ(), "HOME="+home, "PATH="+buildBin(t)+":"+os.Getenv("PATH"),
		"XDG_STATE_HOME=", "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "no_proxy=*")
	startTutorialMarket(t, home, env, as)
	shell, err := console.Start(t.Context(), "../..", env, as)
	require.NoError(t, err)
	defer shell.Close()
	for _, step := range steps {
		got, err := shell.Run(step.Command)
		t.Logf("line %d: $ %s\n%s", step.Line, step.Command, got)
		require.NoError(t, err, "%s, line %d: %s\n%s", path, step.Line, step.Command, got)
		require.NoError(t, console.Match(step.Want, got), "%s, line %d: %s", path, step.Line, step.Command)
	}
}

// reader is an ordinary user, with a home folder: readers of a tutorial are seldom root. Where the test is not root, it is itself
// one.
func reader(t *testing.T, home string) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	nobody, err := user.Lookup("nobody")
	require.NoError(t, err)
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	require.NoError(t, err)
	require.NoError(t, os.Chown(home, int(uid), int(gid)))
	as := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	look := exec.Command("test", "-x", filepath.Join(buildBin(t), "gantry"))
	look.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	require.NoError(t, look.Run(), "the user %s cannot run the programs of this checkout: move it out of folders that only root may enter", nobody.Username)
	return as
}

func startTutorialMarket(t *testing.T, home string, env []string, as *syscall.Credential) {
	t.Helper()
	binary, err := network.Binary("gantry-localnet")
	require.NoError(t, err)
	var out syncbuf.Buffer
	cmd := exec.Command(binary, "up", "--engine", string(kind(t)), "--state", filepath.Join(home, "gantry-tutorial"))
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "ready after") }, 60*time.Second, 50*time.Millisecond, "%s", &out)
}
