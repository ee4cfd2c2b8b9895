package host

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure/class"
)

// On a machine with GPUs: what NVML says of them is what the table of classes says of their class.
func TestThisMachinesGPUs(t *testing.T) {
	inv, err := Detect(t.Context(), DetectOptions{DiskPath: t.TempDir(), NVML: nvml.New()})
	require.NoError(t, err)
	if len(inv.GPUs) == 0 {
		t.Skipf("SKIPPED: %s", inv.GPUStatement)
	}
	raw, err := json.MarshalIndent(inv, "", "  ")
	require.NoError(t, err)
	t.Logf("%s", raw)
	require.NotEmpty(t, inv.Driver.Version)
	for _, g := range inv.GPUs {
		require.True(t, strings.HasPrefix(g.UUID, "GPU-"), g.UUID)
		of := class.GPUs().Device(g.PCIID, "")
		require.NotNil(t, of, "no class has PCI id %s (%s)", g.PCIID, g.Model)
		require.Equal(t, of, class.GPUs().Device("", g.Model), "another class has the name")
		require.Equal(t, uint64(of.MemoryMiB), g.VRAMMiB)
	}

	gpus, err := OpenGPUs(nvml.New())
	require.NoError(t, err)
	defer func() { require.NoError(t, gpus.Close()) }()
	readings, err := gpus.Readings(t.Context())
	require.NoError(t, err)
	require.Len(t, readings, len(inv.GPUs))
	raw, err = json.MarshalIndent(readings, "", "  ")
	require.NoError(t, err)
	t.Logf("%s", raw)
	// Reports are signed where confidential computing is on, and are refused with a reason where it is not.
	reports, err := gpus.Attest(t.Context(), [32]byte{1})
	if inv.Driver.CC == CCOn {
		require.NoError(t, err)
		require.Len(t, reports, len(inv.GPUs))
	} else {
		require.Error(t, err)
		t.Logf("no reports: %v", err)
	}
}
