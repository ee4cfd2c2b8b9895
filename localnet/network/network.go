package network

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/fault"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/ports"
	"github.com/gantry-market/gantry/localnet/process"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// Network is a running local network. Close ends all of it.
type Network struct {
	cfg    Config
	bins   binaries
	builds map[string]string // directories of the binaries of single members
	// signers are keys of keepers apart from their wallets, by the keeper's name.
	signers map[string]seed.Wallet
	mark    string
	sup     *process.Supervisor
	engine  engine.Engine

	// At is where the node is reached.
	At engine.Endpoint
	// Keys are those of the tokens and wallets.
	Keys seed.Keys
	// Nodes are the machines, in the order of the configuration.
	Nodes []*Machine
	// Chain reads the node.
	Chain *chain.Client

	relays  []*fault.Relay          // RPC, then WebSocket; empty without a relay
	public  []*fault.Relay          // the same for keepers, at an address that is not loopback; empty without one
	proxy   *fault.Proxy            // between the first relay and the node; nil without a relay
	past    *fault.History          // of the node, for the proxies; nil without them
	proxies map[string]*fault.Proxy // of the members in Config.Spoiled
	ports   map[string]uint16       // on which keepers, machines in namespaces of their own and the registry listen
	blocks  []*ports.Block          // of those ports
}

// Machine is one machine with its agent.
type Machine struct {
	NodeSpec
	// Key is the machine's own key.
	Key seed.Wallet
	// Owner is the provider's wallet.
	Owner seed.Wallet
	// Address is the Node account.
	Address solana.PublicKey
	silence string
}

type binaries struct{ gantry, keeper, agent, localnet string }

// Start starts the node, deploys the program and seeds the market. Keepers and agents come with Launch. On any error
// everything that was started is ended.
func Start(ctx context.Context, cfg Config) (_ *Network, err error) {
	cfg, err = cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	n := &Network{cfg: cfg}
	wanted := map[string]*string{"gantry": &n.bins.gantry, "gantry-keeper": &n.bins.keeper, "gantry-agent": &n.bins.agent}
	if cfg.Fleet || cfg.Registry || cfg.namespaces() {
		wanted["gantry-localnet"] = &n.bins.localnet
	}
	for name, into := range wanted {
		if *into, err = Binary(name); err != nil {
			return nil, err
		}
	}
	program, err := Program()
	if err != nil {
		return nil, err
	}
	if n.sup, err = process.New(cfg.Dir, cfg.Log); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if err := n.clear(); err != nil {
		return nil, err
	}
	if err := n.openWallets(); err != nil {
		return nil, err
	}
	n.engine, err = engine.New(cfg.Engine, engine.Config{
		Dir: filepath.Join(cfg.Dir, "node"), Supervisor: n.sup, Log: cfg.Log, SlotTime: cfg.SlotTime,
		Programs: []engine.Program{{ID: bindings.ProgramID, Path: program, Authority: n.Keys.Authority.Address()}},
	})
	if err != nil {
		return nil, err
	}
	if n.At, err = n.engine.Start(ctx); err != nil {
		return nil, err
	}
	n.Chain, err = chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: n.At.RPC, WS: n.At.WS}}, Log: cfg.Log.Level(zerolog.ErrorLevel)})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(n.startRelays(ctx), n.startPublic(ctx), n.startProxies(ctx), n.startRegistry(ctx)); err != nil {
		return nil, err
	}
	if err := seed.Seed(ctx, n.Chain, n.Keys, *cfg.Params, cfg.Models); err != nil {
		return nil, fmt.Errorf("seed the market: %w", err)
	}
	state := n.State()
	return n, errors.Join(writeState(cfg.Dir, state), writeConfig(cfg.Dir, state))
}

// clear removes what an earlier network left, but not its keys: addresses that people noted stay good.
func (n *Network) clear() error {
	n.removeGroups()
	for _, name := range []string{"node", "agents", "keepers", "homes", "machines", "registry", "network.json"} {
		if err := os.RemoveAll(filepath.Join(n.cfg.Dir, name)); err != nil {
			return fmt.Errorf("clear the state directory: %w", err)
		}
	}
	logs, err := filepath.Glob(filepath.Join(n.cfg.Dir, "logs", "*.log"))
	if err != nil {
		return fmt.Errorf("clear the logs: %w", err)
	}
	for _, path := range logs {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("clear the logs: %w", err)
		}
	}
	mark, err := os.ReadFile(filepath.Join(n.cfg.Dir, "mark"))
	if err != nil {
		return fmt.Errorf("the network's mark: %w", err)
	}
	n.mark = string(mark)
	return nil
}

func (n *Network) openWallets() error {
	keys := filepath.Join(n.cfg.Dir, "keys")
	var err error
	n.Keys, err = seed.OpenKeys(keys, seed.Counts{Keepers: n.cfg.Keepers, Providers: n.cfg.providers(), Customers: n.cfg.Customers})
	if err != nil {
		return err
	}
	names := make([]string, len(n.Keys.Keepers))
	for i, k := range n.Keys.Keepers {
		names[i] = k.Name
	}
	for _, spec := range n.cfg.Nodes {
		if spec.Namespaces {
			names = append(names, spec.Name)
		}
	}
	if n.cfg.Registry {
		names = append(names, registryName)
	}
	if err := n.claimPorts(names); err != nil {
		return err
	}
	for _, spec := range n.cfg.Nodes {
		key, err := seed.OpenWallet(keys, spec.Name)
		if err != nil {
			return err
		}
		owner := n.Keys.Providers[spec.Provider]
		n.Nodes = append(n.Nodes, &Machine{
			NodeSpec: spec, Key: key, Owner: owner,
			Address: market.NodeAddress(market.ProviderAddress(owner.Address()), key.Address()),
			silence: filepath.Join(n.cfg.Dir, "agents", spec.Name+".silence"),
		})
	}
	return nil
}

// Mints are the market's tokens.
func (n *Network) Mints() invariants.Mints {
	return invariants.Mints{Payment: n.Keys.PaymentMint, Stake: n.Keys.StakeMint}
}

// Params are the market's parameters at the start.
func (n *Network) Params() bindings.Params { return *n.cfg.Params }

// Dir is the state directory.
func (n *Network) Dir() string { return n.cfg.Dir }

// EngineKind names the node's kind.
func (n *Network) EngineKind() engine.Kind { return n.cfg.Engine }

// Sender sends transactions without a binary, for what only tests and the setup do.
func (n *Network) Sender() seed.Sender { return seed.Sender{Chain: n.Chain} }

// Done is closed when the node is gone, asked or not.
func (n *Network) Done() <-chan struct{} { return n.engine.Done() }

// Launch registers and starts all keepers, then all agents, and returns when every one of them is at work.
func (n *Network) Launch(ctx context.Context) error {
	if err := n.LaunchKeepers(ctx); err != nil {
		return err
	}
	return n.LaunchAgents(ctx)
}

// LaunchKeepers bonds, activates and starts all keepers.
func (n *Network) LaunchKeepers(ctx context.Context) error {
	group, groupCtx := errgroup.WithContext(ctx)
	for i := range n.Keys.Keepers {
		group.Go(func() error {
			if err := n.RegisterKeeper(groupCtx, i); err != nil {
				return err
			}
			return n.StartKeeper(groupCtx, i)
		})
	}
	return group.Wait()
}

// LaunchAgents registers every machine with the stake that it needs, and starts its agent. It returns in a later second of
// the chain than the last registration: orders over several machines take none that came in their own second.
func (n *Network) LaunchAgents(ctx context.Context) error {
	if err := n.launchAgents(ctx); err != nil {
		return err
	}
	registered, err := n.Chain.Now(ctx)
	if err != nil {
		return fmt.Errorf("the chain's clock: %w", err)
	}
	return waitFor(ctx, "the chain's next second", time.Minute, func(ctx context.Context) (bool, error) {
		now, err := n.Chain.Now(ctx)
		return now > registered, err
	})
}

func (n *Network) launchAgents(ctx context.Context) error {
	if n.cfg.Fleet {
		return n.launchFleet()
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for i := range n.Keys.Providers {
		group.Go(func() error {
			for _, m := range n.Nodes {
				if m.Provider != i {
					continue
				}
				if err := n.RegisterNode(groupCtx, m); err != nil {
					return err
				}
				if err := n.StartAgent(groupCtx, m); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// Machine finds a machine by its name.
func (n *Network) Machine(name string) (*Machine, error) {
	for _, m := range n.Nodes {
		if m.Name == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("no machine %q", name)
}

// Kill ends a process as a crash would (SIGKILL); its supervisor starts it again.
func (n *Network) Kill(name string) error { return n.sup.Kill(name) }

// KillFor ends a process as Kill does, and has it stay away for a time.
func (n *Network) KillFor(name string, away time.Duration) error {
	p, err := n.sup.Process(name)
	if err != nil {
		return err
	}
	return p.KillFor(away)
}

// Fail ends a process with SIGKILL, as the end of its machine would: nobody starts it again.
func (n *Network) Fail(ctx context.Context, name string) error {
	p, err := n.sup.Process(name)
	if err != nil {
		return err
	}
	return p.Fail(ctx)
}

// Restarts counts how often a process was started again.
func (n *Network) Restarts(name string) (int, error) {
	p, err := n.sup.Process(name)
	if err != nil {
		return 0, err
	}
	return p.Restarts(), nil
}

// Stop ends a process for good, as its owner would.
func (n *Network) Stop(ctx context.Context, name string) error {
	p, err := n.sup.Process(name)
	if err != nil {
		return err
	}
	return p.Stop(ctx)
}

// LogPath is the log file of a process.
func (n *Network) LogPath(name string) string { return n.sup.LogPath(name) }

// Close ends every process, and waits until they are gone.
func (n *Network) Close() error {
	defer n.releasePorts()
	for _, r := range slices.Concat(n.relays, n.public) {
		r.Close()
	}
	if n.proxy != nil {
		n.proxy.Close()
	}
	for _, p := range n.proxies {
		p.Close()
	}
	if n.past != nil {
		n.past.Close()
	}
	if n.Chain != nil {
		n.Chain.Close()
	}
	if n.sup == nil {
		return nil
	}
	err := os.Remove(statePath(n.cfg.Dir))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	err = errors.Join(err, n.sup.Close())
	n.removeGroups()
	return err
}

// Pid is the process that runs under a name now.
func (n *Network) Pid(name string) (int, error) {
	p, err := n.sup.Process(name)
	if err != nil {
		return 0, err
	}
	return p.Pid(), nil
}

// DataDir is the folder of a keeper's or a machine's own files.
func (n *Network) DataDir(name string) string {
	if name == GatewayName {
		return n.gatewayDir()
	}
	if _, err := n.Machine(name); err == nil {
		return n.agentDir(name)
	}
	return n.keeperDir(name)
}
