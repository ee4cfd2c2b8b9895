package gossip

import (
	"context"
	"errors"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/consensus"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// Gossip is a keeper's side of the topics and protocols between keepers.
type Gossip struct {
	o Options
	h Handlers

	statements    *p2p.Topic[messages.StatementsAnswer]
	proposals     *p2p.Topic[messages.Proposal]
	manifests     *p2p.Topic[messages.Manifests]
	equivocations *p2p.Topic[messages.EquivocationProof]
	bids          *p2p.Topic[messages.BidGossip]

	outbox    chan []statement.Signed
	proofs    chan messages.EquivocationProof // found here, to be published
	bidOutbox chan messages.BidGossip
	sealed    chan records.Period // to be audited
}

var _ consensus.Peers = (*Gossip)(nil)

// errNotJoined is the error of publishing before Join.
var errNotJoined = errors.New("gossip: the keeper has not joined the topics yet")

// New returns a Gossip that can ask other keepers. It hears and publishes nothing before Join. Error:
// options.ErrMissing.
func New(o Options) (*Gossip, error) {
	if err := options.Complete("gossip", o, "Self", "Log"); err != nil {
		return nil, err
	}
	if o.Self.IsZero() {
		o.Self = o.Node.Key()
	}
	return &Gossip{
		o: o, outbox: make(chan []statement.Signed, 1024), proofs: make(chan messages.EquivocationProof, 64),
		bidOutbox: make(chan messages.BidGossip, 4096), sealed: make(chan records.Period, 1),
	}, nil
}

// Join starts the topics and answers the other keepers. It may be called once. Errors: options.ErrMissing, those of
// p2p.Join.
func (g *Gossip) Join(h Handlers) error {
	if err := h.check(); err != nil {
		return err
	}
	g.h = h
	for _, join := range []func() error{g.joinStatements, g.joinProposals, g.joinManifests, g.joinEquivocations, g.joinBids} {
		if err := join(); err != nil {
			return err
		}
	}
	g.o.Node.ServeLookup(true)
	return nil
}

// Run keeps connections to the other keepers, publishes, and audits statements until ctx ends.
func (g *Gossip) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range []func(context.Context) error{g.runPeers, g.runOutbox, g.runBidOutbox, g.runAudit} {
		group.Go(func() error { return run(ctx) })
	}
	return group.Wait()
}

// self is this keeper's wallet.
func (g *Gossip) self() solana.PublicKey { return g.o.Self }

// period is the running one.
func (g *Gossip) period() records.Period {
	return records.Period(max(0, g.o.Now().Unix()) / int64(g.o.PeriodSecs))
}

// may reports whether a key may do something in the running period.
func (g *Gossip) may(key solana.PublicKey, a roles.Action) bool {
	return g.o.Roles.Role(key, g.period()).May(a)
}

// mayGossip is who may write messages of the topics: who has weight in the running period, or had in the last, which is
// agreed on now.
func (g *Gossip) mayGossip(key solana.PublicKey) bool {
	now := g.period()
	return g.o.Roles.Role(key, now).May(roles.Gossip) || g.o.Roles.Role(key, now-min(now, 1)).May(roles.Gossip)
}

// current reports whether records of a period still count, or soon will.
func (g *Gossip) current(p uint64) bool {
	now, back := int64(g.period()), int64(g.o.Retention/time.Second)/int64(g.o.PeriodSecs)+2
	return int64(p) >= now-back && int64(p) <= now+1
}

// everyoneChecks reports whether all keepers check all nodes, so that no committees are drawn.
func (g *Gossip) everyoneChecks() (yes bool) {
	g.o.View.Read(func(v *view.Accounts) { yes = len(v.ActiveKeepers()) <= committee.Size })
	return yes
}
