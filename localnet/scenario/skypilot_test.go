//go:build e2e

package scenario

import (
	"archive/tar"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	have := map[string]bool{}
	for _, e := range own {
		have[e.Header.Name] = true
	}
	files := []imagetest.Entry{{Header: tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}}, imagetest.Busybox(t)[0]}
	for _, name := range []string{"awk", "bash", "env", "find", "grep", "nohup", "patch", "pgrep", "pkill", "ps", "rsync", "sed", "stdbuf"} {
		program := imagetest.HostProgram(t, name)
		if program == nil {
			t.Skipf("SKIPPED: %s is missing: scripts/toolchain.sh ssh", name)
		}
		for _, e := range program {
			if !have[e.Header.Name] {
				have[e.Header.Name] = true
				files = append(files, e)
			}
		}
	}
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
		if !have["usr/bin/"+name] && !have["bin/"+name] && name != "sh" && name != "busybox" {
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

// skyUser is a user of SkyPilot with a server of its own.
type skyUser struct {
	*launcher
	home string
}

// newSkyUser has SkyPilot as its user has installed it, with the files that it would fetch from the internet.
func newSkyUser(t *testing.T, n *network.Network, owner seed.Wallet, root string) *skyUser {
	t.Helper()
	python, err := exec.LookPath("skypilot-python")
	require.NoError(t, err)
	out, err := exec.Command(python, "-c", "import sys; print(sys.prefix)").Output()
	require.NoError(t, err)
	served, err := n.StartServe(t.Context(), owner, "25")
	require.NoError(t, err)
	dir := t.TempDir()
	u := &skyUser{launcher: &launcher{t: t, dir: dir}, home: filepath.Join(dir, "home")}
	u.env = []string{
		"HOME=" + u.home, "USER=root", "PATH=" + filepath.Join(strings.TrimSpace(string(out)), "bin") + ":" + os.Getenv("PATH"),
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
	for _, v := range command.Env[len(os.Environ()):] {
		proxy = append(proxy, fmt.Sprintf("'%s'", v))
	}
	for _, v := range command.Args {
		proxy = append(proxy, fmt.Sprintf("'%s'", v))
	}
	raw, err := os.ReadFile(filepath.Join(root, "integrations/skypilot/gantry.yaml"))
	require.NoError(t, err)
	text := string(raw)
	for _, change := range [][2]string{
		{"server: http://127.0.0.1:8484", "server: " + served.URL},
		{"token_file: ~/token", "token_file: " + served.TokenFile},
		{"session: ~/session.json", fmt.Sprintf("gantry: %q", "env "+strings.Join(proxy, " "))},
		{"seconds: 14400", "seconds: 1800\n  network: none\n  cpus: 2\n  memoryMiB: 6000\n  allowSimulated: true"},
	} {
		require.Contains(t, text, change[0])
		text = strings.Replace(text, change[0], change[1], 1)
	}
	u.write("home/.sky/gantry.yaml", text)
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

func (u *skyUser) write(name, content string) {
	u.t.Helper()
	path := filepath.Join(u.dir, name)
	require.NoError(u.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(u.t, os.WriteFile(path, []byte(content), 0o600))
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
	task, err := os.ReadFile(filepath.Join(root, "integrations/skypilot/example.yaml"))
	require.NoError(t, err)
	u.write("task.yaml", strings.Replace(string(task), "berkeleyskypilot/skypilot-k8s-gpu", image, 1))
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
