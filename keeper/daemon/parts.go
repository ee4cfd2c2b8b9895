package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/keeper/auction"
	"github.com/gantry-market/gantry/keeper/award"
	"github.com/gantry-market/gantry/keeper/check"
	"github.com/gantry-market/gantry/keeper/consensus"
	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/keeper/dispute"
	"github.com/gantry-market/gantry/keeper/gossip"
	"github.com/gantry-market/gantry/keeper/measure"
	"github.com/gantry-market/gantry/keeper/outage"
	"github.com/gantry-market/gantry/keeper/slashing"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/twins"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// openProofs reads the proofs that the store keeps.
func (k *Keeper) openProofs() (err error) {
	k.proofs, err = slashing.New(slashing.Options{
		Store: k.store, Self: k.publicKey(), Delay: 10 * k.timing.CrankStep, Log: k.component("proofs"),
	})
	return err
}

// openRoles makes what says who may do what. It needs the length of a period.
func (k *Keeper) openRoles() (err error) {
	k.roles, err = roles.New(roles.Options{View: k.view, PeriodSecs: k.secs})
	return err
}

// openGossip makes what talks to the other keepers; it hears nothing before all parts are open.
func (k *Keeper) openGossip() (err error) {
	k.gossip, err = gossip.New(gossip.Options{
		Node: k.node, Self: k.publicKey(), View: k.view, Roles: k.roles, Pool: k.pool, Store: k.store, Proofs: k.proofs, Metrics: k.metrics,
		Domain: k.domain, PeriodSecs: k.secs, Retention: market.Seconds(k.retention), AuditDelay: k.timing.ReportDelay,
		Log: k.component("gossip"), Now: k.now,
	})
	if err != nil {
		return err
	}
	k.pool.Most = func() (most int) {
		k.view.Read(func(v *view.Accounts) { most = statement.MostOf(len(v.Nodes), len(v.Leases), k.secs) })
		return most
	}
	k.pool.Equivocation = k.gossip.StatementEquivocation
	return nil
}

// openParts makes everything that works on the chain's state, and joins the gossip. What the parts know of the chain
// comes from the index; what they send goes through submit.
func (k *Keeper) openParts() error {
	for _, open := range []func() error{k.openChecks, k.openEngine, k.openDisputes, k.openAwards, k.openAuctions} {
		if err := open(); err != nil {
			return err
		}
	}
	return k.gossip.Join(gossip.Handlers{Engine: k.engine, Checker: k.checker, Bids: k.bids})
}

func (k *Keeper) openChecks() (err error) {
	k.recorder, err = check.NewRecorder(check.RecorderOptions{
		View: k.view, Store: k.signing, Self: k.publicKey(), Domain: k.domain, Secs: k.secs, Doubt: k.timing.CheckInterval,
		Publish: k.gossip.PublishStatements, Sealed: k.gossip.Sealed, Damaged: k.damaged, Log: k.component("statements"), Now: k.now,
	})
	if err != nil {
		return err
	}
	judge, err := k.openEvidence()
	if err != nil {
		return err
	}
	k.seeds, err = newSeeds(seedOptions{
		Chain: k.blocks(chain.Finalized), Domain: k.domain, PeriodSecs: k.secs, Log: k.component("seeds"),
	})
	if err != nil {
		return err
	}
	k.instants, err = newInstants(instantOptions{
		Chain: k.blocks(chain.Confirmed), Domain: k.domain, PeriodSecs: k.secs, Now: k.now, Log: k.component("instants"),
	})
	if err != nil {
		return err
	}
	asker := check.Network{Node: k.node}
	k.outages, err = outage.New(outage.Options{
		View: k.view, Asker: asker, Self: k.publicKey(), Timing: outage.DefaultTiming(), Log: k.component("outages"), Now: k.now,
	})
	if err != nil {
		return err
	}
	if k.c.OutageVotes {
		k.outages.Serve(k.node)
	}
	p2p.Handle(k.node, gatewaysProtocol, k.listGateways)
	twins.Serve(k.node, twins.Options{
		Domain: k.domain, Log: k.component("twins"), IsNode: func(key solana.PublicKey) bool { return len(k.view.NodesByKey(key)) > 0 },
	})
	measurer, err := k.openMeasure()
	if err != nil {
		return err
	}
	liner, err := k.openLine()
	if err != nil {
		return err
	}
	k.checker, err = check.NewChecker(check.CheckerOptions{
		View: k.view, Asker: asker, Signer: k.named, Key: k.signer, Domain: k.domain, Secs: k.secs,
		Timing: k.timing.checks(), SlotHash: k.slotHash, Instants: k.instants.get, Now: k.now,
		Record:   func(ctx context.Context, f check.Finding) { k.outages.Heard(f); k.recorder.Add(ctx, f) },
		Evidence: judge, Genesis: k.genesis, Seeds: k.seeds.get,
		Measure: measurer, ProveWrongCell: k.proofs.WrongCell, Line: liner,
		NodeAt: func(ctx context.Context, node solana.PublicKey) (*market.Node, time.Time, error) {
			n, at, err := query.FetchTimed[market.Node](ctx, k.c.Client, node, chain.Confirmed)
			return &n, at, err
		},
		Keep:    measure.Records{Folder: k.c.path(folderMeasurements)}.Keep,
		Observe: k.metrics.Check, Skipped: k.metrics.Skipped, Planned: k.metrics.Duties, Log: k.component("checks"),
		Turn: k.service.Loop("checks", turnTime).Turn,
	})
	return err
}

func (k *Keeper) openEngine() (err error) {
	k.engine, err = consensus.New(consensus.Options{
		View: k.view, Pool: k.pool, Store: k.signing, Signer: k.named, Key: k.signer.PublicKey(), Keys: k.roles.Keys, Domain: k.domain, Timing: k.timing.consensus(),
		Peers: k.gossip, Submit: k.submit, Damaged: k.damaged, Observe: k.metrics, Log: k.component("reports"), Now: k.now,
		Seeds: k.seeds.get, Equivocation: k.gossip.ManifestEquivocation, Turn: k.service.Loop("reports", turnTime).Turn,
		DuplicateSigner: func(m statement.Manifest) {
			// The error is kept and ends the keeper.
			_ = k.duplicateSigner(fmt.Sprintf("a manifest of period %d came in that was signed with this wallet and is not of this store", m.Period))
		},
	})
	return err
}

// openDisputes makes what judges disputes, and answers peers that bring a complaint or an answer to one.
func (k *Keeper) openDisputes() (err error) {
	if k.complaints, err = dispute.OpenComplaints(k.c.path(folderComplaints), k.view); err != nil {
		return err
	}
	k.complaints.Join(k.node)
	k.answers, err = dispute.OpenAnswers(dispute.AnswerOptions{
		Dir: k.c.path(folderAnswers), View: k.view, Domain: k.domain, Log: k.component("disputes"), Now: k.now,
	})
	if err != nil {
		return err
	}
	k.answers.Join(k.node)
	k.disputes, err = dispute.New(dispute.Options{
		Store: k.signing, Complaints: k.complaints, Self: k.publicKey(), Domain: k.domain, Secs: k.secs,
		Publish: k.gossip.PublishStatements, Log: k.component("disputes"), Now: k.now,
	})
	return err
}

// openAwards makes what awards instant orders, and what cranks.
func (k *Keeper) openAwards() (err error) {
	k.draws, err = newDraws(drawOptions{
		Chain: k.blocks(chain.Confirmed), Domain: k.domain, Log: k.component("draws"),
	})
	if err != nil {
		return err
	}
	k.awarder, err = award.New(award.Options{
		View: k.view, Matcher: k.matcher, Self: k.publicKey(), Submit: k.submit, Step: k.timing.AwardStep,
		Draw: k.draws.get, Observe: k.metrics.Awarded, Log: k.component("awards"), Now: k.now,
	})
	if err != nil {
		return err
	}
	gains := crank.Gains{Self: k.publicKey(), Price: k.c.TokenPrice, Least: k.c.LeastProfit, Tokens: k.tokens.held}
	k.crank, err = crank.New(crank.Options{
		View: k.view, Matcher: k.matcher, Self: k.publicKey(), Sets: k.engine.Set, Submit: k.submit, Form: k.form,
		More:     []func(*view.Accounts, int64) ([]crank.Action, error){k.proofs.Due, gains.Due, k.disputes.Due},
		Interval: k.timing.CrankInterval, Step: k.timing.CrankStep, Observe: k.metrics.Cranked, Overdue: k.metrics.CrankLag,
		Log: k.component("crank"), Now: k.now,
	})
	if err != nil {
		return err
	}
	moves := crank.Moves{Matcher: k.matcher, Self: k.publicKey()}
	k.moves, err = crank.New(crank.Options{
		View: k.view, Matcher: k.matcher, Self: k.publicKey(), Sets: k.engine.Set, Submit: k.submit, Form: k.form,
		More: []func(*view.Accounts, int64) ([]crank.Action, error){k.outages.Due, moves.Due}, OnlyMore: true,
		Interval: moveInterval, Step: moveStep, Observe: k.metrics.Cranked, Overdue: k.metrics.CrankLag,
		Log: k.component("moves"), Now: k.now,
	})
	return err
}

// runOutages watches nodes with leases that may move, and moves them, where the operator wants that.
func (k *Keeper) runOutages(ctx context.Context) error {
	if !k.c.OutageVotes {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return k.outages.Run(ctx) })
	g.Go(func() error { return k.moves.Run(ctx) })
	return g.Wait()
}

// How often votes about nodes that are away, and the moves that follow, are looked for, and the wait of each keeper for
// the one before it. They do not depend on the length of a period: a job stands still meanwhile.
const (
	moveInterval = 250 * time.Millisecond
	moveStep     = time.Second
)

// openAuctions makes what takes sealed bids, from those that the store keeps on, and what awards by them.
func (k *Keeper) openAuctions() (err error) {
	log := k.component("auctions")
	k.bids, err = auction.New(auction.Options{
		View: k.view, Store: k.store, Roles: k.roles, PeriodSecs: k.secs, Signer: k.named, Domain: k.domain,
		Publish: k.gossip.PublishBids, Damaged: k.damaged, Log: log, Now: k.now, Judge: k.c.Simulation.judge,
	})
	if err != nil {
		return err
	}
	k.auctions, err = auction.NewAwarder(auction.AwarderOptions{
		View: k.view, Bids: k.bids, Self: k.publicKey(), Submit: k.submit, Step: 4 * k.timing.AwardStep,
		Observe: k.metrics.Awarded, Fetch: k.gossip.BidSet, Log: log, Now: k.now,
	})
	return err
}
