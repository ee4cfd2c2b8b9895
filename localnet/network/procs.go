package network

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gantry-market/gantry/agent/doctor"
	"github.com/gantry-market/gantry/localnet/process"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// readyTimeout bounds the wait for a process to be at work.
const readyTimeout = 20 * time.Second

// keeperDir holds a keeper's own files.
func (n *Network) keeperDir(name string) string { return filepath.Join(n.cfg.Dir, "keepers", name) }

// agentDir holds an agent's own files.
func (n *Network) agentDir(name string) string { return filepath.Join(n.cfg.Dir, "agents", name) }

// direct are the flags by which commands that run once are told where the node is.
func (n *Network) direct() []string { return []string{"--url", n.At.RPC, "--ws", n.At.WS} }

// given are the same for a member that stays: it must survive when the connection is cut.
func (n *Network) given(name string) []string {
	at := n.endpointOf(name)
	return []string{"--url", at.RPC, "--ws", at.WS}
}

// givenKeeper are the same for a keeper.
func (n *Network) givenKeeper(name string) []string {
	if len(n.public) == 0 {
		return n.given(name)
	}
	return []string{"--url", "http://" + n.public[0].Addr(), "--ws", "ws://" + n.public[1].Addr()}
}

// keeperArgs are the flags that registering and running a keeper share.
func keeperArgs(key seed.Wallet, dir string, connection []string) []string {
	return append(connection, "--keypair", key.Path, "--data-dir", dir, "--log-json")
}

// RegisterKeeper bonds a keeper. Where its wallet signs it waits until the weight counts; another key has that happen when it runs.
func (n *Network) RegisterKeeper(ctx context.Context, index int) error {
	wallet := n.Keys.Keepers[index]
	args := []string{"--bond", market.GNT(n.cfg.Params.MinBond).String(), "--announce", n.listen(wallet.Name)}
	if key, ok := n.signers[wallet.Name]; ok {
		args = append(args, "--signer", key.Path)
	}
	return n.keeperCommand(ctx, wallet, "register", args...)
}

// ExitKeeper asks for a keeper's bond back; its weight counts no more at once.
func (n *Network) ExitKeeper(ctx context.Context, index int) error {
	return n.keeperCommand(ctx, n.Keys.Keepers[index], "exit")
}

// WithdrawKeeper takes the bond of a keeper whose exit time has come.
func (n *Network) WithdrawKeeper(ctx context.Context, index int) error {
	return n.keeperCommand(ctx, n.Keys.Keepers[index], "withdraw")
}

func (n *Network) keeperCommand(ctx context.Context, wallet seed.Wallet, name string, args ...string) error {
	out, err := n.KeeperCommand(ctx, wallet, n.keeperDir(wallet.Name), name, args...)
	if err == nil {
		err = out.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", wallet.Name, err)
	}
	return nil
}

// KeeperCommand runs a command of gantry-keeper with a key and a data folder, to its end.
func (n *Network) KeeperCommand(ctx context.Context, key seed.Wallet, dir, name string, args ...string) (Output, error) {
	return runBinary(ctx, n.mark, n.bins.keeper, n.home(key.Name), append(append([]string{name}, keeperArgs(key, dir, n.direct())...), args...)...)
}

// UseSigner makes a keeper register with a key apart from its wallet, and run by that key alone from its next start on.
func (n *Network) UseSigner(keeper string, key seed.Wallet) {
	if n.signers == nil {
		n.signers = map[string]seed.Wallet{}
	}
	n.signers[keeper] = key
}

// StartKeeper starts a keeper and returns when it says that it is ready.
func (n *Network) StartKeeper(ctx context.Context, index int) error {
	wallet := n.Keys.Keepers[index]
	key, ok := n.signers[wallet.Name]
	if !ok {
		key = wallet
	}
	args := append(append([]string{"run"}, keeperArgs(key, n.keeperDir(wallet.Name), n.givenKeeper(wallet.Name))...),
		"--listen", n.listen(wallet.Name), "--localnet")
	args = slices.Concat(args, n.cfg.KeeperFlags, n.cfg.Flags[wallet.Name])
	if n.cfg.OmitBidsOf != "" {
		m, err := n.Machine(n.cfg.OmitBidsOf)
		if err != nil {
			return err
		}
		args = append(args, "--simulate-omit-bids", m.Address.String())
	}
	p, err := n.sup.Start(process.Spec{
		Name: wallet.Name, Path: n.build(wallet.Name, n.bins.keeper), Args: args, Dir: n.cfg.Dir, Restart: process.OnCrash, Env: n.home(wallet.Name),
	})
	if err != nil {
		return err
	}
	return waitFor(ctx, wallet.Name+" to be ready", readyTimeout, func(ctx context.Context) (bool, error) {
		select {
		case <-p.Done():
			return false, fmt.Errorf("%s has ended: %w; its log: %s", wallet.Name, p.Err(), p.LogPath())
		default:
		}
		return n.keeperReady(ctx, wallet.Name)
	})
}

// Metrics is the URL of the metrics of a keeper or the gateway. It fails until the daemon has started.
func (n *Network) Metrics(name string) (string, error) {
	addr, err := os.ReadFile(filepath.Join(n.DataDir(name), "http.addr"))
	if err != nil {
		return "", fmt.Errorf("address of the metrics of %s: %w", name, err)
	}
	return "http://" + strings.TrimSpace(string(addr)) + "/metrics", nil
}

func (n *Network) keeperReady(ctx context.Context, keeper string) (bool, error) {
	metrics, err := n.Metrics(keeper)
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(metrics, "metrics")+"readyz", nil)
	if err != nil {
		return false, err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return true, nil
	}
	why, err := io.ReadAll(io.LimitReader(answer.Body, 1<<12))
	if err != nil {
		return false, err
	}
	return false, fmt.Errorf("%s is not ready: %s", keeper, strings.Join(strings.Fields(string(why)), " "))
}

// agentArgs are the flags that registering and running a machine share.
func (n *Network) agentArgs(m *Machine, connection []string) []string {
	return append(connection, "--node-key", m.Key.Path, "--data-dir", n.agentDir(m.Name),
		"--inventory", m.inventory(), "--region", m.Region, "--price", m.Price.String())
}

// RegisterNode registers a machine on chain: its owner as a provider when it is the owner's first, the stake that it
// needs, and the machine itself.
func (n *Network) RegisterNode(ctx context.Context, m *Machine) error {
	if m.Setup {
		return n.setUp(ctx, m)
	}
	return n.agentCommand(ctx, m, append([]string{"register", "--keypair", m.Owner.Path}, n.agentArgs(m, n.direct())...)...)
}

// setUp runs `gantry-agent setup` for a machine, which registers it. What this computer lacks for real machines is accepted.
func (n *Network) setUp(ctx context.Context, m *Machine) error {
	args := append(append([]string{"setup", "--yes", "--keypair", m.Owner.Path}, n.agentArgs(m, n.given(m.Name))...), "--stay-when-slow")
	for _, k := range doctor.Checks() {
		if !slices.Contains([]string{"rpc", "data-folder", "node-key"}, k.ID) {
			args = append(args, "--accept", k.ID)
		}
	}
	return n.agentCommand(ctx, m, args...)
}

// RetireNode takes a machine out of the market for good.
func (n *Network) RetireNode(ctx context.Context, m *Machine) error {
	return n.ownerCommand(ctx, m, "retire")
}

// CloseNode closes a retired machine.
func (n *Network) CloseNode(ctx context.Context, m *Machine) error {
	return n.ownerCommand(ctx, m, "close")
}

// DrainNode lets a machine serve what it has and take nothing new.
func (n *Network) DrainNode(ctx context.Context, m *Machine) error {
	return n.ownerCommand(ctx, m, "update", "--status", "draining")
}

// PriceNode sets a machine's ask.
func (n *Network) PriceNode(ctx context.Context, m *Machine, price market.PricePerHour) error {
	return n.ownerCommand(ctx, m, "update", "--price", price.String())
}

// ActivateNode lets a machine have work again, with as much of its owner's free stake as it lacks.
func (n *Network) ActivateNode(ctx context.Context, m *Machine) error {
	return n.ownerCommand(ctx, m, "update", "--status", "active")
}

func (n *Network) ownerCommand(ctx context.Context, m *Machine, name string, more ...string) error {
	args := append([]string{name, "--keypair", m.Owner.Path}, n.direct()...)
	return n.agentCommand(ctx, m, append(append(args, "--node-key", m.Key.Path, "--data-dir", n.agentDir(m.Name)), more...)...)
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

// Bids is what a machine's agent says about its sealed bids, as JSON.
func (n *Network) Bids(ctx context.Context, m *Machine) (Output, error) {
	return n.Agent(ctx, m, "bids", "--json")
}

// Agent runs a command of a machine's agent that needs no wallet.
func (n *Network) Agent(ctx context.Context, m *Machine, command ...string) (Output, error) {
	return runBinary(ctx, n.mark, n.bins.agent, n.home(m.Name), append(command, "--data-dir", n.agentDir(m.Name))...)
}

// StartAgent starts a machine's agent.
func (n *Network) StartAgent(ctx context.Context, m *Machine) error {
	// A cheat does not leave because it is slow, and a machine that shares its processor with the whole network does not either.
	args := append(append([]string{"run"}, n.agentArgs(m, n.given(m.Name))...), "--stay-when-slow")
	if m.Setup {
		args = []string{"run", "--data-dir", n.agentDir(m.Name)} // the rest is in its settings
	}
	args = slices.Concat(args, []string{"--simulate-silence-file", m.silence}, n.cfg.Flags[m.Name])
	if !m.Namespaces {
		// The routes and the firewall of the computer that a local network is tried on are left alone.
		args = append(args, "--no-lease-network")
	}
	if at, ok := n.cfg.Listen[m.Name]; ok {
		args = append(args, "--listen", at)
	}
	if m.Slow > 1 {
		args = append(args, "--simulate-slow-factor", strconv.Itoa(m.Slow))
	}
	if m.Wrong {
		args = append(args, "--simulate-wrong-work")
	}
	spec := process.Spec{Name: m.Name, Path: n.build(m.Name, n.bins.agent), Args: args, Dir: n.cfg.Dir, Restart: process.OnCrash, Env: n.home(m.Name)}
	if m.Namespaces {
		var err error
		if spec, err = n.inNamespaces(m, spec); err != nil {
			return err
		}
	}
	_, err := n.sup.Start(spec)
	return err
}
