package metrics

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/offer"
)

func pointer[T any](v T) *T { return &v }

func TestFigures(t *testing.T) {
	s := State{
		Status: "active", Offer: offer.State{Reason: offer.Hours}, PendingFaults: 1, Leases: map[string]int{"running": 2}, Keepers: 3, Connected: 2, Asked: time.Now().Add(-time.Minute),
		DiskFree: 1 << 40,
		GPUs: []GPU{
			{
				Device:  host.GPU{Index: 0, UUID: "GPU-1", Model: "NVIDIA A100", VRAMMiB: 40960, PCIBusID: "0000:01:00.0"},
				Reading: host.Reading{TemperatureC: pointer(uint32(61)), PowerMW: pointer(uint32(250_500)), MemoryUsedMiB: pointer(uint64(960)), RowRemapFailed: pointer(true)},
			},
			{Device: host.GPU{Index: 1, UUID: "GPU-2", Simulated: true}, Reading: host.Reading{Silent: "lost", TemperatureC: pointer(uint32(1))}},
		},
	}
	there := true
	r := NewRegistry(func() (State, bool) { return s, there })
	problems, err := testutil.GatherAndLint(r)
	require.NoError(t, err)
	for _, p := range problems { // dcgm-exporter's names are not Prometheus's style
		require.True(t, strings.HasPrefix(p.Metric, "DCGM_"), "%s: %s", p.Metric, p.Text)
	}
	const want = `
# HELP DCGM_FI_DEV_FB_FREE Framebuffer memory free (in MiB).
# TYPE DCGM_FI_DEV_FB_FREE gauge
DCGM_FI_DEV_FB_FREE{UUID="GPU-1",gpu="0",modelName="NVIDIA A100",pci_bus_id="0000:01:00.0",simulated="false"} 40000
# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).
# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{UUID="GPU-1",gpu="0",modelName="NVIDIA A100",pci_bus_id="0000:01:00.0",simulated="false"} 61
# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).
# TYPE DCGM_FI_DEV_POWER_USAGE gauge
DCGM_FI_DEV_POWER_USAGE{UUID="GPU-1",gpu="0",modelName="NVIDIA A100",pci_bus_id="0000:01:00.0",simulated="false"} 250.5
# HELP DCGM_FI_DEV_ROW_REMAP_FAILURE Whether remapping of rows has failed.
# TYPE DCGM_FI_DEV_ROW_REMAP_FAILURE gauge
DCGM_FI_DEV_ROW_REMAP_FAILURE{UUID="GPU-1",gpu="0",modelName="NVIDIA A100",pci_bus_id="0000:01:00.0",simulated="false"} 1
# HELP gantry_agent_gpu_missing 1 for a GPU that has fallen off the bus.
# TYPE gantry_agent_gpu_missing gauge
gantry_agent_gpu_missing{gpu="0",simulated="false"} 0
gantry_agent_gpu_missing{gpu="1",simulated="true"} 1
# HELP gantry_agent_leases Leases that the agent keeps, by state.
# TYPE gantry_agent_leases gauge
gantry_agent_leases{state="running"} 2
# HELP gantry_agent_node_status 1 for the node's status on chain.
# TYPE gantry_agent_node_status gauge
gantry_agent_node_status{status="active"} 1
# HELP gantry_agent_not_offering 1 for the reason for which the machine takes no new leases, 0 for the others.
# TYPE gantry_agent_not_offering gauge
gantry_agent_not_offering{reason="fault"} 0
gantry_agent_not_offering{reason="hours"} 1
gantry_agent_not_offering{reason="no-answer"} 0
gantry_agent_not_offering{reason="slow"} 0
gantry_agent_not_offering{reason="status"} 0
gantry_agent_not_offering{reason="used"} 0
# HELP gantry_agent_offering 1 while the machine takes new leases.
# TYPE gantry_agent_offering gauge
gantry_agent_offering 0
`
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(want), "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE",
		"DCGM_FI_DEV_ROW_REMAP_FAILURE", "DCGM_FI_DEV_FAN_SPEED", "gantry_agent_gpu_missing", "gantry_agent_leases", "gantry_agent_node_status", "gantry_agent_not_offering", "gantry_agent_offering"))

	there = false
	n, err := testutil.GatherAndCount(r, "gantry_agent_keepers", "DCGM_FI_DEV_GPU_TEMP")
	require.NoError(t, err)
	require.Zero(t, n, "nothing is made up of a node that is not registered")
}

// The agent's README names every metric.
func TestMetricsAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	for _, name := range Names() {
		require.Regexp(t, "`"+strings.TrimPrefix(name, namespace+"_")+"[`{]", string(raw), "agent/README.md does not name it")
	}
}
