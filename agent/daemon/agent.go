package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/agent/challenge"
	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/device"
	"github.com/gantry-market/gantry/agent/faults"
	"github.com/gantry-market/gantry/agent/group"
	"github.com/gantry-market/gantry/agent/guestvm"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/agent/line"
	"github.com/gantry-market/gantry/agent/measure"
	"github.com/gantry-market/gantry/agent/offer"
	"github.com/gantry-market/gantry/agent/pricing"
	"github.com/gantry-market/gantry/agent/receipt"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/starts"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/attest/guest"
	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/internal/alert"
	"github.com/gantry-market/gantry/internal/figures"
	"github.com/gantry-market/gantry/internal/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/clock"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txm"
)

// ErrClosed: the node's account was closed.
var ErrClosed = errors.New("the node's account was closed: there is nothing left to serve")

// Options of New. Config is required, complete as [config.Config.Complete] returns it.
type Options struct {
	Config config.Config
	Log    zerolog.Logger
	// Service is the service manager that is told how the agent does; the zero value is none.
	Service service.Manager
	// Shared is what several agents of one process share; nil for an agent with a client and a view of its own.
	Shared *Shared
}

// Shared is a way to the chain that several agents of one process use together, as local networks do. Client and View
// are required; the caller runs the view.
type Shared struct {
	Client *chain.Client
	View   *view.View
	// Executable is the gantry-agent binary, which supervises jobs; empty for the running binary.
	Executable string
}

// Agent is a node's daemon.
type Agent struct {
	cfg    config.Config
	log    zerolog.Logger
	shared *Shared
	since  time.Time

	key     solana.PrivateKey
	domain  records.Domain
	genesis [32]byte
	local   bool // the cluster is a private one on this machine
	policy  pricing.Policy
	costs   pricing.Costs
	clock   *clock.Clock // the chain's time
	client  *chain.Client
	view    *view.View
	store   *store.Store
	txStore *txm.Store
	txm     *txm.Manager
	machine *host.Machine
	runtime runtime.Runtime
	virtual *guestvm.Runtime // nil for none
	images  func() (image.Usage, bool, error)
	trouble []string // with the network of containers
	p2p     *p2p.Node
	port    mesh.Port // of the node, shared by the private networks of leases
	groups  *group.Manager
	// openGroup opens the interface of a lease's private network.
	openGroup func(leaseID string) (int, error)

	node   solana.PublicKey // the node's account
	chain  *nodeChain
	prices prices
	offer  *offer.Offer
	leases *lease.Manager
	faults *faults.Standing
	silent atomic.Pointer[string] // which GPU does not answer; nil or empty for none
	// silentLooks is how many looks in a row found one; of followGPUs alone.
	silentLooks int
	fabric      atomic.Pointer[string] // what is wrong with the GPUs' NVSwitches; nil or empty for nothing
	receipts    *receipt.Server
	starts      *starts.Book
	challenges  *challenge.Server
	measure     *measure.Server
	ownersJob
	line      *line.Server
	devices   []format.Device // what computes on the node's GPUs, in the order of their indices
	measured  []format.Device // the same, where the node is not simulated to be false
	figures   *figures.Server
	targets   []alert.Target                 // of notices for people
	notices   *alert.Sender                  // to the targets; nil where there is none
	balance   atomic.Pointer[chain.Lamports] // of the machine's key; nil while it is unknown
	service   *service.Service
	turns     atomic.Pointer[service.Loop] // of the leases; nil until all have been observed
	assembled atomic.Bool                  // what needs the node's account is there
	guest     *guest.Key                   // of this process; its evidence shows it
	guests    atomic.Pointer[guests]       // nil until the node knows its account
	asked     atomic.Int64                 // when a keeper last asked, unix nanoseconds
	awake     atomic.Int64                 // when the node last ended a hibernation, the same; 0 if it did not
}

// New checks the options. Run does the rest.
func New(o Options) (*Agent, error) {
	if o.Config.DataDir == "" || o.Config.RPC == "" || o.Config.NodeKey == "" || o.Config.Inventory == "" {
		return nil, fmt.Errorf("%w: data folder, RPC endpoint, node key and inventory are required", config.ErrConfig)
	}
	if o.Shared != nil && (o.Shared.Client == nil || o.Shared.View == nil) {
		return nil, errors.New("agents that share the way to the chain need a client and a view")
	}
	targets, err := alert.ParseAll(o.Config.Notify)
	if err != nil {
		return nil, fmt.Errorf("%w: --notify: %w", config.ErrConfig, err)
	}
	a := &Agent{targets: targets, cfg: o.Config, log: o.Log, shared: o.Shared}
	a.service = service.New(o.Service, a.ready, o.Log)
	return a, nil
}

// Run serves keepers and customers until ctx ends. Jobs go on without the agent.
func (a *Agent) Run(ctx context.Context) error {
	a.since = time.Now()
	a.asked.Store(a.since.UnixNano())
	defer a.close()
	stop := context.AfterFunc(ctx, a.service.Stopping)
	defer stop()
	if err := a.open(ctx); err != nil {
		a.noteStop(ctx, err)
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.serve(gctx, g) })
	g.Go(func() error { return a.clock.Run(gctx) })
	g.Go(func() error { return a.service.Run(gctx) })
	if a.figures != nil {
		g.Go(func() error { return a.figures.Run(gctx) })
	}
	if a.notices != nil {
		g.Go(func() error { return a.notices.Run(gctx) })
	}
	g.Go(func() error {
		// At once, and not after the rest has ended: keepers count the silence from the last answer.
		<-gctx.Done()
		if ctx.Err() != nil {
			a.tellRestart(ctx)
		}
		return nil
	})
	err := g.Wait()
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || err == nil) {
		a.log.Info().Msg("agent stopped; jobs continue without it and are found again at the next start")
		return nil
	}
	a.noteStop(ctx, err)
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
	if err := a.openClient(); err != nil {
		return err
	}
	genesis, err := a.client.Genesis(ctx)
	if err != nil {
		return err
	}
	a.domain, a.genesis = records.DomainOf(genesis), genesis
	cluster := runtime.Cluster{GenesisHash: genesis.String(), Endpoints: a.cfg.URLs()}
	a.local = cluster.CheckLocal() == nil
	if err := a.checkSimulations(cluster); err != nil {
		return err
	}
	if err := a.openClock(ctx); err != nil {
		return err
	}
	if err := a.openStores(); err != nil {
		return err
	}
	// The network is first of what takes time: for keepers a node that does not serve yet is not away.
	if err := a.openNetwork(ctx); err != nil {
		return err
	}
	if _, err := query.Load(ctx, a.client, chain.Confirmed); err != nil {
		return err
	}
	if err := a.openMachine(ctx); err != nil {
		return err
	}
	if err := a.openRuntime(ctx, cluster); err != nil {
		return err
	}
	a.faults = faults.New(a.machine.Buses(), a.log.With().Str("part", "faults").Logger())
	return a.openFigures()
}

// openStores opens what an earlier process left. There is one agent with them at a time.
func (a *Agent) openStores() (err error) {
	owner := store.Owner{Domain: a.domain, NodeKey: store.Key(a.key.PublicKey())}
	if a.store, err = store.Open(a.cfg.StorePath(), store.Options{Owner: owner, LockTimeout: 3 * time.Second, Now: a.clock.Now}); err != nil {
		return err
	}
	if a.txStore, err = txm.OpenStore(a.cfg.TxPath(), a.genesis); err != nil {
		return err
	}
	return a.openNotices()
}

// openMachine takes the inventory.
func (a *Agent) openMachine(ctx context.Context) error {
	source, err := config.ParseInventory(a.cfg.Inventory)
	if err != nil {
		return err
	}
	a.machine, err = host.New(ctx, host.Options{
		Source: a.simulation().breaks(source), Seed: [32]byte(a.key.PublicKey()), DiskPath: a.cfg.DataDir, Known: a.cfg.KnownPath(),
	})
	return err
}

// executable is the gantry-agent binary, empty for the running one.
func (a *Agent) executable() string {
	if a.shared == nil {
		return ""
	}
	return a.shared.Executable
}

// openClient takes the shared client and view, or makes them.
func (a *Agent) openClient() (err error) {
	if a.shared != nil {
		a.client, a.view = a.shared.Client, a.shared.View
		return nil
	}
	a.client, err = chain.New(chain.Options{Endpoints: a.cfg.Endpoints(), Commitment: chain.Confirmed, Log: a.log})
	if err == nil {
		a.view = view.New(view.Options{Log: a.log})
	}
	return err
}

func (a *Agent) openNetwork(ctx context.Context) error {
	pc := p2p.Options{
		Key: a.key, Listen: a.cfg.Listen, UserAgent: "gantry-agent", Names: roles.Names{View: a.view}, Known: a.mayVisit, First: a.comesFirst, Allow: a.allowance,
		Before:     a.simulation().before,
		PublicOnly: chain.ClusterOf(a.genesis) != chain.ClusterLocal, Log: a.log.With().Str("part", "p2p").Logger(),
		ListenUDP: a.port.ListenUDP,
	}.ForNode(a.local)
	var err error
	if a.p2p, err = p2p.New(pc); err != nil {
		return err
	}
	a.log.Info().Str("node_key", a.key.PublicKey().String()).Strs("addresses", a.p2p.Addrs()).Msg("agent listens")
	a.greet(ctx)
	return nil
}

// close frees everything that open took, in the reverse order. It logs errors and goes on.
func (a *Agent) close() {
	warn := func(what string, err error) {
		if err != nil {
			a.log.Warn().Err(err).Msg("closing the " + what + " failed")
		}
	}
	if a.p2p != nil {
		warn("network", a.p2p.Close())
	}
	a.closeVirtual()
	warn("GPUs", device.Close(a.devices))
	if a.machine != nil {
		warn("machine", a.machine.Close())
	}
	if a.txm != nil {
		a.txm.Close()
	}
	if a.txStore != nil {
		warn("transaction store", a.txStore.Close())
	}
	if a.store != nil {
		warn("store", a.store.Close())
	}
	if a.client != nil && a.shared == nil {
		a.client.Close()
	}
}

func orDefault(s, d string) string {
	if s == "" {
		return d
	}
	return s
}

// serve waits for the view and for the node's registration, then starts the loops and answers keepers and customers.
func (a *Agent) serve(ctx context.Context, g *errgroup.Group) error {
	node, err := a.awaitNode(ctx)
	if err != nil {
		return err
	}
	if a.shared == nil {
		g.Go(func() error { return a.view.Run(ctx, view.Source{Client: a.client, Scope: a.scope(node)}) })
	}
	if err := a.view.WaitFor(ctx, func(v *view.View) bool { _, there := v.Node(node.Address); return there }); err != nil {
		return err
	}
	if err := a.view.Ready(ctx); err != nil {
		return err
	}
	process, err := a.beAlone(ctx)
	if err != nil {
		return err
	}
	g.Go(func() error { return process.Run(ctx) })
	if err := a.assemble(node); err != nil {
		return err
	}
	a.endIdle(ctx)
	a.groups = a.newGroups(a.openGroup)
	a.assembled.Store(true)
	bidder, err := a.newBidder(ctx)
	if err != nil {
		return err
	}
	g.Go(func() error { return a.leases.Run(ctx) })
	g.Go(func() error { return a.receipts.Run(ctx) })
	g.Go(func() error { return a.challenges.Run(ctx) })
	g.Go(func() error { return a.runMeasure(ctx) })
	if a.idle != nil {
		g.Go(func() error { return a.idle.Run(ctx) })
	}
	g.Go(func() error { return a.keepConnections(ctx) })
	g.Go(func() error { return a.watchNode(ctx) })
	g.Go(func() error { return a.writeStatusFile(ctx) })
	if a.notices != nil {
		g.Go(func() error { return a.followNotices(ctx) })
	}
	g.Go(func() error { return a.followMarket(ctx) })
	g.Go(func() error { return a.followTerms(ctx) })
	g.Go(func() error { return a.offer.Run(ctx) })
	g.Go(func() error { return a.followGPUs(ctx) })
	g.Go(func() error { return a.followFaults(ctx) })
	g.Go(func() error { return bidder.Run(ctx) })
	guests := &guests{view: a.view, store: a.store, node: node.Address, now: a.clock.Now, log: a.log, gateways: a.leases.Welcome, members: a.groups.Knows}
	if err := guests.refresh(); err != nil {
		return err
	}
	a.guests.Store(guests)
	g.Go(func() error { return guests.run(ctx) })
	select { // keepers are answered only once every lease has been observed
	case <-a.leases.Ready():
	case <-ctx.Done():
		return ctx.Err()
	}
	a.turns.Store(a.service.Loop("leases", turnTime))
	h := &handlers{challenges: a.challenges, leases: a.leases, receipts: a.receipts, starts: a.starts, asked: &a.asked, log: a.log}
	h.register(a.p2p, guests)
	a.registerGroups(h, guests)
	a.serveGroups(ctx, g)
	a.measure.Register(a.p2p)
	a.line.Register(a.p2p)
	a.service.Ready()
	a.log.Info().Str("node", node.Address.String()).Str("ask", node.Ask().String()).Stringer("status", node.State()).Msg("agent serves")
	return nil
}
