package gossip

import (
	"context"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// StatementsProtocol is how a keeper is asked for signed statements.
var StatementsProtocol = p2p.Protocol{
	ID: messages.Statements, MaxResponse: messages.MaxMessage, Rate: 5, Burst: 20,
}

const (
	// MaxBatch is how many statements travel in one message of the topic.
	MaxBatch = 256
	// MaxStatements bounds a message of the topic, bytes.
	MaxStatements = 128 << 10
	// maxAnswer bounds the statements in one answer, so that they fit a message.
	maxAnswer = 16_000
)

func (g *Gossip) joinStatements() (err error) {
	g.statements, err = p2p.Join(g.o.Node, p2p.TopicConfig[messages.StatementsAnswer]{
		Name: messages.StatementsTopic(g.o.Domain.String()), MaxSize: MaxStatements,
		Known: g.mayGossip, Validate: g.validateStatements, Handle: g.handleStatements,
		Rate: 20, Burst: 200, // each may have MaxBatch signatures to verify
	})
	if err != nil {
		return err
	}
	p2p.Handle(g.o.Node, StatementsProtocol, g.serveStatements)
	return nil
}

// validateStatements lets keepers speak for themselves only.
func (g *Gossip) validateStatements(_ context.Context, author solana.PublicKey, m messages.StatementsAnswer) p2p.Verdict {
	if m.Version != messages.Version {
		return p2p.Ignore
	}
	if len(m.Statements) == 0 || len(m.Statements) > MaxBatch {
		return p2p.Reject
	}
	for _, raw := range m.Statements {
		s, err := statement.Read(raw)
		if err != nil || s.Keeper != author {
			g.o.Metrics.Rejected()
			return p2p.Reject
		}
		if !g.recent(s.Statement.Period) || !g.counts(s) {
			return p2p.Ignore // another keeper may know a node or a keeper before us
		}
		if g.o.Pool.Has(s) {
			continue
		}
		if g.o.Pool.Drops(s) {
			return p2p.Ignore // one equivocation is passed on, and no more; and no more statements than there can be
		}
		if s.Verify(g.o.Domain, g.o.Roles.Keys) != nil {
			g.o.Metrics.Rejected()
			return p2p.Reject
		}
	}
	return p2p.Accept
}

// recent reports whether statements of a period are gossiped: about the running one and the last. Later they travel as
// sets, and one by one to whoever asks. Clocks may be apart by a little, so the next one counts too.
func (g *Gossip) recent(p records.Period) bool {
	now := g.period()
	return p+1 >= now && p <= now+1
}

// counts reports whether a report can count a statement: its keeper has weight in the period, the node is known, and the
// check was made within the period. Nothing else is worth the memory.
func (g *Gossip) counts(s statement.Signed) bool {
	frame := statement.Frame{Domain: g.o.Domain, Period: s.Statement.Period, Secs: g.o.PeriodSecs}
	if !frame.Admits(&s.Statement) || !g.o.Roles.Role(s.Keeper, s.Statement.Period).May(roles.Sign) {
		return false
	}
	known := false
	g.o.View.Read(func(v *view.Accounts) { _, known = v.Nodes[s.Statement.Node] })
	return known
}

// handleStatements adds the statements of a valid message to the pool.
func (g *Gossip) handleStatements(_ context.Context, _ solana.PublicKey, m messages.StatementsAnswer) {
	added := 0
	for _, raw := range m.Statements {
		s, err := statement.Read(raw)
		if err != nil {
			continue
		}
		fresh, err := g.o.Pool.Add(s)
		if err != nil {
			g.o.Log.Warn().Err(err).Msg("keeper received a statement that it does not count")
		}
		if fresh {
			added++
			g.h.Checker.PeerFailure(s.Keeper, s.Statement)
		}
	}
	g.o.Metrics.Statements(false, added)
}

// serveStatements answers everybody who takes part in the market: statements can cost a provider its stake, so the
// provider can read them, and appeal with them.
func (g *Gossip) serveStatements(_ context.Context, _ solana.PublicKey, req messages.StatementsRequest) (messages.StatementsAnswer, error) {
	out := messages.StatementsAnswer{Version: messages.Version, Statements: []messages.SignedStatement{}}
	sealed, err := g.o.Store.Sealed()
	if err != nil {
		return out, err
	}
	if records.Period(req.Period) >= sealed {
		return out, p2p.Refuse(p2p.CodeUnavailable, "period %d is not sealed yet", req.Period)
	}
	all, err := g.signed(records.Period(req.Period), solana.PublicKey(req.Node))
	if err != nil {
		return out, err
	}
	all = all[min(int(req.Skip), len(all)):]
	for _, s := range all[:min(maxAnswer, len(all))] {
		out.Statements = append(out.Statements, s.Message())
	}
	out.More = len(all) > maxAnswer
	return out, nil
}

// signed returns all signed statements of a period that are held: this keeper's own first, since no other keeper need
// have them. node, if not zero, is the node that they are about.
func (g *Gossip) signed(p records.Period, node solana.PublicKey) ([]statement.Signed, error) {
	read := g.o.Store.Statements
	if !node.IsZero() {
		read = func(p records.Period) ([]store.Signed, error) { return g.o.Store.StatementsAbout(p, node) }
	}
	have, err := read(p)
	if err != nil {
		return nil, err
	}
	self := g.self()
	out := make([]statement.Signed, 0, len(have))
	for _, s := range have {
		out = append(out, statement.Signed{Keeper: self, Statement: s.Statement, Signature: s.Signature})
	}
	for _, s := range g.o.Pool.Period(p) {
		if s.Keeper != self && (node.IsZero() || s.Statement.Node == node) {
			out = append(out, s)
		}
	}
	return out, nil
}

// PublishStatements takes own statements that are in the store already. It does not read the view: callers may be reading
// it.
func (g *Gossip) PublishStatements(all []statement.Signed) {
	if len(all) == 0 {
		return
	}
	select {
	case g.outbox <- all:
	default: // peers ask for what they miss
		g.o.Log.Warn().Int("statements", len(all)).Msg("keeper drops statements that wait to be published; peers will ask for them")
	}
}

// runOutbox publishes until ctx ends.
func (g *Gossip) runOutbox(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-g.proofs:
			if err := g.equivocations.Publish(ctx, m); err != nil && ctx.Err() == nil {
				g.o.Log.Warn().Err(err).Msg("equivocation proof was not published")
			}
		case all := <-g.outbox:
			g.publish(ctx, all)
		}
	}
}

// publish gossips own statements. Where committees are drawn, it does so with failed checks only, because the other
// keepers verify them at once. The other statements are sent as a set when the period is over, and one by one, signed, to
// whoever asks.
func (g *Gossip) publish(ctx context.Context, all []statement.Signed) {
	if !g.everyoneChecks() {
		all = slices.DeleteFunc(slices.Clone(all), func(s statement.Signed) bool { return s.Statement.Passed })
	}
	for _, s := range all {
		if _, err := g.o.Pool.Add(s); err != nil {
			g.o.Log.Warn().Err(err).Msg("own statement was not added to the pool")
		}
	}
	g.o.Metrics.Statements(true, len(all))
	for len(all) > 0 {
		batch := all[:min(len(all), MaxBatch)]
		all = all[len(batch):]
		m := messages.StatementsAnswer{Version: messages.Version}
		for _, s := range batch {
			m.Statements = append(m.Statements, s.Message())
		}
		if err := g.statements.Publish(ctx, m); err != nil && ctx.Err() == nil {
			g.o.Log.Warn().Err(err).Msg("statements were not published")
		}
	}
}
