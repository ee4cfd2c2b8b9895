//go:build e2e

package scenario

import (
	"archive/tar"
	"bytes"
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
	"github.com/gantry-market/gantry/sdk/market"
)

// launcherImage is an image in which ray up works: Ray, bash, rsync and small tools.
func launcherImage(t *testing.T) string {
	t.Helper()
	own, python := imagetest.Python(t, "ray")
	files := append(imagetest.Busybox(t), imagetest.Entry{Header: tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}})
	for _, name := range []string{"chmod", "chown", "cp", "env", "hostname", "id", "ln", "nohup", "rm", "true", "uptime"} {
		files = append(files, imagetest.Entry{Header: tar.Header{Name: "bin/" + name, Linkname: "busybox", Typeflag: tar.TypeSymlink, Mode: 0o777}})
	}
	programs, _ := hostPrograms(t, own, "bash", "rsync")
	files = append(append(files, programs...), imagetest.File("etc/passwd", "root:x:0:0:root:/root:/bin/bash\n"))
	config := v1.Config{Env: []string{"PATH=" + filepath.Dir(python) + ":/usr/bin:/bin", "HOME=/root"}}
	tagged, _ := imagetest.Start(t, nil).Push(t, "clusters/rayup", imagetest.Image(t, "amd64", config, imagetest.Layer(t, own...), imagetest.Layer(t, files...)))
	return tagged
}

// hostPrograms are programs of this machine with what they link, but for the files that an image has already, and the names of all files.
func hostPrograms(t *testing.T, own []imagetest.Entry, names ...string) (files []imagetest.Entry, have map[string]bool) {
	t.Helper()
	have = map[string]bool{}
	for _, e := range own {
		have[e.Header.Name] = true
	}
	for _, name := range names {
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
	return files, have
}

// changed is an example file with changes, each of a text that is in it.
func changed(t *testing.T, path string, changes ...[2]string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	text := string(raw)
	for _, change := range changes {
		require.Contains(t, text, change[0])
		text = strings.ReplaceAll(text, change[0], change[1])
	}
	return text
}

// binOf is where pip has put the commands of a tool's own Python.
func binOf(t *testing.T, python string) string {
	t.Helper()
	path, err := exec.LookPath(python)
	require.NoError(t, err)
	prefix, err := exec.Command(path, "-c", "import sys; print(sys.prefix)").Output()
	require.NoError(t, err)
	return filepath.Join(strings.TrimSpace(string(prefix)), "bin")
}

// rayConfig is the file that people start with, for a small market.
func rayConfig(t *testing.T, gantry, image string) string {
	t.Helper()
	return changed(
		t, "../../integrations/ray/example.yaml", [2]string{"idle_timeout_minutes: 10", "idle_timeout_minutes: 0.5"},
		[2]string{"session: session.json", fmt.Sprintf("gantry: %q\n  head_flags: --include-dashboard=false", gantry)},
		[2]string{"gpu: H100", "gpu: A100\n    network: none\n    cpus: 2\n    memoryMiB: 4000\n    allowSimulated: true"},
		[2]string{"image: rayproject/ray:2.60.0-gpu", fmt.Sprintf("image: %q", image)},
		[2]string{"seconds: 14400", "seconds: 1800"},
		[2]string{"CPU: 8", "CPU: 2"},
	)
}

// walkThrough are the commands of a program on a page, in their order.
func walkThrough(t *testing.T, page, program string) (commands []string) {
	t.Helper()
	raw, err := os.ReadFile(page)
	require.NoError(t, err)
	for line := range strings.Lines(string(raw)) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "+program+" "); ok {
			commands = append(commands, program+" "+command)
		}
	}
	return commands
}

// launcher runs Ray's own command with the provider, in a folder with farm.yaml.
type launcher struct {
	t   *testing.T
	dir string
	env []string
}

func (l *launcher) run(limit time.Duration, command string) (said string, err error) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), limit)
	defer cancel()
	began := time.Now()
	cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+command)
	cmd.Dir, cmd.Env, cmd.WaitDelay = l.dir, append(os.Environ(), l.env...), time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	l.t.Logf("%s: %v after %.1f s\n%s", command, err, time.Since(began).Seconds(), out.String())
	return out.String(), err
}

// write writes a file in the user's folder.
func (l *launcher) write(name, content string) {
	l.t.Helper()
	path := filepath.Join(l.dir, name)
	require.NoError(l.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(l.t, os.WriteFile(path, []byte(content), 0o600))
}

// newLauncher is Ray's command as its user has installed it, for a customer's server.
func newLauncher(t *testing.T, n *network.Network, owner seed.Wallet, root string) (l *launcher, gantry string) {
	t.Helper()
	served, err := n.StartServe(t.Context(), owner, "25")
	require.NoError(t, err)
	command := n.Command(t.Context(), owner)
	l = &launcher{t: t, dir: t.TempDir(), env: append(clientEnv(t, served, root), command.Env[len(os.Environ()):]...)}
	l.env = append(
		l.env, "PATH="+binOf(t, "ray-python")+":"+os.Getenv("PATH"),
		"PYTHONPATH="+filepath.Join(root, "clients/python")+":"+filepath.Join(root, "integrations/ray"), "GANTRY_RAY_DIR="+filepath.Join(l.dir, "state"), "TMPDIR="+l.dir,
	)
	return l, strings.Join(command.Args, " ")
}

// Ray's own launcher buys a cluster by the provider, runs tasks on it, gives idle machines back, and ends the rest.
func TestRayUp(t *testing.T) {
	long.Test(t, "a cluster of Ray is launched by ray up")
	needsSandbox(t)
	_, root, _ := clientTest(t)
	image := launcherImage(t)
	steps := walkThrough(t, filepath.Join(root, "docs/operate/ray.md"), "ray")
	require.Len(t, steps, 4)
	n := farmOfRay(t)
	owner := n.Keys.Customers[0]
	l, gantry := newLauncher(t, n, owner, root)
	l.write("farm.yaml", rayConfig(t, gantry, ""))
	said, err := l.run(time.Minute, steps[0])
	require.Error(t, err)
	require.Contains(t, said, "provider.order lacks gpu or image")
	require.NotContains(t, said, "Traceback")
	require.Empty(t, snapshotOf(t, n).LeasesOfCustomer(owner.Address()), "money moved for a bad configuration")

	tasks, err := os.ReadFile("testdata/clusters/tasks.py")
	require.NoError(t, err)
	l.write("tasks.py", string(tasks))
	l.write("farm.yaml", rayConfig(t, gantry, image))
	_, err = l.run(5*time.Minute, steps[0])
	require.NoError(t, err)
	require.Equal(t, 3, running(t, n, owner))
	said, err = l.run(4*time.Minute, steps[1])
	require.NoError(t, err)
	require.Contains(t, said, "total ")
	began := time.Now()
	for running(t, n, owner) != 2 {
		if time.Since(began) > 2*time.Minute {
			said, _ = l.run(time.Minute, "ray exec farm.yaml 'cat /tmp/ray/session_latest/logs/monitor.*'")
			require.Fail(t, "an idle worker's lease did not end", said)
		}
		time.Sleep(time.Second)
	}
	t.Logf("an idle worker's lease ended %.0f s after the program", time.Since(began).Seconds())
	said, err = l.run(2*time.Minute, steps[2])
	require.NoError(t, err)
	require.Contains(t, said, "1 worker")
	_, err = l.run(3*time.Minute, steps[0]+" --no-restart")
	require.NoError(t, err)
	require.Equal(t, 2, running(t, n, owner), "ray up bought again")
	_, err = l.run(3*time.Minute, steps[3])
	require.NoError(t, err)
	require.Zero(t, running(t, n, owner))
}

func running(t *testing.T, n *network.Network, owner seed.Wallet) (count int) {
	t.Helper()
	for _, l := range snapshotOf(t, n).LeasesOfCustomer(owner.Address()) {
		if l.State() == market.LeaseRunning {
			count++
		}
	}
	return count
}

func farmOfRay(t *testing.T) *network.Network {
	t.Helper()
	nodes := network.DefaultNodes(3)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Count, nodes[i].Price, nodes[i].Region = "A100", 1, market.PricePerHour(1_300_000), "us-west-2"
	}
	params := seed.Params()
	params.AwardDeadlineSecs, params.StartDeadlineSecs = 60, 120 // for an image of several hundred megabytes
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: nodes, Params: &params, Log: warnings(t),
		KeeperFlags: []string{"--simulate-unmeasured", "--evidence-every", "0"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	return n
}
