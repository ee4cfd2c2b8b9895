package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/peers"
)

// A rack is set up over OpenSSH: each machine is a server of its own with a key for root and a data folder. One that answers with
// another host key than the owner knows is left alone, and the others are registered all the same.
func TestARackIsSetUpOverSSH(t *testing.T) {
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		t.Skip("SKIPPED: OpenSSH's server is missing: scripts/toolchain.sh peers")
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("SKIPPED: it takes root and OpenSSH's client: scripts/toolchain.sh ssh")
	}
	t.Parallel()
	w := newTestbed(t)
	names := []string{"rack1-01", "rack1-02", "rack1-03", "impostor"}
	servers := map[string]*peers.SSH{}
	for _, name := range names {
		servers[name], err = peers.StartSSH(t.Context(), sshd, filepath.Join(w.dir, "sshd-"+name), map[string]string{
			"GANTRY_DATA_DIR": w.machineDir(name), "PATH": filepath.Dir(built.path) + ":" + os.Getenv("PATH"),
		})
		require.NoError(t, err)
		t.Cleanup(servers[name].Stop)
	}
	var config strings.Builder
	for _, name := range names {
		known := servers[name]
		if name == "impostor" {
			known = servers["rack1-01"]
		}
		block, err := servers[name].HostConfig(name, known)
		require.NoError(t, err)
		config.WriteString(block)
	}
	// The owner's own ~/.ssh/config is not touched: a program in the path gives OpenSSH this one.
	bin := filepath.Join(w.dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "ssh_config"), []byte(config.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "ssh"), fmt.Appendf(nil, "#!/bin/sh\nexec %q -F %q \"$@\"\n", ssh, filepath.Join(w.dir, "ssh_config")), 0o700))

	var machines []string
	for _, name := range names {
		machines = append(machines, fmt.Sprintf("name: %s, ssh: %s", name, name))
	}
	f := w.newFleet(`site: rack1, inventory: "simulated:A100:2"`, machines...)
	f.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	out, err := f.setup("--yes")
	require.Error(t, err, "a machine that is another one is said")
	require.Contains(t, out, "impostor")
	require.Contains(t, out, "Host key verification failed")
	require.Contains(t, out, "machines 3 to register")
	nodes := f.nodes()
	require.Len(t, nodes, 3, out)
	for _, n := range nodes {
		require.Equal(t, "rack1", n.Site())
		require.EqualValues(t, 2, n.Spec.Gpus)
	}
	require.NoFileExists(t, filepath.Join(w.machineDir("impostor"), "node.json"), "nothing was asked of it")

	out, err = f.setup("--yes", "--only", "rack1-01", "--only", "rack1-02", "--only", "rack1-03")
	require.NoError(t, err, out)
	out, err = f.try("fleet", "exec", "--file", f.file, "--only", "rack1-02", "--", "update", "--price", "1.50")
	require.NoError(t, err, out)
	lines := f.status()
	require.Len(t, lines, 4)
	for i, ask := range []string{"1.26", "1.50", "1.26"} {
		require.Equal(t, []string{names[i], "active", ask}, []string{lines[i].Name, lines[i].Status, lines[i].Ask})
	}
	require.Contains(t, lines[3].Error, "Host key verification failed")
}

func (w *testbed) machineDir(name string) string { return filepath.Join(w.dir, name) }
