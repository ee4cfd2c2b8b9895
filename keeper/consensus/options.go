package consensus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Peers are the other keepers.
type Peers interface {
	// Publish sends a proposal to all.
	Publish(ctx context.Context, m messages.Proposal) error
	// Announce sends our manifest to all.
	Announce(ctx context.Context, m messages.Manifest) error
	// Manifests asks a keeper for the manifests that it holds of a period. Error: ErrNotSealed.
	Manifests(ctx context.Context, keeper solana.PublicKey, p records.Period) ([]messages.Manifest, error)
	// Blob asks a keeper for a piece of a set of statements or of a report's leaves.
	Blob(ctx context.Context, keeper solana.PublicKey, req messages.BlobRequest) (messages.Piece, error)
	// Proposal asks a keeper for a proposal with a root.
	Proposal(ctx context.Context, keeper solana.PublicKey, p records.Period, root records.Hash) (messages.Proposal, error)
}

// Store is what the engine needs of the keeper's store. What it promises by a signature or a vote is written there
// first.
type Store interface {
	FirstPeriod() records.Period
	Statements(records.Period) ([]store.Signed, error)
	Sealed() (records.Period, error)
	PutManifest(records.Period, store.SetRef) error
	Vote(records.Period, records.Hash, []byte) error
	Voted(records.Period) (records.Hash, error)
	PutProposal(records.Period, records.Hash, []byte) error
	Proposal(records.Period, records.Hash) ([]byte, error)
	PutLeaves(records.Period, records.Hash, []byte) error
	Leaves(records.Period, records.Hash) ([]byte, error)
}

// Submit sends an intent and waits until it is confirmed.
type Submit func(ctx context.Context, in txm.Intent) (txm.Result, error)

// Observer records what the engine does, for metrics.
type Observer interface {
	Proposed(period uint64)
	Voted(period uint64, err error)
	Refused(period uint64, err error)
	Final(period uint64, lag time.Duration)
}

// Timing of the rounds in which keepers propose.
type Timing struct {
	Delay time.Duration // between a period's end and round 0
	Round time.Duration // how long a proposer has before the next keeper proposes
}

// grace is how long a set of statements may be here before proposals have to name it: less than the time between a
// period's end and its first proposal, more than a proposer takes to ask all keepers.
func (t Timing) grace() time.Duration { return max(t.Delay/2, t.Round/10) }

// Options of an Engine. Required: View, Store, Signer, Domain, Timing, Peers, Submit, Damaged and Observe.
type Options struct {
	View   *view.View
	Store  Store
	Signer records.Signer // in the name of the keeper's wallet: records.As
	Domain records.Domain
	Timing Timing
	Peers  Peers
	Submit Submit
	// Damaged is called when the store cannot be trusted any more.
	Damaged func(error)
	Observe Observer
	Log     zerolog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Pool holds the statements that came in by gossip. The engine drops those of old periods from it. May be nil.
	Pool *statement.Pool
	// DuplicateSigner is called with a manifest that was signed with our key by another process. May be nil.
	DuplicateSigner func(statement.Manifest)
	// Equivocation is called with two different manifests that another keeper has signed for one period, again whenever
	// one of them comes in. It may be called from any goroutine and must not wait for the engine. May be nil.
	Equivocation func(one, other statement.Manifest)
	// Keys are the keys that speak for keepers; nil means their wallets.
	Keys records.Keys
	// Key is the signer's own key, which sends the votes; zero means the name in which it signs.
	Key solana.PublicKey
	// Tasks runs what takes time; nil means goroutines and the wall clock. A caller that sets another calls Tick and
	// Drain in place of Run, and waits for what Tasks has started.
	Tasks schedule.Runner
	// Seeds says by what seed a period's committees are drawn; false while it is not known. nil serves networks in
	// which all keepers check all nodes.
	Seeds func(records.Period) (committee.Seed, bool)
	// Turn is called at each tick of Run's loop, for a watchdog. May be nil.
	Turn func()
}

// ErrOptions is the error of options with which no engine can work.
var ErrOptions = errors.New("consensus: options are not complete")

func (o Options) check() error {
	for _, need := range []struct {
		name  string
		given bool
	}{
		{"View", o.View != nil},
		{"Store", o.Store != nil},
		{"Signer", o.Signer != nil},
		{"Domain", o.Domain != records.Domain{}},
		{"Timing.Round", o.Timing.Round > 0},
		{"Peers", o.Peers != nil},
		{"Submit", o.Submit != nil},
		{"Damaged", o.Damaged != nil},
		{"Observe", o.Observe != nil},
	} {
		if !need.given {
			return fmt.Errorf("%w: %s is missing", ErrOptions, need.name)
		}
	}
	return nil
}
