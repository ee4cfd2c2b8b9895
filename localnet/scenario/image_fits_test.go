//go:build e2e

package scenario

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
)

// An image that asks for compute capability 9.0 gets the dearer H100 (9.0), and no A100 (8.0): an order that names the A100 is refused
// before money moves. Who switches the image's check off gets the A100.
func TestAnImageChoosesTheModelsThatRunIt(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	n, err := network.Start(t.Context(), network.Config{Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: network.DefaultNodes(2), Log: warnings(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "20")
	image, _ := imagetest.Serve(t, "amd64", v1.Config{Env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=12.4,arch>=9.0"}}, imagetest.Layer(t, imagetest.Busybox(t)...))
	deploy := func(gpu string, flags ...string) []string {
		args := append([]string{"deploy", "--gpu", gpu, "--max-price", "3", "--minutes", "10", "--allow-simulated", "--network", "none", "--image", image, "--detach"}, flags...)
		return append(args, "--", "/bin/busybox", "sleep", "600")
	}
	refused, err := n.Gantry(t.Context(), customer, deploy("A100")...)
	require.NoError(t, err)
	require.NotZero(t, refused.Code)
	require.Contains(t, refused.Stderr, `no model of "A100" runs the image, which requires "cuda>=12.4,arch>=9.0"`)
	require.Contains(t, refused.Stderr, "A100")
	require.Contains(t, refused.Stderr, "8.0")
	require.Empty(t, snapshotOf(t, n).Orders())

	modelOf := func(args []string) (address string, model uint16) {
		var deployed struct {
			Leases []struct{ Address string }
		}
		done := ok(t, n, customer, args...)
		require.NoError(t, json.Unmarshal([]byte(done.Stdout), &deployed), done.Stdout)
		require.Len(t, deployed.Leases, 1)
		for _, l := range snapshotOf(t, n).Leases() {
			if node, found := snapshotOf(t, n).Node(l.Node); found && l.Address.String() == deployed.Leases[0].Address {
				return l.Address.String(), node.Spec.Model
			}
		}
		require.Fail(t, "the lease is not on chain")
		return "", 0
	}
	address, model := modelOf(deploy("any"))
	require.Equal(t, uint16(seed.H100), model)
	ok(t, n, customer, "stop", address)
	_, model = modelOf(deploy("any", "--env", "NVIDIA_DISABLE_REQUIRE=true"))
	require.Equal(t, uint16(seed.A100), model)
}

// An image that unpacks to more than its order asked for, and than the machine's share has beside the job's disk: the machine declines the
// lease at once, and waits for no start deadline. With less disk for the job the same image runs.
func TestAMachineDeclinesAnImageThatItsShareDoesNotHold(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	n, customer := marketWith(t, slowStart())
	var offers []struct{ DiskGiB uint64 }
	require.NoError(t, json.Unmarshal([]byte(ok(t, n, customer, "search", "gpu=A100", "--json").Stdout), &offers))
	require.Len(t, offers, 1)
	require.Greater(t, offers[0].DiskGiB, uint64(2))

	zeros := imagetest.Layer(t, imagetest.File("zeros", strings.Repeat("\x00", 64<<20)))
	layers := []v1.Layer{imagetest.Layer(t, imagetest.Busybox(t)...)}
	for range 17 { // in the registry they are small
		layers = append(layers, zeros)
	}
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, layers...)
	began := time.Now()
	refused, err := n.Gantry(t.Context(), customer, "deploy", "--gpu", "A100", "--minutes", "10", "--allow-simulated", "--network", "none", "--image", image,
		"--disk", fmt.Sprintf("%dg", offers[0].DiskGiB-1), "--", "/bin/busybox", "true")
	require.NoError(t, err)
	require.NotZero(t, refused.Code)
	require.Contains(t, refused.Stderr, "the job cannot run there")
	require.Less(t, time.Since(began), time.Minute)
	ok(t, n, customer, "deploy", "--gpu", "A100", "--minutes", "10", "--allow-simulated", "--network", "none", "--image", image, "--run-to-completion",
		"--disk", fmt.Sprintf("%dg", offers[0].DiskGiB-2), "--", "/bin/busybox", "true")
}
