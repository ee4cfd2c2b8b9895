package gossip

import (
	"context"
	"errors"
	"sync"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/slashing"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// emptyStore has sealed ten periods and signed nothing.
type emptyStore struct{}

func (emptyStore) Sealed() (records.Period, error)                   { return 10, nil }
func (emptyStore) Statements(records.Period) ([]store.Signed, error) { return nil, nil }
func (emptyStore) StatementsAbout(records.Period, solana.PublicKey) ([]store.Signed, error) {
	return nil, nil
}

func (emptyStore) Proposal(records.Period, records.Hash) ([]byte, error) {
	return nil, store.ErrNotFound
}

// fakeEngine knows no manifests and no blobs.
type fakeEngine struct{}

func (*fakeEngine) HandleProposal(context.Context, messages.Proposal)     {}
func (*fakeEngine) HandleManifest(context.Context, messages.Manifest)     {}
func (*fakeEngine) Manifests(records.Period) ([]messages.Manifest, error) { return nil, nil }

func (*fakeEngine) Blob(messages.BlobKind, records.Period, [32]byte) ([]byte, error) {
	return nil, errors.New("not held")
}

// fakeChecker counts the failed checks that it hears of.
type fakeChecker struct {
	mu sync.Mutex
	n  int
}

func (c *fakeChecker) PeerFailure(_ solana.PublicKey, s records.CheckStatement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.Passed {
		c.n++
	}
}

func (c *fakeChecker) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// fakeProofs counts the proofs that it takes.
type fakeProofs struct{ statements, manifests int }

func (*fakeProofs) Against(solana.PublicKey) bool { return false }

func (f *fakeProofs) Statements(one, other statement.Signed) (bool, error) {
	if !market.StatementsEquivocate(one.Statement, other.Statement) {
		return false, slashing.ErrNoProof
	}
	f.statements++
	return f.statements == 1, nil
}

func (f *fakeProofs) Manifests(records.Domain, statement.Manifest, statement.Manifest) (bool, error) {
	f.manifests++
	return f.manifests == 1, nil
}

type fakeMetrics struct{}

func (*fakeMetrics) Rejected()            {}
func (*fakeMetrics) Statements(bool, int) {}

// fakeBids takes no bids.
type fakeBids struct{}

func (fakeBids) Validate(context.Context, solana.PublicKey, messages.BidGossip) p2p.Verdict {
	return p2p.Ignore
}
func (fakeBids) Handle(context.Context, solana.PublicKey, messages.BidGossip) {}

func (fakeBids) Commit(context.Context, solana.PublicKey, messages.BidRequest) (messages.BidAnswer, error) {
	return messages.BidAnswer{}, nil
}

func (fakeBids) Reveal(context.Context, solana.PublicKey, messages.BidRequest) (messages.BidAnswer, error) {
	return messages.BidAnswer{}, nil
}

func (fakeBids) Outcome(context.Context, solana.PublicKey, messages.OutcomeRequest) (messages.SignedOutcome, error) {
	return messages.SignedOutcome{}, nil
}

func (fakeBids) ServeBidSet(context.Context, solana.PublicKey, messages.BidSetRequest, func(messages.BidSetPart) error) error {
	return nil
}
