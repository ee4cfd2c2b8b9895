//go:build e2e

package scenario

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/localnet/selfsigned"
)

func equals(want float64) func(float64) bool { return func(v float64) bool { return v == want } }

// small mounts a file system of a size at a folder, which fills.
func small(t *testing.T, dir, size string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size))
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
}

// startGateway starts a wallet's gateway with a certificate for all names of gatewayDomain, and returns the certificate's file.
func startGateway(t *testing.T, n *network.Network, operator seed.Wallet, flags ...string) (cert string) {
	t.Helper()
	cert, key := filepath.Join(n.Dir(), "gateway.pem"), filepath.Join(n.Dir(), "gateway-key.pem")
	require.NoError(t, selfsigned.Write(cert, key, "*."+gatewayDomain))
	flags = append([]string{"--domain", gatewayDomain, "--cert", cert, "--cert-key", key}, flags...)
	require.NoError(t, n.StartGateway(t.Context(), operator, flags...))
	return cert
}

// Alerts fire by what daemons show when their fault is there, not by series that a test has made up. A sample counts for as
// long as the rule needs: the rules are about minutes and hours, the faults here last seconds.
func TestAlertsFireByTheirFaults(t *testing.T) {
	long.Test(t, "alerts one by one")
	if _, err := exec.LookPath("promtool"); err != nil || os.Geteuid() != 0 {
		t.Skip("SKIPPED: it takes root, which mounts small file systems, and promtool: scripts/toolchain.sh promtool")
	}
	ctx := t.Context()
	dir := stateDir(t)
	kernelLog, lost := filepath.Join(dir, "kmsg"), filepath.Join(dir, "lost-gpu")
	require.NoError(t, syscall.Mkfifo(kernelLog, 0o600))
	kernel, err := os.OpenFile(kernelLog, os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = kernel.Close() })
	n, err := network.Start(ctx, network.Config{
		Engine: kind(t), Dir: dir, Keepers: 4, Customers: 1, Nodes: network.DefaultNodes(4), Relay: true, Log: warnings(t),
		Flags: map[string][]string{
			"node-1":   {"--simulate-kernel-log", kernelLog},
			"node-2":   {"--simulate-lost-gpu-file", lost, "--report-dead-after", "-1s"},
			"keeper-4": {"--simulate-clock-ahead", "2500ms"},
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	small(t, n.DataDir("node-4"), "512m")
	small(t, n.DataDir("keeper-3"), "96m")
	require.NoError(t, n.Launch(ctx))
	operator := n.Keys.Customers[0]
	ok(t, n, operator, "credits", "add", "1")
	startGateway(t, n, operator, "--listen", "/ip4/127.0.0.1/tcp/"+portOf(freeAddr(t)), "--tls", freeAddr(t), "--ssh", "off")
	r := record(t, n.Metrics, map[string]string{
		"node-1": "gantry-agent", "node-2": "gantry-agent", "node-3": "gantry-agent", "node-4": "gantry-agent",
		"keeper-1": "gantry-keeper", "keeper-2": "gantry-keeper", "keeper-3": "gantry-keeper", "keeper-4": "gantry-keeper",
		network.GatewayName: "gantry-gateway",
	})
	for _, k := range n.Keys.Keepers {
		r.shown(t, k.Name, "gantry_keeper_last_final_period", func(v float64) bool { return v > 0 })
	}
	var alerts []alert
	quiet := func() int { return r.now() - 1 }
	// lasts notes an alert of a fault which has been there since a tick, once so many ticks have passed.
	lasts := func(daemon, name, instance string, step time.Duration, from, ticks int) {
		t.Helper()
		alerts = append(alerts, r.lasts(t, alert{name: name, instance: instance, daemon: daemon, step: step, quiet: from}, ticks))
	}
	const seconds = 15 * time.Second

	// Hardware, as the driver and the kernel tell it.
	from := quiet()
	_, err = kernel.WriteString("4,2,9000000000000000,-;NVRM: Xid (PCI:0000:00:00): 48, pid=7, name=python3, DBE\n")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(lost, nil, 0o600))
	r.shown(t, "node-1", "gantry_agent_hardware_faults", equals(1))
	r.shown(t, "node-2", "gantry_agent_gpu_missing", equals(1))
	since := r.now()
	lasts("agent", "GantryAgentHardwareFault", "node-1", seconds, from, since-from+2)
	lasts("agent", "GantryAgentGPUMissing", "node-2", seconds, from, since-from+2)
	require.NoError(t, os.Remove(lost))

	// An owner that leaves a machine draining.
	from = quiet()
	m, err := n.Machine("node-3")
	require.NoError(t, err)
	require.NoError(t, n.DrainNode(ctx, m))
	r.shown(t, "node-3", "gantry_agent_not_offering", equals(1))
	lasts("agent", "GantryAgentNotOffering", "node-3", 30*time.Minute, from, r.now()-from+26)

	// A keeper whose disk is full signs nothing.
	from = quiet()
	fill(t, filepath.Join(n.DataDir("keeper-3"), "filler"))
	r.shown(t, "keeper-3", "gantry_keeper_store_writable", equals(0))
	since = r.now()
	lasts("keeper", "GantryKeeperStoreReadOnly", "keeper-3", seconds, from, since-from+2)
	r.shown(t, "keeper-3", "gantry_keeper_signing", equals(0))
	since = r.now()
	lasts("keeper", "GantryKeeperSignsNothing", "keeper-3", seconds, from, since-from+2)

	// The connection to the chain is cut.
	from = quiet()
	require.NoError(t, n.Cut())
	cut := r.now()
	lasts("agent", "GantryAgentChainStopped", "node-1", seconds, from, cut-from+24)
	lasts("keeper", "GantryKeeperChainStopped", "keeper-1", seconds, from, cut-from+24)
	lasts("keeper", "GantryKeeperReportsLate", "keeper-1", 10*time.Minute, from, cut-from+30)
	require.NoError(t, n.Restore())

	// Everybody else is gone.
	from = quiet()
	for _, name := range []string{"keeper-2", "keeper-3", "keeper-4", "node-2", network.GatewayName} {
		require.NoError(t, n.Stop(ctx, name))
	}
	r.shown(t, "keeper-1", "gantry_keeper_keepers_connected", equals(0))
	since = r.now()
	lasts("keeper", "GantryKeeperDown", "keeper-2", seconds, from, since-from+8)
	lasts("agent", "GantryAgentDown", "node-2", seconds, from, since-from+8)
	lasts("gateway", "GantryGatewayDown", network.GatewayName, seconds, from, since-from+8)
	lasts("keeper", "GantryKeeperAlone", "keeper-1", seconds, from, since-from+16)
	require.NoError(t, n.Stop(ctx, "keeper-1"))
	from = quiet()
	r.shown(t, "node-1", "gantry_agent_keepers_connected", equals(0))
	lasts("agent", "GantryAgentAlone", "node-1", seconds, from, r.now()-from+12)

	// The chain's clock is far from the machine's.
	if kind(t) == engine.Surfnet {
		from = quiet()
		require.NoError(t, n.Travel(ctx, time.Minute))
		r.shown(t, "node-1", "gantry_agent_clock_off_seconds", func(v float64) bool { return v != 0 })
		lasts("agent", "GantryAgentClockOff", "node-1", seconds, from, r.now()-from+24)
	}

	// What is wrong from the start is quiet at another machine, and fires at this one.
	last := r.now() - 2
	for _, a := range alerts {
		t.Run(a.name, func(t *testing.T) { r.judge(t, a) })
	}
	for _, a := range []struct{ daemon, name, wrong, right string }{
		{"agent", "GantryAgentDiskFull", "node-4", "node-1"}, {"keeper", "GantryKeeperClockOff", "keeper-4", "keeper-1"},
	} {
		t.Run(a.name, func(t *testing.T) {
			end := min(last, cut-1)
			r.judge(t, alert{name: a.name, daemon: a.daemon, instance: a.wrong, step: time.Minute, quiet: 0, fires: end})
			r.judgeQuiet(t, alert{name: a.name, daemon: a.daemon, instance: a.right, step: time.Minute, quiet: end})
		})
	}
}

// fill writes until the file system is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	block := make([]byte, 1<<16)
	for {
		if _, err := f.Write(block); err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			break
		}
	}
	_ = f.Close()
}
