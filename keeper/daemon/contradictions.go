package daemon

import (
	"context"
	"errors"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/keeper/slashing"
	"github.com/gantry-market/gantry/keeper/statement"
)

// maxContradiction bounds a message of the contradictions topic, bytes.
const maxContradiction = 2 << 10

// joinContradictions starts the gossip of proofs that a keeper contradicts itself. Statements pass on their author's word
// only; these pass on anybody's, since they prove themselves. So a keeper that tells each peer something else is expelled
// although nobody was told both.
func (n *network) joinContradictions(domain string) error {
	n.k.pool.Contradicted = n.contradicted
	var err error
	n.contradictions, err = p2p.Join(n.node, p2p.TopicConfig[messages.Contradiction]{
		Name: messages.ContradictionsTopic(domain), Version: messages.Version, MaxSize: maxContradiction,
		Known: n.isKeeper, Validate: n.validateContradiction, Handle: n.handleContradiction,
		Rate: 2, Burst: 20,
	})
	return err
}

// readContradiction decodes and verifies both statements.
func (n *network) readContradiction(m messages.Contradiction) (one, other statement.Signed, err error) {
	if m.Version != messages.Version {
		return one, other, slashing.ErrNoProof
	}
	if one, err = statement.Read(m.One); err != nil {
		return one, other, err
	}
	if other, err = statement.Read(m.Other); err != nil {
		return one, other, err
	}
	if one.Keeper != other.Keeper || !market.Equivocates(one.Statement, other.Statement) {
		return one, other, slashing.ErrNoProof
	}
	return one, other, errors.Join(one.Verify(n.k.domain), other.Verify(n.k.domain))
}

// validateContradiction lets the first proof against each keeper pass.
func (n *network) validateContradiction(_ context.Context, _ solana.PublicKey, m messages.Contradiction) p2p.Verdict {
	accused := solana.PublicKey(m.One.Keeper)
	if !n.bonded(accused) || n.k.proofs.Against(accused) {
		return p2p.Ignore // nothing is left to be taken, or it is known
	}
	if _, _, err := n.readContradiction(m); err != nil {
		n.k.metrics.Rejected()
		return p2p.Reject
	}
	return p2p.Accept
}

// bonded reports whether a keeper has a bond that a contradiction would cost.
func (n *network) bonded(wallet solana.PublicKey) (found bool) {
	n.k.view.Read(func(v *view.Accounts) {
		k, ok := v.Keepers[wallet]
		found = ok && k.State() != market.KeeperSlashed
	})
	return found
}

func (n *network) handleContradiction(_ context.Context, _ solana.PublicKey, m messages.Contradiction) {
	if one, other, err := n.readContradiction(m); err == nil {
		n.convict(one, other)
	}
}

// contradicted takes a pair that the pool has found, and tells the others of the first against each keeper.
func (n *network) contradicted(one, other statement.Signed) {
	if !n.convict(one, other) {
		return
	}
	select {
	case n.proven <- messages.Contradiction{Version: messages.Version, One: one.Message(), Other: other.Message()}:
	default: // the proof is kept, and goes on chain from here
		n.k.log.Warn().Stringer("keeper", one.Keeper).Msg("too many contradictions to publish")
	}
}

// convict keeps the proof until it is on chain, and reports whether it is the first against the keeper.
func (n *network) convict(one, other statement.Signed) (first bool) {
	if !n.bonded(one.Keeper) {
		return false
	}
	first, err := n.k.proofs.Statements(one, other)
	switch {
	case errors.Is(err, slashing.ErrNoProof): // the keeper's statements of the period do not count; that is all
	case err != nil:
		n.k.log.Error().Err(err).Stringer("keeper", one.Keeper).Msg("proof of a contradiction was not kept")
	case first:
		n.k.log.Warn().Stringer("keeper", one.Keeper).Stringer("node", one.Statement.Node).Int64("checked_at", one.Statement.CheckedAt).
			Msg("keeper has signed opposite statements about one check; the proof goes on chain")
	}
	return first
}
