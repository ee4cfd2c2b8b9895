package gossip

import (
	"context"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// maxProposal bounds a message of the proposals topic, bytes: 256 manifests.
const maxProposal = 64 << 10

// proposalsProtocol is how keepers ask each other for the proposal behind a root.
var proposalsProtocol = p2p.Protocol{
	ID: messages.ProposalOf, MaxResponse: maxProposal, Rate: 20, Burst: 60,
}

func (g *Gossip) joinProposals() (err error) {
	g.proposals, err = p2p.Join(g.o.Node, p2p.TopicConfig[messages.Proposal]{
		Name: messages.ProposalsTopic(g.o.Domain.String()), MaxSize: maxProposal,
		Known: g.mayGossip, Validate: g.validateProposal,
		Handle: func(ctx context.Context, _ solana.PublicKey, m messages.Proposal) { g.h.Engine.HandleProposal(ctx, m) },
		Rate:   10, Burst: 100,
	})
	if err != nil {
		return err
	}
	p2p.Handle(g.o.Node, proposalsProtocol, g.serveProposal)
	return nil
}

// validateProposal lets the keeper whose round it is propose in its own name, as long as the period may be voted on.
func (g *Gossip) validateProposal(_ context.Context, author solana.PublicKey, m messages.Proposal) p2p.Verdict {
	if solana.PublicKey(m.Proposer) != author {
		return p2p.Reject
	}
	if !g.current(m.Period) {
		return p2p.Ignore
	}
	p := records.Period(m.Period)
	if !g.o.Roles.Role(author, p).May(roles.Propose) {
		return p2p.Ignore // another keeper may know the proposer before us
	}
	var weights report.Weights
	g.o.View.Read(func(v *view.Accounts) { weights = v.Weights(int64(m.Period+1) * int64(g.o.PeriodSecs)) })
	if proposer, ok := report.Proposer(p, m.Round, weights); !ok || proposer != author {
		return p2p.Ignore // the round is another keeper's
	}
	if report.Authentic(m, g.o.Domain, weights, g.o.Roles.Keys) != nil {
		return p2p.Ignore // another keeper may know a keeper that the proposal names before us
	}
	return p2p.Accept
}

func (g *Gossip) serveProposal(_ context.Context, from solana.PublicKey, req messages.ProposalRequest) (messages.Proposal, error) {
	var m messages.Proposal
	if !g.may(from, roles.Ask) {
		return m, p2p.Refuse(p2p.CodeRefused, "for keepers only")
	}
	raw, err := g.o.Store.Proposal(records.Period(req.Period), req.Root)
	if err != nil {
		return m, p2p.Refuse(p2p.CodeNotFound, "no proposal of period %d with this root", req.Period)
	}
	return m, p2p.Decode(raw, &m)
}

// Publish implements consensus.Peers.
func (g *Gossip) Publish(ctx context.Context, m messages.Proposal) error {
	if g.proposals == nil {
		return errNotJoined
	}
	return g.proposals.Publish(ctx, m)
}

// Proposal implements consensus.Peers.
func (g *Gossip) Proposal(ctx context.Context, keeper solana.PublicKey, p records.Period, root records.Hash) (messages.Proposal, error) {
	req := messages.ProposalRequest{Version: messages.Version, Period: uint64(p), Root: root}
	return p2p.Call[messages.ProposalRequest, messages.Proposal](ctx, g.o.Node, keeper, proposalsProtocol, req)
}
