package sim

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/keeper/award"
	"github.com/gantry-market/gantry/keeper/check"
	"github.com/gantry-market/gantry/keeper/consensus"
	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/keeper/slashing"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/localnet/adversary/sim/vtime"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txform"
	"github.com/gantry-market/gantry/sdk/txm"
)

// keeper is one keeper: the real parts, and what stands in for the process around them.
type keeper struct {
	sim                *simulation
	place              place
	key                *records.ReadySigner
	rng                rng
	skew               time.Duration // of its clock
	store              *memStore     // what survives a crash
	collusion          *collusion    // nil for honest ones
	equivocator        bool          // signs the opposite of what it signs, too
	signedTwoManifests bool          // for one period

	group    *vtime.Group // nil while it is down
	view     *view.View
	pool     *statement.Pool
	engine   *consensus.Engine
	checker  *check.Checker
	recorder *check.Recorder
	awarder  *award.Awarder
	crank    *crank.Runner
	proofs   *slashing.Service

	endpoint   *endpoint
	blocks     [][]change // of the chain, on their way to the index
	recordSoon bool
}

// gather is how long findings are collected to be signed together. A running keeper takes 40 ms, and more when it is
// busy.
const gather = 250 * time.Millisecond

func (k *keeper) wallet() solana.PublicKey { return k.key.PublicKey() }

// now is its own clock.
func (k *keeper) now() time.Time { return k.sim.loop.Now().Add(k.skew) }

func (k *keeper) up() bool { return k.group != nil }

// start brings the keeper up with what its store remembers, as gantry-keeper does: see keeper/daemon.
func (k *keeper) start() error {
	sim := k.sim
	matcher := match.New()
	k.view, k.pool, k.blocks = view.New(view.Options{Listeners: []view.Listener{matcher}}), statement.NewPool(), nil
	sim.chain.Each(k.view.Put)
	k.pool.Equivocation = k.statementEquivocation
	k.group = vtime.NewGroup(sim.loop, func() { k.engine.Drain(k.group.Context()) })
	g, t, secs := k.group, sim.o.times(), sim.secs()
	var err error
	if k.recorder, err = check.NewRecorder(check.RecorderOptions{
		View: k.view, Store: signingStore{k.store, k.key}, Self: k.wallet(), Domain: domain, Secs: secs, Publish: k.publish,
		Sealed: k.audit, Doubt: t.every, Damaged: k.damaged, Log: zerolog.Nop(), Now: k.now,
	}); err != nil {
		return err
	}
	if k.checker, err = check.NewChecker(check.CheckerOptions{
		View: k.view, Asker: k, Signer: k.key, Domain: domain, Secs: secs,
		Timing: check.Timing{Every: t.every, Timeout: t.timeout}, Measure: k,
		SlotHash: k.slotHash, NodeAt: k.nodeAt, Instants: k.endpoint.instant, Seeds: k.seed, Record: k.record, Skipped: func(n int) { sim.result.SkippedChecks += n }, Log: zerolog.Nop(), Now: k.now, Tasks: g, Rand: k.rng,
	}); err != nil {
		return err
	}
	k.engine, err = consensus.New(consensus.Options{
		View: k.view, Pool: k.pool, Store: k.store, Signer: k.key, Domain: domain, Tasks: g, Seeds: k.seed,
		Timing: consensus.Timing{Delay: t.delay, Round: t.round}, Peers: k, Submit: k.submit,
		Damaged: k.damaged, Observe: watch{k}, Log: zerolog.Nop(), Now: k.now,
		Equivocation: k.equivocation, DuplicateSigner: k.duplicateSigner,
	})
	if err != nil {
		return err
	}
	if k.awarder, err = award.New(award.Options{
		View: k.view, Matcher: matcher, Self: k.wallet(), Submit: k.submit, Step: 2 * time.Second,
		Draw: func(o *market.Order) (market.DrawSeed, bool) {
			return market.NewDrawSeed(domain, o.Address, [32]byte{}), true
		},
		Observe: func(int, time.Duration, error) {}, Log: zerolog.Nop(), Now: k.now, Tasks: g,
	}); err != nil {
		return err
	}
	if k.proofs, err = slashing.New(slashing.Options{Store: k.store, Self: k.wallet(), Delay: 15 * t.crank, Log: zerolog.Nop()}); err != nil {
		return err
	}
	if k.crank, err = crank.New(crank.Options{
		View: k.view, Matcher: matcher, Self: k.wallet(), Sets: k.sets, Submit: k.submit, Interval: t.crank, Step: t.crank * 3 / 2,
		Form:    func(context.Context) txform.Form { return txform.Legacy },
		More:    []func(*view.Accounts, int64) ([]crank.Action, error){k.proofs.Due},
		Observe: func(crank.Kind, int, string, time.Duration) {}, Overdue: func(crank.Kind, time.Duration) {},
		Log: zerolog.Nop(), Now: k.now, Tasks: g,
	}); err != nil {
		return err
	}
	k.republish()
	k.tick(min(max(t.every/15, 20*time.Millisecond), time.Second), func() { k.checker.Tick(g.Context()) })
	k.tick(min(max(t.round/6, 20*time.Millisecond), time.Second), func() { k.must(k.engine.Tick(g.Context())) })
	k.tick(500*time.Millisecond, func() { k.awarder.Tick(g.Context()) })
	k.tick(t.crank, func() { k.crank.Tick(g.Context()) })
	k.tick(sim.o.Period, func() {
		if p, back := sim.period(k.now()), records.Period(2*retentionPeriods); p > back {
			k.store.prune(p - back)
		}
	})
	k.sealing()
	return nil
}

// tick calls f at intervals, from a random moment of the first on, until the keeper goes down.
func (k *keeper) tick(d time.Duration, f func()) {
	g := k.group
	k.sim.loop.Every(k.sim.loop.Now().Add(k.rng.between(0, d)), d, func() bool {
		if g.Stopped() {
			return false
		}
		f()
		return true
	})
}

// sealing lets the recorder close each period when its clock says that it is over.
func (k *keeper) sealing() {
	g, secs := k.group, int64(k.sim.secs())
	end := time.Unix((k.now().Unix()/secs+1)*secs, 0).Add(100 * time.Millisecond)
	k.sim.loop.At(end.Add(-k.skew), func() {
		if !g.Stopped() {
			k.must(k.recorder.Tick())
			k.sealing()
		}
	})
}

// crash takes the keeper down: its store is all that stays.
func (k *keeper) crash() {
	if k.up() {
		k.group.Stop()
		k.group = nil
	}
}

func (k *keeper) damaged(err error) { k.sim.fail(fmt.Errorf("keeper %d: %w", k.place, err)) }

func (k *keeper) must(err error) {
	if err != nil {
		k.sim.fail(fmt.Errorf("keeper %d: %w", k.place, err))
	}
}

// record hands a finding to the recorder, which signs what it has a moment later.
func (k *keeper) record(ctx context.Context, f check.Finding) {
	if k.collusion != nil {
		f = k.collusion.falsify(k, f)
	}
	k.recorder.Add(ctx, f)
	if k.recordSoon {
		return
	}
	k.recordSoon = true
	g := k.group
	k.sim.loop.After(gather, func() {
		k.recordSoon = false
		if !g.Stopped() {
			k.must(k.recorder.Tick())
		}
	})
}

// sets finds leaf sets for the crank. A dishonest keeper also knows what its collusion has forged.
func (k *keeper) sets(p records.Period, root records.Hash) *leafSet {
	if k.collusion != nil {
		if s := k.collusion.forged[p]; s != nil && s.Root == root {
			return s
		}
	}
	return k.engine.Set(p, root)
}

// slotHash stands for the hash of a recent final slot: the same for all, new in every minute.
func (k *keeper) slotHash(context.Context) ([32]byte, error) {
	return sha256.Sum256(fmt.Appendf(nil, "slot/%d/%d", k.sim.o.Seed, k.sim.loop.Now().Add(-k.endpoint.behind()).Unix()/60)), nil
}

// seed stands for the block from which a period's committees are drawn: known to all from a little before its start.
func (k *keeper) seed(p records.Period) (committee.Seed, bool) {
	known := k.sim.loop.Now().After(k.sim.begins(p).Add(k.endpoint.behind() - k.endpoint.fine - maxSkew))
	return committee.NewSeed(domain, p, uint64(p), sha256.Sum256(fmt.Appendf(nil, "block/%d/%d", k.sim.o.Seed, p))), known
}

// submit sends a transaction and waits until it is confirmed. While the chain cannot be reached it is sent again, as
// the transaction manager does, for as long as the keeper runs.
func (k *keeper) submit(ctx context.Context, in txm.Intent) (txm.Result, error) {
	if k.collusion != nil && in.Kind == "report_vote" && k.collusion.votes != follow {
		return txm.Result{}, errors.New("a dishonest keeper does not vote for what its engine chose")
	}
	g, sim := k.group, k.sim
	var outcome error
	var send func(wake func())
	send = func(wake func()) {
		sim.loop.After(k.toChain(), func() {
			if g.Stopped() {
				return
			}
			if sim.plan.offChain(k.place) {
				sim.loop.After(5*time.Second, func() { send(wake) })
				return
			}
			sim.enqueue(k.wallet(), in.Instructions, func(err error) {
				outcome = err
				if err != nil {
					sim.result.Refusals[in.Kind]++
				}
				sim.loop.After(k.toChain(), wake)
			})
		})
	}
	if err := g.Wait(ctx, send); err != nil {
		return txm.Result{}, err
	}
	return txm.Result{ID: in.ID, State: txm.StateConfirmed}, outcome
}

// toChain draws the way to the keeper's endpoint.
func (k *keeper) toChain() time.Duration {
	return 20*time.Millisecond + k.rng.exponential(60*time.Millisecond) + k.sim.net.slowness(k.place)
}

// see takes a block's changes; the watcher delivers them in order, some time later.
func (k *keeper) see(block []change) {
	if !k.up() {
		return // it reads everything when it starts
	}
	k.blocks = append(k.blocks, block)
	lag := k.endpoint.behind()
	k.sim.loop.After(lag+k.rng.exponential(k.endpoint.fine/4), k.deliver(k.group))
}

func (k *keeper) deliver(g *vtime.Group) func() {
	return func() {
		if g.Stopped() || len(k.blocks) == 0 {
			return
		}
		if k.sim.plan.offChain(k.place) {
			k.sim.loop.After(time.Second, k.deliver(g))
			return
		}
		block := k.blocks[0]
		k.blocks = k.blocks[1:]
		for _, c := range block {
			k.view.Put(c.key, c.account)
		}
	}
}

// watch hears what the engine does.
type watch struct{ k *keeper }

func (o watch) Proposed(p uint64) { o.k.sim.result.Proposals++ }
func (o watch) Voted(p uint64, err error) {
	if err != nil && !market.AlreadyDone(err) {
		o.k.sim.result.RefusedVotes++
	}
}

func (o watch) Refused(p uint64, err error)       { o.k.sim.result.RefusedProposals++; o.k.sim.why(err) }
func (o watch) Final(p uint64, lag time.Duration) {}
