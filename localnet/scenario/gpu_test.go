//go:build e2e

package scenario

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
)

// On a machine with a GPU: keepers measure it by its class's profile with a shorter chain, hold it to what its class was measured
// to do on hardware, and a customer who takes no simulated GPU rents it, measures it before the first billed second, and computes
// on it in a container. gpu-table in PATH is the program of the container.
func TestThisGPUIsRented(t *testing.T) {
	inv, err := host.Detect(t.Context(), host.DetectOptions{DiskPath: t.TempDir(), NVML: nvml.New()})
	require.NoError(t, err)
	if len(inv.GPUs) != 1 {
		t.Skipf("SKIPPED: it takes a machine with one GPU: %s", inv.GPUStatement)
	}
	program, err := exec.LookPath("gpu-table")
	if err != nil {
		t.Skip("SKIPPED: gpu-table is not in PATH: go build ./attest/cmd/gpu-table")
	}
	needsSandbox(t)
	of := class.GPUs().Device(inv.GPUs[0].PCIID, inv.GPUs[0].Model)
	require.NotNil(t, of, "no class has %s", inv.GPUs[0].Model)
	model := seed.ModelOf(of)
	t.Logf("%s asks for %d · 10⁹ operations and %d · 10⁶ bytes a second", of.Name, model.MinOperations, model.MinBandwidth)
	params := seed.Params()
	params.PeriodSecs, params.UnstakeCooldownSecs = 20, 80 // a measurement takes more than a usual period here
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 1, Params: &params, Models: []bindings.GpuModelArgs{model}, Log: warnings(t),
		Nodes: []network.NodeSpec{{Name: "node-1", GPU: of.Name, Count: 1, Real: true, Region: "us-west-2", Price: 2_000_000}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")

	began := time.Now()
	require.Eventually(t, func() bool {
		measured := ok(t, n, customer, "--json", "search", "gpu="+of.Name).Stdout
		if !strings.Contains(measured, `"inClass": true`) {
			return false
		}
		t.Logf("after %.0f s: %s", time.Since(began).Seconds(), measured)
		return true
	}, 3*time.Minute, time.Second)

	image, _ := imagetest.Start(t, nil).Push(t, "team/gpu", imagetest.Image(t, "amd64", v1.Config{Entrypoint: []string{program, "-gpus", "-repeat", "1"}},
		imagetest.Layer(t, append(imagetest.HostProgram(t, "gpu-table"), imagetest.CUDALibraries(t, "gpu-table")...)...)))
	began = time.Now()
	out := ok(t, n, customer, "--json", "deploy", "--gpu", of.Name, "--max-price", "5", "--duration", "10m", "--verify", "always", "--run-to-completion", "--network", "none", "--image", image)
	t.Logf("rented, measured and run to its end in %.1f s: %s", time.Since(began).Seconds(), out.Stderr)
	var d struct{ Leases []struct{ Address string } }
	require.NoError(t, json.Unmarshal([]byte(out.Stdout), &d), out.Stdout)
	printed := ok(t, n, customer, "logs", d.Leases[0].Address).Stdout
	t.Log(printed)
	require.Contains(t, printed, "| "+inv.GPUs[0].Model+" |", "the container has measured the GPU itself")
}
