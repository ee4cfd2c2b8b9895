package service

import (
	"context"
	"sync/atomic"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/clock"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/watch"
)

// Service reads the market on one cluster. It keeps finalised transactions that it has read, and nothing else unless it
// follows a customer. It is safe for concurrent use.
type Service struct {
	client *chain.Client
	// history is the client's, with the finalised transactions that were read before.
	history audit.Source
	log     zerolog.Logger
	// Clock is the chain's time, for what is compared with times of the chain. It is read when it is asked.
	Clock *clock.Clock
	// FollowMarket has Follow and Keep follow all accounts of the market too. Set it before them.
	FollowMarket bool
	live         atomic.Pointer[live] // nil when it follows no customer
}

// New is a service on a cluster.
func New(client *chain.Client, log zerolog.Logger) *Service {
	return &Service{client: client, history: audit.Keep(client), log: log, Clock: clock.Of(client, log)}
}

// Sent is a transaction that took effect.
type Sent struct {
	Kind      string `json:"kind"`
	Signature string `json:"signature"`
	Slot      uint64 `json:"slot"`
	Units     uint64 `json:"computeUnits"`
	Explorer  string `json:"explorer"`
}

// Explorer builds links to an explorer of the cluster.
func (s *Service) Explorer(ctx context.Context) (chain.Explorer, error) {
	return s.client.Explorer(ctx)
}

// Load reads the market's account and checks that it is one that this program understands.
func (s *Service) Load(ctx context.Context) (market.Market, error) {
	return query.Load(ctx, s.client, s.client.Commitment())
}

// Snapshot reads the accounts of a scope once. The caller has loaded the market.
func (s *Service) Snapshot(ctx context.Context, scope watch.Scope) (*view.View, error) {
	v := view.New(view.Options{Log: s.log})
	return v, view.Snapshot(ctx, s.client, v, s.client.Commitment(), scope)
}

// SnapshotNow is a snapshot and the cluster's time, unix seconds.
func (s *Service) SnapshotNow(ctx context.Context, scope watch.Scope) (*view.View, int64, error) {
	if _, err := s.Load(ctx); err != nil {
		return nil, 0, err
	}
	v, err := s.Snapshot(ctx, scope)
	if err != nil {
		return nil, 0, err
	}
	at, err := s.client.Now(ctx)
	return v, at, err
}

// TokenBalance is what a token account holds, base units; 0 when it does not exist.
func (s *Service) TokenBalance(ctx context.Context, account solana.PublicKey) (uint64, error) {
	accounts, err := s.client.Accounts(ctx, []solana.PublicKey{account}, s.client.Commitment())
	if err != nil {
		return 0, err
	}
	return TokenAmount(accounts[0]), nil
}

// TokenAmount reads the amount of a token account: u64 at offset 64.
func TokenAmount(a *chain.Account) uint64 {
	if a == nil || len(a.Data) < 72 {
		return 0
	}
	var n uint64
	for i := 7; i >= 0; i-- {
		n = n<<8 | uint64(a.Data[64+i])
	}
	return n
}
