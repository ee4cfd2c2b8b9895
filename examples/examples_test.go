//go:build e2e

// Package examples runs the example programs as a reader would, against a local network.
package examples

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
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

// launch starts a local network with one customer. What examples buy is stored in a folder of the test's own.
func launch(t *testing.T, c network.Config) *network.Network {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if c.Engine = engine.Kind(os.Getenv("GANTRY_ENGINE")); c.Engine == "" {
		c.Engine = engine.Surfnet
	}
	if _, err := engine.Find(c.Engine, ""); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	c.Dir, c.Customers, c.Log = t.TempDir(), 1, zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	n, err := network.Start(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	return n
}

func TestAgainstALocalNetwork(t *testing.T) {
	n := launch(t, network.Config{Keepers: 1, Nodes: network.DefaultNodes(1)})
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

// The machine of buy-compute's job fails: the program follows the lease to another, and signs receipts to both.
func TestBuyComputeFollowsItsLease(t *testing.T) {
	nodes := network.DefaultNodes(3)
	for i := range nodes { // a lease moves only where it costs no more
		nodes[i].GPU, nodes[i].Price = "A100", 1_300_000
	}
	n := launch(t, network.Config{Keepers: 3, Nodes: nodes})
	type result struct {
		out string
		err error
	}
	over := make(chan result, 1)
	go func() {
		out, err := run(t, "buy-compute", "--config", network.ConfigPath(n.Dir()), "--max-price", "1.60", "--", "sh", "-c", "echo on $GANTRY_LEASE; sleep 25")
		over <- result{out, err}
	}()
	require.NoError(t, n.Fail(t.Context(), machineOfRunning(t, n).Name))
	got := <-over
	require.NoError(t, got.err)
	require.Equal(t, 2, strings.Count(got.out, "awarded: lease ")+strings.Count(got.out, "moved: lease "))
	require.Equal(t, 2, strings.Count(got.out, "\non "), "the job began on both machines")
	lease := regexp.MustCompile(`moved: lease (\S+)`).FindStringSubmatch(got.out)
	require.NotNil(t, lease)
	require.Contains(t, got.out, " s of lease "+lease[1], "no receipt was signed to the second machine")
	require.Contains(t, got.out, "stopped: ")
}

// machineOfRunning is the machine of the first lease whose job has run for some seconds.
func machineOfRunning(t *testing.T, n *network.Network) (on *network.Machine) {
	t.Helper()
	v := view.New(view.Options{})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	following := make(chan error, 1)
	go func() { following <- v.Run(ctx, view.Source{Client: n.Chain, Commitment: chain.Confirmed}) }()
	defer func() { stop(); <-following }()
	require.NoError(t, v.WaitFor(ctx, func(v *view.View) bool {
		for _, l := range v.Leases() {
			for _, m := range n.Nodes {
				if l.State() == market.LeaseRunning && l.PaidSecs > 0 && m.Address == l.Node {
					on = m
				}
			}
		}
		return on != nil
	}))
	return on
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
