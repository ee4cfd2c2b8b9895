package gossip

import (
	"context"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// View is the market.
type View interface {
	Read(func(*view.Accounts))
}

// Roles says what a key is in a period. *roles.Directory is one.
type Roles interface {
	Role(key solana.PublicKey, p records.Period) roles.Role
	// Keys are the keys that speak for a keeper about a period.
	Keys(keeper solana.PublicKey, p records.Period) []solana.PublicKey
}

// Pool holds verified statements. *statement.Pool is one.
type Pool interface {
	Add(statement.Signed) (added bool, err error)
	Has(statement.Signed) bool
	Drops(statement.Signed) bool
	Period(records.Period) []statement.Signed
}

// Store has what this keeper has signed. *store.Store is one.
type Store interface {
	Sealed() (records.Period, error)
	Statements(records.Period) ([]store.Signed, error)
	StatementsAbout(p records.Period, node solana.PublicKey) ([]store.Signed, error)
	Proposal(p records.Period, root records.Hash) ([]byte, error)
}

// Proofs holds equivocation proofs until they are on chain. *slashing.Service is one.
type Proofs interface {
	Against(keeper solana.PublicKey) bool
	Statements(one, other statement.Signed) (first bool, err error)
	Manifests(domain records.Domain, one, other statement.Manifest) (first bool, err error)
}

// Metrics counts. *server.Metrics is one.
type Metrics interface {
	Rejected()
	Statements(own bool, n int)
}

// Options of a Gossip; all but Self and Log are required.
type Options struct {
	Node    *p2p.Node
	Self    solana.PublicKey // this keeper's wallet; zero takes the node's key
	View    View
	Roles   Roles
	Pool    Pool
	Store   Store
	Proofs  Proofs
	Metrics Metrics
	Domain  records.Domain
	// PeriodSecs is the length of a period, Retention how long a report may be voted on, both of the market.
	PeriodSecs uint32
	Retention  time.Duration
	// AuditDelay is how long after the end of a period the other keepers are asked for their signed statements.
	AuditDelay time.Duration
	Log        zerolog.Logger
	Now        func() time.Time
}

// Engine agrees on reports. *consensus.Engine is one.
type Engine interface {
	HandleProposal(context.Context, messages.Proposal)
	HandleManifest(context.Context, messages.Manifest)
	Manifests(records.Period) ([]messages.Manifest, error)
	Blob(kind messages.BlobKind, p records.Period, digest [32]byte) ([]byte, error)
}

// Checker checks nodes. *check.Checker is one.
type Checker interface {
	// PeerFailure takes a failed check that another keeper has signed.
	PeerFailure(by solana.PublicKey, s records.CheckStatement)
}

// Bids takes bids in sealed auctions and gives out bid sets. *auction.Service is one.
type Bids interface {
	Validate(ctx context.Context, author solana.PublicKey, m messages.BidGossip) p2p.Verdict
	Handle(ctx context.Context, author solana.PublicKey, m messages.BidGossip)
	Commit(ctx context.Context, from solana.PublicKey, req messages.BidRequest) (messages.BidAnswer, error)
	Reveal(ctx context.Context, from solana.PublicKey, req messages.BidRequest) (messages.BidAnswer, error)
	Outcome(ctx context.Context, from solana.PublicKey, req messages.OutcomeRequest) (messages.SignedOutcome, error)
	ServeBidSet(ctx context.Context, from solana.PublicKey, req messages.BidSetRequest, send func(messages.BidSetPart) error) error
}

// Handlers are the components that take what other keepers send, and answer them. They themselves ask other keepers by
// the Gossip, so that they are made after it. All are required.
type Handlers struct {
	Engine  Engine
	Checker Checker
	Bids    Bids
}

func (h Handlers) check() error { return options.Complete("gossip handlers", h) }
