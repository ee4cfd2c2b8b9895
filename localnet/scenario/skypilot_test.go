//go:build e2e

package scenario

import (
	"archive/tar"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
)

// skyImage is an image with all that SkyPilot would install: uv, its own wheel of this computer, and its Ray.
func skyImage(t *testing.T, wheel string) string {
	t.Helper()
	own, python := imagetest.Python(t, "skypilot")
	files, have := hostPrograms(t, own, "awk", "bash", "env", "find", "grep", "nohup", "patch", "pgrep", "pkill", "ps", "rsync", "sed", "stdbuf")
	files = append(files, imagetest.Entry{Header: tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}}, imagetest.Busybox(t)[0])
	have["bin/busybox"] = true
	link := func(name, to string) {
		if !have[name] {
			have[name] = true
			files = append(files, imagetest.Entry{Header: tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink, Mode: 0o777}})
		}
	}
	link("bin/sh", "bash") // busybox's shell would run its own patch and env
	link("bin/bash", "/usr/bin/bash")
	link("usr/bin/bash", "/bin/bash")
	link("usr/bin/env", "/bin/env")
	link("bin/env", "/usr/bin/env")
	applets, err := exec.Command("busybox", "--list").Output()
	require.NoError(t, err)
	for _, name := range strings.Fields(string(applets)) {
		if !have["usr/bin/"+name] {
			link("bin/"+name, "busybox")
		}
	}
	environment := filepath.Dir(filepath.Dir(python))
	link("root/skypilot-runtime", environment)
	link("root/.local/bin/uv", filepath.Join(environment, "bin/uv"))
	files = append(files, imagetest.File("etc/passwd", "root:x:0:0:root:/root:/bin/bash\n"), imagetest.File("etc/hosts", "127.0.0.1 localhost\n"), imagetest.File("root/.sky/wheels/current_sky_wheel_hash", wheel+"\n"))
	config := v1.Config{Env: []string{"PATH=/usr/bin:/bin", "HOME=/root", "USER=root"}}
	tagged, _ := imagetest.Start(t, nil).Push(t, "clusters/skypilot", imagetest.Image(t, "amd64", config, imagetest.Layer(t, own...), imagetest.Layer(t, files...)))
	return tagged
}

// newSkyUser has SkyPilot as its user has installed it, with the files that it would fetch from the internet.
func newSkyUser(t *testing.T, n *network.Network, owner seed.Wallet, root string) *launcher {
	t.Helper()
	served, err := n.StartServe(t.Context(), owner, "25")
	require.NoError(t, err)
	dir := t.TempDir()
	u := &launcher{t: t, dir: dir}
	u.env = []string{
		"HOME=" + filepath.Join(dir, "home"), "USER=root", "PATH=" + binOf(t, "skypilot-python") + ":" + os.Getenv("PATH"),
		// What pip would install: the line of gantry_skypilot.pth, in a file that Python reads from this path.
		"PYTHONPATH=" + strings.Join([]string{filepath.Join(dir, "start"), filepath.Join(root, "clients/python"), filepath.Join(root, "integrations/skypilot")}, ":"),
		"SKYPILOT_API_SERVER_LOCAL_PORT=" + portOf(freeAddr(t)), "SKYPILOT_DISABLE_USAGE_COLLECTION=1", "PIP_NO_BUILD_ISOLATION=0", "PIP_NO_INDEX=1",
		"TMPDIR=" + dir, "no_proxy=*",
	}
	start, err := os.ReadFile(filepath.Join(root, "integrations/skypilot/gantry_skypilot.pth"))
	require.NoError(t, err)
	u.write("start/sitecustomize.py", string(start))
	u.write("home/.sky/catalogs/v8/common/accelerators.csv", "AcceleratorName,Clouds\nA100,\"['Gantry']\"\n")
	u.write("home/.sky/catalogs/v8/common/metadata.csv", "GPU,MemoryGB,Manufacturer\nA100,40,NVIDIA\n")
	command := n.Command(t.Context(), owner)
	var proxy []string
	for _, v := range slices.Concat(command.Env[len(os.Environ()):], command.Args) {
		proxy = append(proxy, fmt.Sprintf("'%s'", v))
	}
	u.write("home/.sky/gantry.yaml", changed(
		t, filepath.Join(root, "integrations/skypilot/gantry.yaml"), [2]string{"server: http://127.0.0.1:8484", "server: " + served.URL},
		[2]string{"token_file: ~/token", "token_file: " + served.TokenFile},
		[2]string{"session: ~/session.json", fmt.Sprintf("gantry: %q", "env "+strings.Join(proxy, " "))},
		[2]string{"seconds: 14400", "seconds: 1800\n  network: none\n  cpus: 2\n  memoryMiB: 6000\n  allowSimulated: true"},
	))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", "sky api stop")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), u.env...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	return u
}

// SkyPilot's own command rents machines by the plug-in, runs a task on them, and ends them.
func TestSkyLaunch(t *testing.T) {
	long.Test(t, "SkyPilot launches a task on two machines")
	needsSandbox(t)
	if _, err := exec.LookPath("skypilot-python"); err != nil {
		t.Skip("SKIPPED: SkyPilot is missing: scripts/toolchain.sh skypilot")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	out, err := exec.Command(filepath.Join(root, "scripts/clients.sh"), "generate").CombinedOutput()
	require.NoError(t, err, "%s", out)
	n := farmOfRay(t)
	owner := n.Keys.Customers[0]
	u := newSkyUser(t, n, owner, root)
	said, err := u.run(10*time.Minute, `skypilot-python -c "from sky.backends import wheel_utils; print(wheel_utils.build_sky_wheel()[1])"`)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(said), "\n")
	image := skyImage(t, lines[len(lines)-1])
	u.write("task.yaml", changed(t, filepath.Join(root, "integrations/skypilot/example.yaml"), [2]string{"berkeleyskypilot/skypilot-k8s-gpu", image}))
	steps := walkThrough(t, filepath.Join(root, "docs/operate/skypilot.md"), "sky")
	want := []string{"Gantry: enabled", "1x-A100-SXM4-40GB", "hello from machine 1 of 2", "ran again", "UP", "Terminating cluster hello...done"}
	require.Len(t, steps, len(want))
	for i, step := range steps {
		said, err := u.run(6*time.Minute, step)
		require.NoError(t, err)
		require.Contains(t, said, want[i])
		switch i {
		case 1:
			require.Zero(t, running(t, n, owner))
		case 2, 3, 4:
			require.Equal(t, 2, running(t, n, owner))
		}
	}
	require.Zero(t, running(t, n, owner))
}
