//go:build e2e

package scenario

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/localnet/demo"
	"github.com/gantry-market/gantry/localnet/network"
)

// Names of the demo's machines and keepers.
const (
	busyMachine  = "node-2" // serves the long lease
	killedKeeper = "keeper-2"
)

// A keeper that is killed in the middle comes back, and nothing in the demo changes: awards, reports, slashes and sums
// are those of an undisturbed run.
func TestDemoWhileAKeeperIsKilled(t *testing.T) {
	long.Test(t, "the demo is run once more")
	runDemo(t, demo.Options{During: func(ctx context.Context, n *network.Network) error {
		if _, err := runningLease(ctx, n, busyMachine); err != nil {
			return err
		}
		for range 2 { // once while leases start, once while a period is being agreed on
			if err := n.Kill(killedKeeper); err != nil {
				return err
			}
			if err := pause(ctx, 6*time.Second); err != nil {
				return err
			}
		}
		return restarted(n, killedKeeper, 2)
	}})
}

// An agent that is killed in the middle of a lease comes back; its job never stopped, and its lease is settled. This demo waits for
// all cool-downs, so that keepers close the accounts of slashes.
func TestDemoWhileAnAgentIsKilled(t *testing.T) {
	runDemo(t, demo.Options{Wait: true, During: func(ctx context.Context, n *network.Network) error {
		lease, err := runningLease(ctx, n, busyMachine)
		if err != nil {
			return err
		}
		before, err := jobs(n.Dir(), busyMachine)
		for until := time.Now().Add(time.Minute); err == nil && len(before) == 0; before, err = jobs(n.Dir(), busyMachine) {
			if time.Now().After(until) {
				return fmt.Errorf("no job runs for lease %s", lease.Address)
			}
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		if err := n.Kill(busyMachine); err != nil {
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		after, err := jobs(n.Dir(), busyMachine)
		if err != nil {
			return err
		}
		for pid := range before {
			if !after[pid] {
				return fmt.Errorf("process %d of the job ended with the agent", pid)
			}
		}
		return restarted(n, busyMachine, 1)
	}})
}

// The connection to the Solana node breaks for some seconds: transactions that were on their way are neither lost nor
// repeated, and all processes catch up.
func TestDemoWhileTheNodeIsCutOff(t *testing.T) {
	long.Test(t, "the demo is run once more")
	runDemo(t, demo.Options{Relay: true, During: func(ctx context.Context, n *network.Network) error {
		if _, err := runningLease(ctx, n, busyMachine); err != nil {
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		if err := n.Cut(); err != nil {
			return err
		}
		waited := pause(ctx, 3*time.Second)
		return errors.Join(waited, n.Restore())
	}})
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func restarted(n *network.Network, name string, least int) error {
	count, err := n.Restarts(name)
	if err != nil {
		return err
	}
	if count < least {
		return fmt.Errorf("%s was started again %d times, expected %d", name, count, least)
	}
	return nil
}
