//go:build e2e

package scenario

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
)

// rentTemplate orders a template on a machine of the network, and returns the lease.
func rentTemplate(t *testing.T, n *network.Network, customer seed.Wallet, template string, args ...string) string {
	t.Helper()
	all := append([]string{"deploy", "--detach", "--max-price", "3", "--gpu", "A100", "--minutes", "10", "--allow-simulated", "--network", "none", "--template", template}, args...)
	done := ok(t, n, customer, all...)
	var deployed struct{ Leases []struct{ Address string } }
	require.NoError(t, json.Unmarshal([]byte(done.Stdout), &deployed), done.Stdout)
	require.Len(t, deployed.Leases, 1)
	return deployed.Leases[0].Address
}

// Templates are started for real as far as a machine without a GPU can: the workspace, which is visited, and the command line
// of llama.cpp's server, by a program that takes the same flags and has no model.
func TestTemplatesAreStarted(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	model := modelImage(t)
	shell, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	n, customer := twoMachines(t)
	lease := rentTemplate(t, n, customer, "llama-cpp", "--set", "model=test/words:Q4", "--image", model)
	require.Eventually(t, func() bool {
		return strings.Contains(ok(t, n, customer, "logs", lease).Stdout, "serving on 0.0.0.0:8080")
	}, 2*time.Minute, 500*time.Millisecond)
	at, stop, err := n.Forward(t.Context(), customer, lease, "8080")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		res, err := http.Get("http://" + at + "/health")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	}, 2*time.Minute, 200*time.Millisecond)
	require.NoError(t, stop())

	wrong, err := n.Gantry(t.Context(), customer, "deploy", "--template", "llama-cpp", "--set", "parallel=many")
	require.NoError(t, err)
	require.Contains(t, wrong.Stderr, `"many" is not of type integer`)
	unknown, err := n.Gantry(t.Context(), customer, "deploy", "--template", "llama")
	require.NoError(t, err)
	require.Contains(t, unknown.Stderr, "there are comfyui")

	lease = rentTemplate(t, n, customer, "ssh", "--image", shell)
	require.Eventually(t, func() bool {
		out, err := n.GantryRaw(t.Context(), customer.Name, "--yes", "--keypair", customer.Path, "--url", n.At.RPC, "--ws", n.At.WS, "exec", lease, "--", "echo", "in the workspace")
		return err == nil && out.Code == 0 && strings.Contains(out.Stdout, "in the workspace")
	}, 2*time.Minute, 500*time.Millisecond)
	examples(t, "../../docs/operate/templates.md", "PATH="+buildBin(t)+":"+os.Getenv("PATH"))
}

func buildBin(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../build/bin")
	require.NoError(t, err)
	return dir
}
