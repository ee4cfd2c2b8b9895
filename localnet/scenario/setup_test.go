//go:build e2e

package scenario

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/internal/testkit/syncbuf"
	"github.com/gantry-market/gantry/localnet/demo"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/watch"
)

// kind is the engine that the tests run on.
func kind(t *testing.T) engine.Kind {
	t.Helper()
	k := engine.Kind(os.Getenv("GANTRY_ENGINE"))
	if k == "" {
		k = engine.Surfnet
	}
	if _, err := engine.Find(k, ""); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	return k
}

// needsSandbox skips where no container can run.
func needsSandbox(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("runsc"); err != nil || os.Geteuid() != 0 {
		t.Skip("SKIPPED: containers need root and runsc: run the tests as root after scripts/toolchain.sh sandbox")
	}
}

// needsVolumes skips where no container with a volume can run.
func needsVolumes(t *testing.T) {
	t.Helper()
	needsSandbox(t)
	if err := runtime.CheckVolumes(); err != nil {
		t.Skipf("SKIPPED: no encrypted volumes: %v: it takes mkfs.ext4, loop devices and a kernel with CONFIG_FS_ENCRYPTION", err)
	}
}

// stateDir is a directory whose logs are kept when the test fails.
func stateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gantry-scenario-")
	require.NoError(t, err)
	t.Cleanup(func() {
		if !t.Failed() {
			_ = os.RemoveAll(dir)
			return
		}
		t.Logf("logs: %s", filepath.Join(dir, "logs"))
	})
	return dir
}

func warnings(t *testing.T) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
}

// runDemo runs the demo while something in it breaks; the demo itself checks that every expectation holds all the same. Its
// tests run alone: all machines are measured at the same instants, and orders wait for that.
func runDemo(t *testing.T, opts demo.Options) {
	t.Helper()
	var out syncbuf.Buffer
	opts.Engine, opts.Dir, opts.Out, opts.Log = kind(t), stateDir(t), &out, warnings(t)
	err := demo.Run(t.Context(), opts)
	if err != nil {
		t.Log(out.String())
	}
	require.NoError(t, err)
}

// runningLease waits for a lease that runs on the named machine, and returns it.
func runningLease(ctx context.Context, n *network.Network, machine string) (market.Lease, error) {
	m, err := n.Machine(machine)
	if err != nil {
		return market.Lease{}, err
	}
	for {
		accounts := view.New(view.Options{})
		if err := view.Snapshot(ctx, n.Chain, accounts, chain.Confirmed, watch.Scope{}); err != nil {
			return market.Lease{}, err
		}
		for _, l := range accounts.LeasesOfNode(m.Address) {
			if l.State() == market.LeaseRunning {
				return l, nil
			}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return market.Lease{}, ctx.Err()
		}
	}
}
