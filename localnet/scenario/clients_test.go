//go:build e2e

package scenario

import (
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
	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// clientTest runs programs that use the clients, whose types are generated first; it skips where they cannot.
func clientTest(t *testing.T) (python, root string, run func(limit time.Duration, env []string, name string, args ...string)) {
	t.Helper()
	python, err := exec.LookPath("gantry-python")
	if err != nil {
		t.Skip("SKIPPED: the clients are tried after scripts/toolchain.sh clients, which takes Python 3.11 and npm")
	}
	root, err = filepath.Abs("../..")
	require.NoError(t, err)
	run = func(limit time.Duration, env []string, name string, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		require.NoError(t, err)
	}
	run(10*time.Minute, nil, filepath.Join(root, "scripts/clients.sh"), "generate", "check")
	return python, root, run
}

// clientEnv is what a program needs to reach a server.
func clientEnv(t *testing.T, served network.Served, root string) []string {
	t.Helper()
	token, err := os.ReadFile(served.TokenFile)
	require.NoError(t, err)
	return []string{"GANTRY_SERVER=" + served.URL, "GANTRY_TOKEN=" + strings.TrimSpace(string(token)), "PYTHONPATH=" + filepath.Join(root, "clients/python"), "no_proxy=*"}
}

// Programs in Python and TypeScript rent two machines through `gantry serve`, follow its events, extend the leases and end
// them. They use the packages as they are installed. Schemathesis then finds nothing wrong with the server.
func TestClientsRentMachines(t *testing.T) {
	t.Parallel()
	python, root, run := clientTest(t)
	wheel := installWheel(t, python, root, run)
	npm := installNpm(t, root, run)
	n := marketOfOneModel(t)
	served, err := n.StartServe(t.Context(), n.Keys.Customers[0], "25")
	require.NoError(t, err)
	env := append(clientEnv(t, served, root), "PYTHONPATH=")
	run(3*time.Minute, env, filepath.Join(wheel, "python"), "testdata/clients.py", "2")
	run(3*time.Minute, env, filepath.Join(wheel, "python"), "testdata/clients_async.py", "2")
	script, err := os.ReadFile("testdata/clients.mjs")
	require.NoError(t, err)
	program := filepath.Join(npm, "clients.mjs")
	require.NoError(t, os.WriteFile(program, script, 0o600))
	run(3*time.Minute, env, "node", program, "gantry-market", "2")
	require.Len(t, snapshotOf(t, n).LeasesOfCustomer(n.Keys.Customers[0].Address()), 8)
	run(5*time.Minute, []string{"EXAMPLES=25"}, filepath.Join(root, "scripts/clients.sh"), "probe", served.URL, served.TokenFile)
}

// marketOfOneModel has two machines of one model.
func marketOfOneModel(t *testing.T) *network.Network {
	t.Helper()
	nodes := network.DefaultNodes(3)
	nodes = append(nodes[:1], nodes[2])
	n, err := network.Start(t.Context(), network.Config{Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: nodes, Log: warnings(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	return n
}

// A program in Python reaches a web server in a container that it rents at an address of its own machine, as long as the
// lease runs.
func TestAClientReachesAPort(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	python, root, run := clientTest(t)
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	n, _ := newMarket(t)
	served, err := n.StartServe(t.Context(), n.Keys.Customers[1], "25")
	require.NoError(t, err)
	run(5*time.Minute, clientEnv(t, served, root), python, "testdata/clients_port.py", image)
}

// Programs in Python and TypeScript rent clusters over HTTP. Containers of each reach each other by name, the program reaches one of
// them, and all leases end with the cluster.
func TestClientsRentClusters(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	python, root, run := clientTest(t)
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	nodes := network.DefaultNodes(2)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Count, nodes[i].Price = "A100", 2, market.PricePerHour(1_300_000)
	}
	n, err := network.Start(t.Context(), network.Config{Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: nodes, Log: warnings(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	served, err := n.StartServe(t.Context(), n.Keys.Customers[0], "25")
	require.NoError(t, err)
	env := clientEnv(t, served, root)
	run(4*time.Minute, env, python, "testdata/clients_cluster.py", image)
	run(4*time.Minute, env, "node", "testdata/clients_cluster.mjs", filepath.Join(root, "clients/typescript/dist/index.js"), image)
	for _, l := range snapshotOf(t, n).LeasesOfCustomer(n.Keys.Customers[0].Address()) {
		require.Equal(t, market.LeaseEnded, l.State(), l.Address)
	}
}

// Programs in Python and TypeScript keep volumes in the bucket of a `gantry serve`, list them and delete them.
func TestClientsKeepVolumes(t *testing.T) {
	t.Parallel()
	needsVolumes(t)
	python, root, run := clientTest(t)
	n, _ := newMarket(t)
	bucket := s3test.Start(t, nil)
	require.NoError(t, n.KeepBucketKeys(seed.Wallet{Name: "serve"}, s3test.AccessKey, s3test.SecretKey))
	image, _ := imagetest.Start(t, nil).Push(t, "team/job", jobImage(t))
	served, err := n.StartServe(t.Context(), n.Keys.Customers[1], "25", "--backup", "s3://"+s3test.Bucket+"/clients", "--backup-endpoint", bucket.URL)
	require.NoError(t, err)
	env := clientEnv(t, served, root)
	run(5*time.Minute, env, python, "testdata/clients_volume.py", image)
	run(5*time.Minute, env, "node", "testdata/clients_volume.mjs", filepath.Join(root, "clients/typescript/dist/index.js"), image)
}
