package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/internal/figures"
	"github.com/gantry-market/gantry/internal/service"
	"github.com/gantry-market/gantry/keeper/auction"
	"github.com/gantry-market/gantry/keeper/award"
	"github.com/gantry-market/gantry/keeper/check"
	"github.com/gantry-market/gantry/keeper/consensus"
	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/keeper/dispute"
	"github.com/gantry-market/gantry/keeper/gossip"
	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/keeper/outage"
	"github.com/gantry-market/gantry/keeper/server"
	"github.com/gantry-market/gantry/keeper/signing"
	"github.com/gantry-market/gantry/keeper/slashing"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/chain"
	chainclock "github.com/gantry-market/gantry/sdk/clock"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txform"
	"github.com/gantry-market/gantry/sdk/txm"
	"github.com/gantry-market/gantry/sdk/watch"
)

// Keeper is one running keeper.
type Keeper struct {
	c         Config
	log       zerolog.Logger
	now       func() time.Time  // the chain's time
	machine   func() time.Time  // this machine's date
	time      *chainclock.Clock // what now reads
	domain    records.Domain
	genesis   [32]byte
	secs      uint32
	retention uint32
	timing    Timing

	view    *view.View
	matcher *match.Matcher // follows view
	roles   *roles.Directory
	pool    *statement.Pool
	store   signing.Store
	signing *guardedStore // the store, while signing is safe
	clock   *clock
	lock    *os.File
	opened  time.Time
	intents *txm.Store
	txm     *txm.Manager
	node    *p2p.Node
	gossip  *gossip.Gossip
	watcher *watch.Watcher
	metrics *server.Metrics
	http    *figures.Server
	service *service.Service
	proofs  *slashing.Service

	// Parts that work on the chain's state; see openParts.
	recorder *check.Recorder
	seeds    *seeds
	instants *instants
	draws    *draws
	checker  *check.Checker
	engine   *consensus.Engine
	awarder  *award.Awarder
	crank    *crank.Runner
	outages  *outage.Watch
	moves    *crank.Runner // votes about nodes that are away, and what follows
	tokens   tokens
	bids     *auction.Service
	auctions *auction.Awarder

	complaints *dispute.Complaints
	answers    *dispute.Answers
	disputes   *dispute.Service

	submit   consensus.Submit                        // to the chain
	form     func(context.Context) txform.Form       // the largest that the chain takes
	slotHash func(context.Context) ([32]byte, error) // of a recent final slot
	blocks   func(chain.Commitment) chain.BlockSource

	wallet solana.PublicKey // names the keeper; the key that signs for it may be another
	key    records.Signer   // signs for it, and nothing that may be signed once only; nil with a signer
	remote *signing.Client  // the signer that has the key; nil without one
	signer records.Signer   // signs what package signing lets through
	named  records.Signer   // does so in the wallet's name
	damage atomic.Pointer[error]
	works  atomic.Bool // its parts are there
}

func newKeeper(c Config) *Keeper {
	k := &Keeper{
		c: c, log: c.Log, now: c.Simulation.date, machine: c.Simulation.date, matcher: match.New(), pool: statement.NewPool(), opened: time.Now(),
	}
	k.view = view.New(view.Options{Log: c.Log, Listeners: []view.Listener{k.matcher}})
	k.service = service.New(c.Service, k.status, k.component("service"))
	return k
}

// Open prepares a keeper: it checks the cluster and the stores and listens. Close must be called.
// Errors: those of query.Load, store.Open and txm.OpenStore, ErrSimulation, ErrTiming, ErrNotRegistered.
func Open(ctx context.Context, c Config) (_ *Keeper, err error) {
	if err := c.Simulation.check(c.Client.Local(), c.Log); err != nil {
		return nil, err
	}
	k := newKeeper(c)
	defer func() {
		if err != nil {
			err = errors.Join(err, k.Close())
		}
	}()
	for _, open := range []func(context.Context) error{k.openMarket, k.openKey, k.openStores, k.openChain, k.openNetwork} {
		if err := open(ctx); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// openMarket reads what the keeper needs of the market's parameters.
func (k *Keeper) openMarket(ctx context.Context) error {
	m, err := query.Load(ctx, k.c.Client, chain.Confirmed)
	if err != nil {
		return err
	}
	k.domain, k.secs, k.retention = m.Domain, m.Params.PeriodSecs, m.Params.ReportRetentionSecs
	if k.genesis, err = k.c.Client.Genesis(ctx); err != nil {
		return err
	}
	if k.timing, err = k.c.Timing.For(m.Params); err != nil {
		return err
	}
	if k.time, err = chainTime(ctx, k.c, k.component("time")); err != nil {
		return err
	}
	k.now = k.time.Now
	return k.openRoles()
}

// openStores locks the wallet and opens the data folder.
func (k *Keeper) openStores(ctx context.Context) (err error) {
	if err := os.MkdirAll(k.c.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if k.remote == nil {
		if k.lock, err = lockWallet(k.wallet, k.domain, append(k.c.Locks, k.c.Data)...); err != nil {
			return err
		}
	}
	if err := k.openStore(ctx); err != nil {
		return explainStore(err, k.secs)
	}
	return explainStore(k.openProofs(), k.secs)
}

// openChain makes what reads the chain and sends to it, and the metrics that it reports to.
func (k *Keeper) openChain(context.Context) (err error) {
	if k.intents, err = txm.OpenStore(k.c.path(fileTxm), k.genesis); err != nil {
		return err
	}
	k.metrics = server.NewMetrics(k.gauges()...)
	k.txm, err = txm.New(txm.Options{
		RPC: k.c.Client, Store: k.intents, Keys: txm.NewKeys(k.signer), Payer: k.signer.PublicKey(),
		Log: k.component("transactions"), Retain: k.timing.Keep, OnLanded: k.metrics.Landed, Fees: k.c.Fees,
	})
	if err != nil {
		return err
	}
	k.submit, k.form = k.txm.Submit, k.txm.Largest
	k.watcher, err = watch.New(watch.Options{Client: k.c.Client, Program: market.ProgramID, Certain: market.MarketAddress(), Log: k.component("watcher")})
	if err != nil {
		return err
	}
	hashes, err := newSlotHash(slotHashOptions{TTL: market.Seconds(k.secs), Now: k.now, Latest: func(ctx context.Context) ([32]byte, error) {
		b, err := k.c.Client.LatestBlockhash(ctx, chain.Finalized)
		return b.Hash, err
	}})
	if err != nil {
		return err
	}
	k.slotHash, k.blocks = hashes.get, k.c.Client.Blocks
	return nil
}

// openNetwork listens for peers, and for programs on this machine that read metrics and health.
func (k *Keeper) openNetwork(context.Context) (err error) {
	if k.node, err = p2p.New(k.networkConfig(k.c.Client.Local())); err != nil {
		return err
	}
	if k.c.HTTP != "" {
		k.http, err = figures.New(figures.Options{Addr: k.c.HTTP, WebConfig: k.c.WebConfig, Registry: k.metrics.Registry, Healthy: k.healthy, Ready: k.ready})
		if err != nil {
			return err
		}
		if err := k.http.WriteAddr(k.c.path(fileHTTP)); err != nil {
			return err
		}
	}
	return k.openGossip()
}

// openStore opens the store. It compares the clocks before, since they decide with which period a new store begins.
func (k *Keeper) openStore(ctx context.Context) error {
	period := market.Seconds(k.secs)
	var err error
	k.clock, err = newClock(clockOptions{
		Chain: func(ctx context.Context) (time.Time, error) { return k.c.Client.ClusterTime(ctx, chain.Confirmed) },
		Now:   k.machine, Limit: clockLimit(period), Every: min(max(period/3, time.Second), 20*time.Second), Log: k.component("clock"),
	})
	if err != nil {
		return err
	}
	if err := k.clock.measure(ctx); err != nil {
		return err
	}
	if k.remote == nil {
		first, err := k.firstPeriod(ctx)
		if err != nil {
			return err
		}
		s, err := store.Open(k.c.path(fileStore), store.Options{Keeper: k.wallet, Domain: k.domain, FirstPeriod: first})
		if err != nil {
			return err
		}
		protected := signing.New(s, k.key, k.domain)
		k.store, k.signer = protected, protected
	} else {
		k.store = k.remote
	}
	k.named = records.As(k.wallet, k.signer)
	k.signing = &guardedStore{Store: k.store, clock: k.clock}
	k.watchOwn()
	return nil
}

// firstPeriod is what firstPeriod says of this keeper as it is on chain.
func (k *Keeper) firstPeriod(ctx context.Context) (records.Period, error) {
	var me *market.Keeper
	if found, ok, err := query.Find[market.Keeper](ctx, k.c.Client, market.KeeperAddress(k.wallet), chain.Confirmed); err != nil {
		return 0, err
	} else if ok {
		me = &found
	}
	now := k.machine()
	return firstPeriod(now, now.Add(-k.clock.Ahead()), market.Seconds(k.secs), me), nil
}

// explainStore adds to an error of the store what a person can do about it.
func explainStore(err error, secs uint32) error {
	switch {
	case errors.Is(err, store.ErrFrozen):
		return fmt.Errorf("%w. Find the other process or the older copy and end it; then move this file away: a new one signs from a later period (%d s each) on", err, secs)
	case errors.Is(err, store.ErrSchema):
		return fmt.Errorf("%w. Run the version that wrote it, or move the file away: a new one signs from a later period (%d s each) on, because it cannot know what was signed before", err, secs)
	case store.IsDamage(err):
		return fmt.Errorf("%w; nothing is signed with it. Move the file away: a new one signs again from a later period (%d s each) on, because it cannot know what was signed before", err, secs)
	}
	return err
}

func (k *Keeper) component(name string) zerolog.Logger {
	return k.log.With().Str("part", name).Logger()
}

// Close releases everything. It may be called more than once.
func (k *Keeper) Close() error {
	var errs error
	if k.node != nil {
		errs = errors.Join(errs, k.node.Close())
		k.node = nil
	}
	if k.txm != nil {
		k.txm.Close()
		k.txm = nil
	}
	if k.intents != nil {
		errs = errors.Join(errs, k.intents.Close())
		k.intents = nil
	}
	if k.store != nil {
		errs = errors.Join(errs, k.store.Close())
		k.store = nil
	} else if k.remote != nil {
		errs = errors.Join(errs, k.remote.Close())
	}
	if k.lock != nil {
		errs = errors.Join(errs, k.lock.Close())
		k.lock = nil
	}
	return errs
}

// HTTPAddr is the address of metrics and health, empty when they are off.
func (k *Keeper) HTTPAddr() string {
	if k.http == nil {
		return ""
	}
	return k.http.Addr()
}

// Run works until ctx ends, which is no error.
func (k *Keeper) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, k.service.Stopping)
	defer stop()
	start := k.service.Loop("start", startTime)
	g, ctx := errgroup.WithContext(ctx)
	run := func(f func(context.Context) error) { g.Go(func() error { return f(ctx) }) }
	run(k.service.Run)
	if k.http != nil {
		run(k.http.Run)
	}
	run(k.time.Run)
	if k.remote != nil {
		run(k.runHold)
	}
	run(func(ctx context.Context) error {
		return k.watcher.Run(ctx, func(e watch.Event) {
			if err := k.view.Apply(e); err != nil {
				k.log.Warn().Err(err).Msg("account of the market cannot be decoded")
			}
		})
	})
	g.Go(func() error {
		select {
		case <-k.watcher.Ready():
		case <-ctx.Done():
			return ctx.Err()
		}
		return k.work(ctx, start)
	})
	err := g.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// work starts everything that needs the chain's state.
func (k *Keeper) work(ctx context.Context, start *service.Loop) error {
	if err := k.prepare(ctx); err != nil {
		return err
	}
	n, err := k.txm.Resume(nil)
	if err != nil {
		return err
	}
	k.log.Info().Stringer("keeper", k.publicKey()).Strs("addrs", k.node.Addrs()).Str("http", k.HTTPAddr()).
		Int("resumed", n).Msg("keeper works")
	return k.serve(ctx, start)
}

// serve opens the parts and runs them until ctx ends.
func (k *Keeper) serve(ctx context.Context, start *service.Loop) error {
	if err := k.openParts(); err != nil {
		return err
	}
	if err := k.republish(); err != nil {
		return err
	}
	k.works.Store(true)
	k.service.Ready()
	start.End()
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range []func(context.Context) error{
		k.gossip.Run, k.recorder.Run, k.checker.Run, k.seeds.run, k.instants.run, k.draws.run, k.engine.Run, k.awarder.Run, k.crank.Run, k.auctions.Run, k.runOutages,
		k.runPrune, k.runGuard, k.runTokens, k.runComplaints, k.runAnswers,
	} {
		g.Go(func() error { return run(ctx) })
	}
	return g.Wait()
}

// damaged stops all signing: the process ends with the error, and does not start again with that store.
func (k *Keeper) damaged(err error) {
	k.damage.CompareAndSwap(nil, &err)
	k.log.Error().Err(err).Msg("the keeper's own store cannot be trusted; nothing will be signed")
}

// publicKey is the keeper's wallet.
func (k *Keeper) publicKey() solana.PublicKey { return k.wallet }
