package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/agent/challenge"
	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/agent/pricing"
	"github.com/gantry-market/gantry/agent/receipt"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/market/query"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/client/txm"
)

var (
	// ErrSimulation: a simulation was asked for on a cluster that is not local.
	ErrSimulation = errors.New("simulations serve local networks only")
	// ErrClosed: the node's account was closed.
	ErrClosed = errors.New("the node's account was closed: there is nothing left to serve")
)

// Agent is a running agent.
type Agent struct {
	cfg     config.Config
	log     zerolog.Logger
	key     solana.PrivateKey
	domain  records.Domain
	genesis [32]byte
	policy  pricing.Policy
	costs   pricing.Costs
	clock   marketClock
	client  *chain.Client
	view    *view.View
	shared  bool // client and view are the caller's
	// executable supervises jobs; empty for the running binary.
	executable string
	store      *store.Store
	txStore    *txm.Store
	txm        *txm.Manager
	machine    *host.Machine
	runtime    runtime.Runtime
	prover     work.Prover
	device     *deviceProver // nil on machines that simulate
	p2p        *p2p.Node

	ledger *ledger
	leases *lease.Manager
	office *receipt.Office
	desk   *challenge.Desk
	since  time.Time
}

// Run runs an agent until ctx ends. Jobs go on without it.
func Run(ctx context.Context, cfg config.Config, log zerolog.Logger) error {
	return (&Agent{cfg: cfg, log: log, since: time.Now()}).run(ctx)
}

// Link is a way to the chain that agents of one process share: a client, and a view that somebody else runs.
type Link struct {
	Client *chain.Client
	View   *view.View
	// Executable is the gantry-agent binary, which supervises jobs.
	Executable string
}

// RunLinked is Run for one of many agents in a process, as local networks have them.
func RunLinked(ctx context.Context, cfg config.Config, link Link, log zerolog.Logger) error {
	return (&Agent{cfg: cfg, log: log, since: time.Now(), client: link.Client, view: link.View, shared: true, executable: link.Executable}).run(ctx)
}

func (a *Agent) run(ctx context.Context) error {
	defer a.close()
	if err := a.open(ctx); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	if !a.shared {
		g.Go(func() error { return a.view.Run(gctx, view.Source{Client: a.client}) })
	}
	g.Go(func() error { return a.work(gctx, g) })
	err := g.Wait()
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || err == nil) {
		a.log.Info().Msg("agent stopped; jobs go on without it and are found again at the next start")
		return nil
	}
	return err
}

// open does everything that needs no view of the market.
func (a *Agent) open(ctx context.Context) error {
	var err error
	if a.key, err = chain.LoadKeypair(a.cfg.NodeKey); err != nil {
		return fmt.Errorf("the machine's own key (gantry-agent init makes one): %w", err)
	}
	if a.policy, err = pricing.Parse(orDefault(a.cfg.Price, "auto")); err != nil {
		return err
	}
	if a.costs, err = pricing.ParseCosts(a.cfg.Power, a.cfg.Watts, a.cfg.Wear); err != nil {
		return err
	}
	if !a.shared {
		a.client, err = chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: a.cfg.RPC, WS: a.cfg.WS}}, Commitment: chain.Confirmed, Log: a.log})
		if err != nil {
			return err
		}
		a.view = view.New(view.Options{Log: a.log})
	}
	genesis, err := a.client.Genesis(ctx)
	if err != nil {
		return err
	}
	a.domain, a.genesis = records.DomainOf(genesis), genesis
	cluster := runtime.Cluster{GenesisHash: genesis.String(), Endpoints: []string{a.cfg.RPC, a.cfg.WS}}
	if err := a.checkSimulations(cluster); err != nil {
		return err
	}
	if _, err := query.Load(ctx, a.client, chain.Confirmed); err != nil {
		return err
	}
	a.runtime, err = runtime.NewProcess(runtime.ProcessConfig{Root: a.cfg.JobsDir(), Cluster: cluster, Executable: a.executable, Log: a.log})
	if err != nil {
		return err
	}
	owner := store.Owner{Domain: a.domain, NodeKey: store.Key(a.key.PublicKey())}
	if a.store, err = store.Open(a.cfg.StorePath(), store.Options{Owner: owner, LockTimeout: 3 * time.Second}); err != nil {
		return err
	}
	if a.txStore, err = txm.OpenStore(a.cfg.TxPath(), genesis); err != nil {
		return err
	}
	source, err := config.ParseInventory(a.cfg.Inventory)
	if err != nil {
		return err
	}
	a.machine, err = host.New(ctx, host.Options{Source: source, Seed: [32]byte(a.key.PublicKey()), DiskPath: a.cfg.DataDir})
	if err != nil {
		return err
	}
	if err := a.openProver(ctx); err != nil {
		return err
	}
	return a.openNetwork(cluster)
}

// checkSimulations refuses simulations anywhere but on a local network, and labels them in the log.
func (a *Agent) checkSimulations(cluster runtime.Cluster) error {
	if !a.cfg.Simulates() {
		return nil
	}
	if err := cluster.CheckLocal(); err != nil {
		return fmt.Errorf("%w: %w", ErrSimulation, err)
	}
	a.log.Warn().Bool("simulated", true).Str("inventory", a.cfg.Inventory).Int("slow_factor", a.cfg.SlowFactor).
		Str("silence_file", a.cfg.SilenceFile).Bool("wrong_work", a.cfg.WrongWork).Msg("SIMULATION: this node is not what it seems")
	return nil
}

func (a *Agent) openNetwork(cluster runtime.Cluster) error {
	pc := p2p.Config{
		Key: a.key, Listen: a.cfg.Listen, UserAgent: "gantry-agent", Log: a.log.With().Str("part", "p2p").Logger(),
	}.ForNode(cluster.CheckLocal() == nil)
	var err error
	if a.p2p, err = p2p.New(pc); err != nil {
		return err
	}
	a.log.Info().Str("node_key", a.key.PublicKey().String()).Strs("addresses", a.p2p.Addrs()).Msg("listening")
	return nil
}

// close frees everything that open took, in the reverse order. Errors of closing change nothing any more.
func (a *Agent) close() {
	note := func(what string, err error) {
		if err != nil {
			a.log.Warn().Err(err).Msg("close " + what)
		}
	}
	if a.p2p != nil {
		note("network", a.p2p.Close())
	}
	if a.device != nil {
		note("GPU", a.device.Close())
	}
	if a.machine != nil {
		note("machine", a.machine.Close())
	}
	if a.txm != nil {
		a.txm.Close()
	}
	if a.txStore != nil {
		note("transaction store", a.txStore.Close())
	}
	if a.store != nil {
		note("store", a.store.Close())
	}
	if a.client != nil && !a.shared {
		a.client.Close()
	}
}

func orDefault(s, d string) string {
	if s == "" {
		return d
	}
	return s
}

// work waits for the view and for the node's registration, then starts the parts.
func (a *Agent) work(ctx context.Context, g *errgroup.Group) error {
	if err := a.view.Ready(ctx); err != nil {
		return err
	}
	node, err := a.awaitNode(ctx)
	if err != nil {
		return err
	}
	if err := a.assemble(node); err != nil {
		return err
	}
	g.Go(func() error { return a.leases.Run(ctx) })
	g.Go(func() error { return a.office.Run(ctx) })
	g.Go(func() error { return a.desk.Run(ctx) })
	g.Go(func() error { return a.keepConnections(ctx) })
	g.Go(func() error { return a.watchNode(ctx) })
	g.Go(func() error { return a.reportStatus(ctx) })
	g.Go(func() error { return a.keepAsk(ctx) })
	g.Go(func() error { return a.keepTime(ctx) })
	g.Go(func() error { return a.bidder().Run(ctx) })
	select { // keepers are answered only once every lease has been looked at
	case <-a.leases.Ready():
	case <-ctx.Done():
		return ctx.Err()
	}
	h := &handlers{desk: a.desk, leases: a.leases, office: a.office, silence: a.cfg.SilenceFile, log: a.log}
	h.serve(a.p2p)
	a.log.Info().Str("node", node.Address.String()).Str("ask", node.Ask().String()).Stringer("status", node.State()).Msg("serving")
	return nil
}
