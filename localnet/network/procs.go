package network

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	sdk "github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/localnet/process"
)

// How often keepers act on a local network. Everything fits into a period of five seconds several times.
const (
	checkInterval = 1500 * time.Millisecond
	checkTimeout  = time.Second
	reportDelay   = time.Second
	roundTimeout  = 1500 * time.Millisecond
	readyTimeout  = 20 * time.Second
)

// keeperDir holds a keeper's own files.
func (n *Network) keeperDir(name string) string { return filepath.Join(n.cfg.Dir, "keepers", name) }

// agentDir holds an agent's own files.
func (n *Network) agentDir(name string) string { return filepath.Join(n.cfg.Dir, "agents", name) }

// connection are the flags by which every binary is told where the node is.
func (n *Network) connection() []string {
	at := n.endpoint()
	return []string{"--url", at.RPC, "--ws", at.WS}
}

// RegisterKeeper bonds a keeper and waits until its weight counts.
func (n *Network) RegisterKeeper(ctx context.Context, index int) error {
	wallet := n.World.Keepers[index]
	out, err := n.Gantry(ctx, wallet, "keeper", "register", "--bond", sdk.GNT(n.cfg.Params.MinBond).String(), "--multiaddr", n.listen(wallet.Name))
	if err == nil {
		err = out.Err()
	}
	return err
}

// StartKeeper starts a keeper and returns when it is ready.
func (n *Network) StartKeeper(ctx context.Context, index int) error {
	wallet := n.World.Keepers[index]
	args := append([]string{"run"}, n.connection()...)
	args = append(args,
		"--keypair", wallet.Path, "--data-dir", n.keeperDir(wallet.Name), "--listen", n.listen(wallet.Name),
		"--check-interval", checkInterval.String(), "--check-timeout", checkTimeout.String(),
		"--report-delay", reportDelay.String(), "--round-timeout", roundTimeout.String(),
		"--work-every", strconv.Itoa(n.cfg.WorkEvery))
	_, err := n.sup.Start(process.Spec{Name: wallet.Name, Path: n.bins.keeper, Args: args, Dir: n.cfg.Dir, Restart: process.OnCrash})
	return err
}

// agentArgs are the flags that registering and running a machine share.
func (n *Network) agentArgs(m *Machine) []string {
	return append(n.connection(), "--node-key", m.Key.Path, "--data-dir", n.agentDir(m.Name),
		"--inventory", fmt.Sprintf("simulated:%s:%d", m.GPU, m.Count), "--region", m.Region, "--price", m.Price.String())
}

// RegisterNode registers a machine on chain: its owner as a provider when it is the owner's first, the stake that it
// needs, and the machine itself.
func (n *Network) RegisterNode(ctx context.Context, m *Machine) error {
	return n.agentCommand(ctx, m, append([]string{"register", "--keypair", m.Owner.Path}, n.agentArgs(m)...)...)
}

// RetireNode takes a machine out of the market for good.
func (n *Network) RetireNode(ctx context.Context, m *Machine) error {
	return n.ownerCommand(ctx, m, "retire")
}

// CloseNode closes a retired machine.
func (n *Network) CloseNode(ctx context.Context, m *Machine) error {
	return n.ownerCommand(ctx, m, "close")
}

func (n *Network) ownerCommand(ctx context.Context, m *Machine, name string) error {
	args := append([]string{name, "--keypair", m.Owner.Path}, n.connection()...)
	return n.agentCommand(ctx, m, append(args, "--node-key", m.Key.Path, "--data-dir", n.agentDir(m.Name))...)
}

func (n *Network) agentCommand(ctx context.Context, m *Machine, args ...string) error {
	out, err := runBinary(ctx, n.mark, n.bins.agent, n.home(m.Name), args...)
	if err == nil {
		err = out.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	return nil
}

// StartAgent starts a machine's agent.
func (n *Network) StartAgent(ctx context.Context, m *Machine) error {
	args := append([]string{"run"}, n.agentArgs(m)...)
	args = append(args, "--simulate-silence-file", m.silence)
	if m.Slow > 1 {
		args = append(args, "--simulate-slow-factor", strconv.Itoa(m.Slow))
	}
	_, err := n.sup.Start(process.Spec{Name: m.Name, Path: n.bins.agent, Args: args, Dir: n.cfg.Dir, Restart: process.OnCrash, Env: n.home(m.Name)})
	return err
}
