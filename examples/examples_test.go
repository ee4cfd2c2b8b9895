//go:build e2e

// Package examples runs the example programs as a reader would, against a local network.
package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/chain"
)

// run builds an example, runs it and returns its output.
func run(t *testing.T, example string, args ...string) (string, error) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), example)
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./"+example).CombinedOutput()
	require.NoError(t, err, "%s", built)
	out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	t.Logf("%s:\n%s", example, out)
	return string(out), err
}

func TestAgainstALocalNetwork(t *testing.T) {
	kind := engine.Kind(os.Getenv("GANTRY_ENGINE"))
	if kind == "" {
		kind = engine.Surfnet
	}
	if _, err := engine.Find(kind, ""); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind, Dir: t.TempDir(), Keepers: 1, Customers: 1, Nodes: network.DefaultNodes(1), Log: log,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, n.Close()) }()
	require.NoError(t, n.Launch(t.Context()))
	config := network.ConfigPath(n.Dir())

	out, err := run(t, "watch-market", "--config", config, "--once")
	require.NoError(t, err)
	require.Contains(t, out, "1 nodes, 0 orders, 0 leases")
	require.Contains(t, out, "USDC per GPU-hour in "+n.Nodes[0].Region)

	out, err = run(t, "buy-compute", "--config", config, "--gpu", n.Nodes[0].GPU, "--", "sh", "-c", "echo hello from $GANTRY_LEASE")
	require.NoError(t, err)
	require.Contains(t, out, "awarded: lease ")
	require.Contains(t, out, "hello from ")
	require.Contains(t, out, "stopped: ")
}

func TestVerifyEvidence(t *testing.T) {
	agent, err := network.Binary("gantry-agent")
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	dir := t.TempDir()
	key, bundle := filepath.Join(dir, "node.json"), filepath.Join(dir, "evidence.bundle")
	require.NoError(t, chain.SaveKeypair(key, solana.NewWallet().PrivateKey))
	collected, err := exec.CommandContext(t.Context(), agent, "evidence", "collect", "--data-dir", dir, "--node-key", key,
		"--inventory", "simulated:A100:1", "--out", bundle).CombinedOutput()
	require.NoError(t, err, "%s", collected)

	out, err := run(t, "verify-evidence", bundle)
	require.NoError(t, err)
	require.Contains(t, out, "tier 0")
	require.Contains(t, out, "SIMULATED")

	_, err = run(t, "verify-evidence", "--hash", strings.Repeat("00", 32), bundle)
	require.Error(t, err)
}
