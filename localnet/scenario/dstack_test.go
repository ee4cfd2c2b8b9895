//go:build e2e

package scenario

import (
	"archive/tar"
	"context"
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

// dstackRunner is where the image of a job has what dstack fetches over the internet otherwise.
const dstackRunner = "/opt/dstack-runner"

// dstackImage is an image with all that dstack would install: an SSH server, curl and its runner.
func dstackImage(t *testing.T) string {
	t.Helper()
	runner, err := exec.LookPath("dstack-runner")
	if err != nil {
		t.Skip("SKIPPED: dstack-runner is missing: build or fetch that of the pinned release, and put it into PATH, as integrations/dstack/README.md says")
	}
	own, env := imagetest.Debian(t, "dstack", "bin", "usr/sbin", "usr/lib/openssh", "lib/x86_64-linux-gnu/security")
	// Debian's installer writes these files, by which its SSH server lets a key's owner in.
	pam := "auth required pam_permit.so\naccount required pam_permit.so\nsession required pam_permit.so\n"
	program, err := os.ReadFile(runner)
	require.NoError(t, err)
	have := map[string]bool{}
	for _, e := range own {
		have[e.Header.Name] = true
	}
	files := []imagetest.Entry{
		{Header: tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}},
		imagetest.File(strings.TrimPrefix(dstackRunner, "/"), string(program)),
		imagetest.File("etc/passwd", "root:x:0:0:root:/root:/bin/bash\nsshd:x:100:65534::/run/sshd:/bin/sh\n"), imagetest.File("etc/group", "root:x:0:\n"),
		imagetest.File("etc/hosts", "127.0.0.1 localhost\n"), imagetest.File("root/.profile", ""),
		imagetest.File("usr/local/bin/.keep", ""), imagetest.File("etc/pam.d/sshd", pam), imagetest.File("etc/pam.d/other", pam),
	}
	if !have["bin/sh"] {
		files = append(files, imagetest.Entry{Header: tar.Header{Name: "bin/sh", Linkname: "bash", Typeflag: tar.TypeSymlink, Mode: 0o777}})
	}
	for i, v := range env {
		env[i] = strings.Replace(v, "PATH=/usr/bin:", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:", 1)
	}
	tagged, _ := imagetest.Start(t, nil).Push(t, "clusters/dstack", imagetest.Image(t, "amd64", v1.Config{Env: env}, imagetest.Layer(t, own...), imagetest.Layer(t, files...)))
	return tagged
}

// startDstack is dstack's server as its user has installed it, with the files of the page.
func startDstack(t *testing.T, n *network.Network, owner seed.Wallet, image string) *launcher {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	served, err := n.StartServe(t.Context(), owner, "25")
	require.NoError(t, err)
	token, err := os.ReadFile(served.TokenFile)
	require.NoError(t, err)
	dir, addr := t.TempDir(), freeAddr(t)
	u := &launcher{t: t, dir: dir}
	u.env = []string{
		"HOME=" + filepath.Join(dir, "home"), "USER=root", "PATH=" + binOf(t, "dstack-python") + ":" + os.Getenv("PATH"), "TMPDIR=" + dir, "no_proxy=*", "COLUMNS=200",
		// What pip would install: the line of gantry_dstack.pth, in a file that Python reads from this path.
		"PYTHONPATH=" + strings.Join([]string{filepath.Join(dir, "start"), filepath.Join(root, "clients/python"), filepath.Join(root, "integrations/dstack")}, ":"),
		"DSTACK_RUNNER_DOWNLOAD_URL=file://" + dstackRunner,
	}
	start, err := os.ReadFile(filepath.Join(root, "integrations/dstack/gantry_dstack.pth"))
	require.NoError(t, err)
	u.write("start/sitecustomize.py", string(start))
	example := func(name string) string { return filepath.Join(root, "integrations/dstack", name) }
	u.write("home/.dstack/server/config.yml", changed(
		t, example("config.yml"), [2]string{"http://127.0.0.1:8484", served.URL}, [2]string{"TOKEN", strings.TrimSpace(string(token))},
		[2]string{`budget: "5"`, "budget: \"5\"\n      network: none\n      cpus: 2\n      memoryMiB: 4000\n      allowSimulated: true"},
	))
	u.write("fleet.dstack.yml", changed(t, example("fleet.dstack.yml")))
	// dstack asks the registry, over TLS alone, for what the file does not say.
	u.write("task.dstack.yml", changed(
		t, example("task.dstack.yml"), [2]string{"image: ubuntu:24.04", "image: " + image + "\nuser: root"}, [2]string{"disk: 20GB..", "cpu: x86:1..\n  memory: 1GB..\n  disk: 1GB.."},
	))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, "dstack-python", filepath.Join(binOf(t, "dstack-python"), "dstack"), "server", "-y", "--host", "127.0.0.1", "--port", portOf(addr), "--token", "admin")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), u.env...)
	log, err := os.Create(filepath.Join(dir, "server.log"))
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("dstack's server said:\n%s", said)
		}
	})
	require.Eventually(t, func() bool {
		said, err := os.ReadFile(log.Name())
		return err == nil && strings.Contains(string(said), " is running at ")
	}, 4*time.Minute, time.Second, "dstack's server does not run")
	return u
}

// dstack's own command runs a task on a machine that its server rents by the package, and ends it.
func TestDstackApply(t *testing.T) {
	long.Test(t, "dstack runs a task on a machine that it rents")
	needsSandbox(t)
	if _, err := exec.LookPath("dstack-python"); err != nil {
		t.Skip("SKIPPED: dstack is missing: scripts/toolchain.sh dstack")
	}
	image := dstackImage(t)
	if _, err := os.Stat("../../clients/python/gantry/core"); err != nil {
		t.Skip("SKIPPED: the Python client is not generated: scripts/clients.sh generate")
	}
	n := farmOfRay(t)
	owner := n.Keys.Customers[0]
	u := startDstack(t, n, owner, image)
	steps := walkThrough(t, "../../docs/operate/dstack.md", "dstack")
	want := []string{"A100", "market", "hello", "hello from hello", "", "hello"}
	require.Len(t, steps, len(want))
	for i, step := range steps {
		began := time.Now()
		for { // output comes when the machine runs, and a stopped run is over a little later
			said, err := u.run(4*time.Minute, step)
			if err == nil && strings.Contains(said, want[i]) {
				break
			}
			require.Less(t, time.Since(began), 5*time.Minute, "%s: %v", step, err)
			time.Sleep(2 * time.Second)
		}
		switch i {
		case 0, 1:
			require.Zero(t, running(t, n, owner))
		case 3:
			require.Equal(t, 1, running(t, n, owner))
		}
	}
	require.Eventually(t, func() bool { return running(t, n, owner) == 0 }, 3*time.Minute, time.Second, "dstack stop has ended no lease")
}
