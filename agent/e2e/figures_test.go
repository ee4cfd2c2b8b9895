package e2e_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// figures asks a running agent, at the address that it has written down.
func (a *agent) figures(path string) (code int, body string) {
	a.w.t.Helper()
	at, err := os.ReadFile(filepath.Join(a.dir, "http.addr"))
	require.NoError(a.w.t, err)
	resp, err := http.Get("http://" + strings.TrimSpace(string(at)) + path)
	require.NoError(a.w.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(a.w.t, err)
	return resp.StatusCode, string(raw)
}

// A running agent shows its state and its GPUs' readings, that they are simulated, and what is wrong with it.
func TestFiguresHealthAndReadiness(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a, _, kernel := w.rentedWithKernelLog()

	shows := func(lines ...string) func() bool {
		return func() bool {
			code, body := a.figures("/metrics")
			require.Equal(t, http.StatusOK, code)
			for _, line := range lines {
				if !strings.Contains(body, line) {
					return false
				}
			}
			return true
		}
	}
	await := func(why string, cond func() bool) {
		t.Helper()
		require.Eventually(t, cond, time.Minute, 100*time.Millisecond, why)
	}
	await("figures of a node with a lease", shows(`gantry_agent_node_status{status="active"} 1`, `gantry_agent_leases{state="running"} 1`,
		"gantry_agent_keepers_connected 1", "gantry_agent_hardware_faults 0", `gantry_agent_gpu_missing{gpu="0",simulated="true"} 0`, "DCGM_FI_DEV_GPU_TEMP{", `simulated="true"`))
	code, body := a.figures("/healthz")
	require.Equal(t, http.StatusOK, code, body)
	code, body = a.figures("/readyz")
	require.Equal(t, http.StatusOK, code, body)

	_, err := kernel.WriteString("4,2,9000000000000000,-;NVRM: Xid (PCI:0000:00:00): 48, pid=7, name=python3, DBE\n")
	require.NoError(t, err)
	await("the fault is shown", shows("gantry_agent_hardware_faults 1"))
	for _, path := range []string{"/healthz", "/readyz"} {
		code, body = a.figures(path)
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Contains(t, body, "Xid 48")
	}
	at := []string{"--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS}
	require.Contains(t, a.command(append([]string{"repaired"}, at...)...), "forgotten")
	await("it is repaired", shows("gantry_agent_hardware_faults 0"))
	a.command(append([]string{"hibernate", "--keypair", w.keys.Providers[0].Path}, at...)...)
	await("a node that sleeps is not ready", func() bool {
		code, body := a.figures("/readyz")
		return code != http.StatusOK && strings.Contains(body, "hibernated")
	})
	code, body = a.figures("/healthz")
	require.Equal(t, http.StatusOK, code, body)
}
