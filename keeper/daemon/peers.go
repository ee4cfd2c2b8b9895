package daemon

import (
	"context"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
)

// proposalsID is how keepers ask each other for the proposal behind a root.
const proposalsID = "/gantry/proposals/2"

// proposalRequest asks for the proposal of a period with a root.
type proposalRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Period  uint64   `cbor:"2,keyasint"`
	Root    [32]byte `cbor:"3,keyasint"`
}

var (
	statementsProtocol = p2p.Protocol{
		ID: messages.Statements, Version: messages.Version, MaxResponse: messages.MaxMessage, Rate: 5, Burst: 20,
	}
	proposalsProtocol = p2p.Protocol{
		ID: proposalsID, Version: messages.Version, MaxResponse: maxProposal, Rate: 20, Burst: 60,
	}
	manifestsProtocol = p2p.Protocol{
		ID: messages.ManifestsOf, Version: messages.Version, MaxResponse: 3 * maxProposal, Rate: 20, Burst: 60,
	}
	// A set of 40,000 nodes has some ten pieces, the leaves of their report forty.
	blobsProtocol = p2p.Protocol{
		ID: messages.Blobs, Version: messages.Version, MaxResponse: messages.MaxPiece + 1<<10, Rate: 50, Burst: 400, Concurrent: 32,
	}
)

const (
	// maxBatch is how many statements travel in one message of gossip.
	maxBatch = 256
	// maxStatements bounds a message of the statements topic, bytes.
	maxStatements = 128 << 10
	// maxAnswer bounds the statements in one answer, so that they fit a message.
	maxAnswer = 16_000
	// maxProposal bounds a message of the proposals topic, bytes: 256 manifests.
	maxProposal = 64 << 10
	// maxManifest bounds a message of the manifests topic, bytes.
	maxManifest = 1 << 10
)

// network is the keeper's side of gossip and of the protocols between keepers. It implements consensus.Peers.
type network struct {
	k          *Keeper
	node       *p2p.Node
	statements *p2p.Topic[messages.StatementsAnswer]
	proposals  *p2p.Topic[messages.Proposal]
	manifests  *p2p.Topic[messages.Manifests]
	outbox     chan []statement.Signed

	contradictions *p2p.Topic[messages.Contradiction]
	proven         chan messages.Contradiction // found here, to be published
	sealed         chan records.Period         // to be audited
}

func newNetwork(k *Keeper, node *p2p.Node) *network {
	return &network{
		k: k, node: node, outbox: make(chan []statement.Signed, 1024), proven: make(chan messages.Contradiction, 64),
		sealed: make(chan records.Period, 1),
	}
}

// join starts gossip and answers the other keepers.
func (n *network) join() error {
	domain := n.k.domain.String()
	var err error
	n.statements, err = p2p.Join(n.node, p2p.TopicConfig[messages.StatementsAnswer]{
		Name: messages.StatementsTopic(domain), Version: messages.Version, MaxSize: maxStatements,
		Known: n.isKeeper, Validate: n.validateStatements, Handle: n.handleStatements,
		Rate: 20, Burst: 200, // each may have maxBatch signatures to verify
	})
	if err != nil {
		return err
	}
	n.proposals, err = p2p.Join(n.node, p2p.TopicConfig[messages.Proposal]{
		Name: messages.ProposalsTopic(domain), Version: messages.Version, MaxSize: maxProposal,
		Known: n.isKeeper, Validate: n.validateProposal,
		Handle: func(ctx context.Context, _ solana.PublicKey, m messages.Proposal) { n.k.engine.Handle(ctx, m) },
		Rate:   10, Burst: 100,
	})
	if err != nil {
		return err
	}
	if err := n.joinManifests(domain); err != nil {
		return err
	}
	if err := n.joinContradictions(domain); err != nil {
		return err
	}
	p2p.Handle(n.node, statementsProtocol, n.serveStatements)
	p2p.Handle(n.node, proposalsProtocol, n.serveProposal)
	p2p.Handle(n.node, manifestsProtocol, n.serveManifests)
	p2p.Handle(n.node, blobsProtocol, n.serveBlob)
	n.node.ServeLookup(true)
	return nil
}

func (n *network) isKeeper(key solana.PublicKey) (ok bool) {
	n.k.view.Read(func(v *view.Accounts) { _, ok = v.Keepers[key] })
	return ok
}

// inTime reports whether a period's statements and proposals are of interest now.
func (n *network) inTime(p uint64) bool {
	now := n.k.now().Unix() / int64(n.k.secs)
	back := int64(n.k.retention)/int64(n.k.secs) + 2
	return int64(p) >= now-back && int64(p) <= now+1
}

// validateStatements lets keepers speak for themselves only.
func (n *network) validateStatements(_ context.Context, author solana.PublicKey, m messages.StatementsAnswer) p2p.Verdict {
	if m.Version != messages.Version {
		return p2p.Ignore
	}
	if len(m.Statements) == 0 || len(m.Statements) > maxBatch {
		return p2p.Reject
	}
	for _, raw := range m.Statements {
		s, err := statement.Read(raw)
		if err != nil || s.Keeper != author {
			n.k.metrics.Rejected()
			return p2p.Reject
		}
		if !n.inTime(uint64(s.Statement.Period)) {
			return p2p.Ignore
		}
		if n.k.pool.Has(s) {
			continue
		}
		if s.Verify(n.k.domain) != nil {
			n.k.metrics.Rejected()
			return p2p.Reject
		}
		if n.k.pool.Useless(s) {
			return p2p.Ignore // one contradiction is passed on, and no more
		}
	}
	return p2p.Accept
}

// handleStatements keeps what was verified before.
func (n *network) handleStatements(_ context.Context, _ solana.PublicKey, m messages.StatementsAnswer) {
	added := 0
	for _, raw := range m.Statements {
		s, err := statement.Read(raw)
		if err != nil {
			continue
		}
		fresh, err := n.k.pool.Add(s)
		if err != nil {
			n.k.log.Warn().Err(err).Msg("statement")
		}
		if fresh {
			added++
			n.k.checker.PeerFailure(s.Keeper, s.Statement)
		}
	}
	n.k.metrics.Statements(false, added)
}

func (n *network) validateProposal(_ context.Context, author solana.PublicKey, m messages.Proposal) p2p.Verdict {
	if solana.PublicKey(m.Proposer) != author {
		return p2p.Reject
	}
	if !n.inTime(m.Period) {
		return p2p.Ignore
	}
	var weights report.Weights
	n.k.view.Read(func(v *view.Accounts) { weights = v.Weights(int64(m.Period+1) * int64(n.k.secs)) })
	if report.Authentic(m, n.k.domain, weights) != nil {
		return p2p.Ignore // another keeper may know the proposer before us
	}
	return p2p.Accept
}

// serveStatements answers everybody who takes part in the market: statements can cost a provider its stake, so the
// accused can read them, and appeal with them.
func (n *network) serveStatements(_ context.Context, _ solana.PublicKey, req messages.StatementsRequest) (messages.StatementsAnswer, error) {
	out := messages.StatementsAnswer{Version: messages.Version, Statements: []messages.SignedStatement{}}
	sealed, err := n.k.store.Sealed()
	if err != nil {
		return out, err
	}
	if records.Period(req.Period) >= sealed {
		return out, p2p.Refuse(p2p.CodeUnavailable, "period %d is not sealed yet", req.Period)
	}
	all, err := n.signed(records.Period(req.Period), solana.PublicKey(req.Node))
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

// signed is all signed statements that are here: our own first, which are what nobody else need have. node, if not zero,
// is whom they are about.
func (n *network) signed(p records.Period, node solana.PublicKey) ([]statement.Signed, error) {
	read := n.k.store.Statements
	if !node.IsZero() {
		read = func(p records.Period) ([]store.Signed, error) { return n.k.store.StatementsAbout(p, node) }
	}
	have, err := read(p)
	if err != nil {
		return nil, err
	}
	self := n.k.publicKey()
	out := make([]statement.Signed, 0, len(have))
	for _, s := range have {
		out = append(out, statement.Signed{Keeper: self, Statement: s.Statement, Signature: s.Signature})
	}
	for _, s := range n.k.pool.Period(p) {
		if s.Keeper != self && (node.IsZero() || s.Statement.Node == node) {
			out = append(out, s)
		}
	}
	return out, nil
}

func (n *network) serveProposal(_ context.Context, from solana.PublicKey, req proposalRequest) (messages.Proposal, error) {
	var m messages.Proposal
	if !n.isKeeper(from) {
		return m, p2p.Refuse(p2p.CodeRefused, "for keepers only")
	}
	raw, err := n.k.store.Proposal(records.Period(req.Period), req.Root)
	if err != nil {
		return m, p2p.Refuse(p2p.CodeNotFound, "no proposal of period %d with this root", req.Period)
	}
	return m, p2p.Decode(raw, &m)
}

// Publish implements consensus.Peers.
func (n *network) Publish(ctx context.Context, m messages.Proposal) error {
	return n.proposals.Publish(ctx, m)
}

// Proposal implements consensus.Peers.
func (n *network) Proposal(ctx context.Context, keeper solana.PublicKey, p records.Period, root records.Hash) (messages.Proposal, error) {
	req := proposalRequest{Version: messages.Version, Period: uint64(p), Root: root}
	return p2p.Call[proposalRequest, messages.Proposal](ctx, n.node, keeper, proposalsProtocol, req)
}

// publish takes own statements that are in the store already. Where committees are drawn, only what failed is gossiped,
// because others have to look at once: the rest travels as a set when the period is over, and signed to whoever asks.
func (n *network) publish(all []statement.Signed) {
	if !n.small() {
		all = slices.DeleteFunc(slices.Clone(all), func(s statement.Signed) bool { return s.Statement.Passed })
	}
	for _, s := range all {
		if _, err := n.k.pool.Add(s); err != nil {
			n.k.log.Warn().Err(err).Msg("own statement")
		}
	}
	n.k.metrics.Statements(true, len(all))
	if len(all) == 0 {
		return
	}
	select {
	case n.outbox <- all:
	default: // peers ask for what they miss
		n.k.log.Warn().Int("statements", len(all)).Msg("too much to publish; peers will ask for it")
	}
}

// runOutbox publishes until ctx ends.
func (n *network) runOutbox(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-n.proven:
			if err := n.contradictions.Publish(ctx, m); err != nil && ctx.Err() == nil {
				n.k.log.Warn().Err(err).Msg("contradiction was not published")
			}
		case all := <-n.outbox:
			for len(all) > 0 {
				batch := all[:min(len(all), maxBatch)]
				all = all[len(batch):]
				m := messages.StatementsAnswer{Version: messages.Version}
				for _, s := range batch {
					m.Statements = append(m.Statements, s.Message())
				}
				if err := n.statements.Publish(ctx, m); err != nil && ctx.Err() == nil {
					n.k.log.Warn().Err(err).Msg("statements were not published")
				}
			}
		}
	}
}
