//go:build e2e

package scenario

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// pythonImage is an image of the Python of a part of scripts/toolchain.sh, with a shell and files of testdata/clusters at its root.
func pythonImage(t *testing.T, part string, programs ...string) string {
	t.Helper()
	own, python := imagetest.Python(t, part)
	files := append(imagetest.Busybox(t), imagetest.Entry{Header: tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}})
	files = append(files, imagetest.File("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"))
	for _, name := range programs {
		raw, err := os.ReadFile(filepath.Join("testdata/clusters", name))
		require.NoError(t, err)
		files = append(files, imagetest.File(name, string(raw)))
	}
	config := v1.Config{Env: []string{"PATH=" + filepath.Dir(python) + ":/usr/bin:/bin"}}
	tagged, _ := imagetest.Start(t, nil).Push(t, "clusters/"+part, imagetest.Image(t, "amd64", config, imagetest.Layer(t, own...), imagetest.Layer(t, files...)))
	return tagged
}

// rented is a cluster that a command attends.
type rented struct {
	*groupVisit
	name string
}

// rentCluster rents three of four machines, and waits until the containers run.
func rentCluster(t *testing.T, name, image string, more ...string) *rented {
	t.Helper()
	needsSandbox(t)
	nodes := network.DefaultNodes(4)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Count, nodes[i].Price = "A100", 1, market.PricePerHour(1_300_000)
	}
	params := seed.Params()
	params.AwardDeadlineSecs, params.StartDeadlineSecs = 60, 120 // for an image of several hundred megabytes
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 1, Nodes: nodes, Params: &params, Log: warnings(t),
		// What measures beside busy containers finds their load.
		KeeperFlags: []string{"--simulate-unmeasured", "--evidence-every", "0"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	owner := n.Keys.Customers[0]
	ok(t, n, owner, "credits", "add", "10")
	args := append([]string{
		"cluster", "up", "--name", name, "--gpu", "A100", "--nodes", "3", "--max-price", "3", "--duration", "30m", "--migrate", "--allow-simulated",
		"--network", "none", "--cpus", "2", "--image", image,
	}, more...)
	ctx, end := context.WithCancel(t.Context())
	attended := make(chan struct{})
	t.Cleanup(func() { end(); <-attended })
	go func() {
		defer close(attended)
		out, err := n.Gantry(ctx, owner, args...)
		t.Logf("the command that attends the cluster: %v\n%s\n%s", err, out.Stdout, out.Stderr)
	}()
	r := &rented{groupVisit: &groupVisit{t: t, n: n, owner: owner}, name: name}
	began := time.Now()
	r.leases(3)
	t.Logf("three containers run after %.1f s", time.Since(began).Seconds())
	return r
}

// status is the cluster as the customer sees it.
func (r *rented) status() (c buy.Cluster) {
	r.t.Helper()
	require.NoError(r.t, json.Unmarshal([]byte(ok(r.t, r.n, r.owner, "cluster", "status", r.name).Stdout), &c))
	return c
}

// fail ends the machine of a member, and returns its lease.
func (r *rented) fail(place int) string {
	r.t.Helper()
	m := r.status().Members[place]
	for _, machine := range r.n.Nodes {
		if machine.Address.String() == m.Node {
			require.NoError(r.t, r.n.Fail(r.t.Context(), machine.Name))
			return m.Lease
		}
	}
	require.Fail(r.t, "no such machine", m.Node)
	return ""
}

// logs are the output of a member's container.
func (r *rented) logs(place int) string {
	r.t.Helper()
	out, err := r.n.GantryText(r.t.Context(), r.owner, "logs", r.status().Members[place].Lease)
	require.NoError(r.t, err)
	return out.Stdout + out.Stderr
}

// alive are the addresses of Ray's machines, as a program in a member's container sees them.
func (r *rented) alive(place int) string {
	r.t.Helper()
	out, err := r.n.GantryText(r.t.Context(), r.owner, "exec", r.status().Members[place].Lease, "--", "python", "-c",
		`import ray; ray.init(log_to_driver=False, logging_level="error"); print("alive", *sorted(n["NodeManagerAddress"] for n in ray.nodes() if n["Alive"]))`)
	require.NoError(r.t, err)
	for line := range strings.Lines(out.Stdout) {
		if found, ok := strings.CutPrefix(line, "alive "); ok {
			return strings.TrimSpace(found)
		}
	}
	return out.Stdout + out.Stderr
}

// joined waits until all machines of the cluster are Ray's.
func (r *rented) joined(from int, what string) {
	r.t.Helper()
	began, last := time.Now(), said("")
	require.Eventually(r.t, func() bool { // a look at Ray takes seconds of a processor, a look at the output none
		last = said(r.logs(0))
		return strings.Contains(string(last), "Ray runtime started")
	}, 4*time.Minute, time.Second, "%s: %s", what, &last)
	require.Eventually(r.t, func() bool {
		last = said(r.alive(from))
		return last == "10.77.0.1 10.77.0.2 10.77.0.3"
	}, 4*time.Minute, 3*time.Second, "%s: %s", what, &last)
	r.t.Logf("%s after %.1f s", what, time.Since(began).Seconds())
}

// rayJob is a program of Ray that runs in a member's container.
type rayJob struct {
	t     *testing.T
	file  string
	ended chan struct{}
}

// run starts a program of the image in the container of a member.
func (r *rented) run(place int, args ...string) *rayJob {
	r.t.Helper()
	j := &rayJob{t: r.t, file: filepath.Join(r.t.TempDir(), "job.log"), ended: make(chan struct{})}
	out, err := os.Create(j.file)
	require.NoError(r.t, err)
	cmd := r.n.Command(r.t.Context(), r.owner, append([]string{"exec", r.status().Members[place].Lease, "--", "python"}, args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(r.t, cmd.Start())
	go func() {
		defer close(j.ended)
		_ = cmd.Wait() // what it has said is judged
		_ = out.Close()
	}()
	return j
}

// saw waits until the job has said something, and returns all that it has said.
func (j *rayJob) saw(text string) string {
	j.t.Helper()
	last := said("")
	require.Eventually(j.t, func() bool {
		raw, err := os.ReadFile(j.file)
		require.NoError(j.t, err)
		last = said(raw)
		return strings.Contains(string(raw), text)
	}, 5*time.Minute, 200*time.Millisecond, "%s", &last)
	return string(last)
}

// Ray runs in the containers of an order: its job goes on when the machine of a worker fails, and the machine that takes the place
// joins without a word from the customer.
func TestRayOverSeveralMachines(t *testing.T) {
	long.Test(t, "a cluster of Ray is unpacked and started, and loses a machine")
	const tasks = 200
	r := rentCluster(t, "farm", pythonImage(t, "ray", "tasks.py"), "--type", "ray", "--no-dashboard", "--memory", "4000m")
	r.joined(0, "Ray knows all three machines")
	c := r.status()
	require.Equal(t, buy.ClusterRay, c.Type)
	require.Equal(t, "10.77.0.1:6379", c.Services[0].Address)
	shown, err := r.n.GantryText(t.Context(), r.owner, "cluster", "status", "farm")
	require.NoError(t, err)
	require.Contains(t, shown.Stdout, "gantry port "+c.Members[0].Lease+" 10001")

	began := time.Now()
	job := r.run(0, "/tasks.py", strconv.Itoa(tasks))
	job.saw("on 10.77.0.3") // the worker that is lost has done some
	lost := r.fail(2)
	require.Contains(t, job.saw("total "), fmt.Sprintf("total %d hosts 10.77.0.1 10.77.0.2 10.77.0.3", (tasks-1)*tasks*(2*tasks-1)/6))
	t.Logf("%d tasks were done %.1f s after they were submitted, with a machine lost meanwhile", tasks, time.Since(began).Seconds())

	r.joined(0, "the machine that took the place has joined")
	require.NotEqual(t, lost, r.status().Members[2].Lease)
	r.run(0, "/tasks.py", "60").saw("on 10.77.0.3")
}
