package runtime

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/gpus"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/internal/imagetest"
)

// On a machine with a GPU: a container sees it, and a program in the container computes on it what a member of a committee
// verifies. gpu-table in PATH is the program (`go build ./attest/cmd/gpu-table`); the sandbox, the driver and NVIDIA's toolkit
// are the machine's.
func TestThisGPUComputesInAContainer(t *testing.T) {
	inv, err := host.Detect(t.Context(), host.DetectOptions{DiskPath: t.TempDir(), NVML: nvml.New()})
	require.NoError(t, err)
	if len(inv.GPUs) == 0 {
		t.Skipf("SKIPPED: %s", inv.GPUStatement)
	}
	program, err := exec.LookPath("gpu-table")
	runsc, err2 := exec.LookPath("runsc")
	if err != nil || err2 != nil || os.Geteuid() != 0 {
		t.Skip("SKIPPED: it takes root, runsc and gpu-table in PATH")
	}
	o := options(t.TempDir())
	driver, err := gpus.Prepare(t.Context(), filepath.Join(t.TempDir(), "gpus"), runsc, inv.Driver.Version)
	require.NoError(t, err)
	o.Sandbox = Sandbox{Runsc: runsc, Images: t.TempDir(), GPUs: driver}
	p, err := NewProcess(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { stopAll(t, p) })
	_, image := imagetest.Serve(t, "amd64", v1.Config{Entrypoint: []string{program, "-gpus", "-repeat", "2"}},
		imagetest.Layer(t, append(imagetest.HostProgram(t, "gpu-table"), imagetest.CUDALibraries(t, "gpu-table")...)...))

	st, out := ran(t, p, Spec{LeaseID: "gpu", Image: image, GPUMask: 1, GPUUUIDs: []string{inv.GPUs[0].UUID}})
	t.Log(out)
	require.Equal(t, 0, st.Exit.Code, "%+v", st.Exit)
	require.Contains(t, out, fmt.Sprintf("| %s |", inv.GPUs[0].Model))

	st, out = ran(t, p, Spec{LeaseID: "none", Image: image})
	require.NotEqual(t, 0, st.Exit.Code, out)
	require.Contains(t, out, "no GPU can be measured here", "a lease without GPUs has none")
}
