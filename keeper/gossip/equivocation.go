package gossip

import (
	"context"
	"errors"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/slashing"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// maxEquivocation bounds a message of the equivocation topic, bytes.
const maxEquivocation = 2 << 10

// joinEquivocations starts the gossip of proofs that a keeper equivocates. Statements are passed on for their author
// only; these are passed on for anybody, since they prove themselves. So a keeper that tells each peer something else
// is expelled although no keeper was told both.
func (g *Gossip) joinEquivocations() (err error) {
	g.equivocations, err = p2p.Join(g.o.Node, p2p.TopicConfig[messages.EquivocationProof]{
		Name: messages.EquivocationsTopic(g.o.Domain.String()), MaxSize: maxEquivocation,
		Known: g.mayGossip, Validate: g.validateEquivocation, Handle: g.handleEquivocation,
		Rate: 2, Burst: 20,
	})
	return err
}

// readEquivocation decodes and verifies both statements.
func (g *Gossip) readEquivocation(m messages.EquivocationProof) (one, other statement.Signed, err error) {
	if m.Version != messages.Version {
		return one, other, slashing.ErrNoProof
	}
	if one, err = statement.Read(m.One); err != nil {
		return one, other, err
	}
	if other, err = statement.Read(m.Other); err != nil {
		return one, other, err
	}
	if one.Keeper != other.Keeper || !market.StatementsEquivocate(one.Statement, other.Statement) {
		return one, other, slashing.ErrNoProof
	}
	return one, other, errors.Join(one.Verify(g.o.Domain, g.o.Roles.Keys), other.Verify(g.o.Domain, g.o.Roles.Keys))
}

// validateEquivocation lets the first proof against each keeper pass.
func (g *Gossip) validateEquivocation(_ context.Context, _ solana.PublicKey, m messages.EquivocationProof) p2p.Verdict {
	keeper := solana.PublicKey(m.One.Keeper)
	if !g.may(keeper, roles.LoseBond) || g.o.Proofs.Against(keeper) {
		return p2p.Ignore // nothing is left to be taken, or it is known
	}
	if _, _, err := g.readEquivocation(m); err != nil {
		g.o.Metrics.Rejected()
		return p2p.Reject
	}
	return p2p.Accept
}

func (g *Gossip) handleEquivocation(_ context.Context, _ solana.PublicKey, m messages.EquivocationProof) {
	if one, other, err := g.readEquivocation(m); err == nil {
		g.keepProof(one, other)
	}
}

// StatementEquivocation takes two statements of a keeper that the pool has found to contradict each other, and tells
// the others of the first pair against each keeper.
func (g *Gossip) StatementEquivocation(one, other statement.Signed) {
	if !g.keepProof(one, other) {
		return
	}
	select {
	case g.proofs <- messages.EquivocationProof{Version: messages.Version, One: one.Message(), Other: other.Message()}:
	default: // the proof is kept, and goes on chain from here
		g.o.Log.Warn().Stringer("keeper", one.Keeper).Msg("equivocation proof was not published: too many wait")
	}
}

// keepProof keeps the proof until it is on chain, and reports whether it is the first against the keeper.
func (g *Gossip) keepProof(one, other statement.Signed) (first bool) {
	if !g.may(one.Keeper, roles.LoseBond) {
		return false
	}
	first, err := g.o.Proofs.Statements(one, other)
	switch {
	case errors.Is(err, slashing.ErrNoProof): // the keeper's statements of the period do not count; that is all
	case err != nil:
		g.o.Log.Error().Err(err).Stringer("keeper", one.Keeper).Msg("equivocation proof was not stored")
	case first:
		g.o.Log.Warn().Stringer("keeper", one.Keeper).Stringer("node", one.Statement.Node).Int64("checked_at", one.Statement.CheckedAt).
			Msg("keeper has signed opposite statements about one check; the proof goes on chain")
	}
	return first
}

// ManifestEquivocation keeps two manifests that a keeper has signed for one period until they are on chain, where they
// cost its bond. They are not gossiped: whoever proposes asks everybody for all manifests, and one proof is enough.
func (g *Gossip) ManifestEquivocation(one, other statement.Manifest) {
	if !g.may(one.Keeper, roles.LoseBond) || g.o.Proofs.Against(one.Keeper) {
		return
	}
	first, err := g.o.Proofs.Manifests(g.o.Domain, one, other)
	switch {
	case err != nil:
		g.o.Log.Error().Err(err).Stringer("keeper", one.Keeper).Msg("equivocation proof was not stored")
	case first:
		g.o.Log.Warn().Stringer("keeper", one.Keeper).Uint64("period", uint64(one.Period)).
			Msg("keeper has signed two different manifests of one period; the proof goes on chain")
	}
}
