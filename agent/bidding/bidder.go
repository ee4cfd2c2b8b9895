package bidding

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// Network sends messages to keepers.
type Network interface {
	Commit(ctx context.Context, keeper solana.PublicKey, req messages.BidRequest) (messages.BidAnswer, error)
	Reveal(ctx context.Context, keeper solana.PublicKey, req messages.BidRequest) (messages.BidAnswer, error)
	Outcome(ctx context.Context, keeper solana.PublicKey, req messages.OutcomeRequest) (messages.SignedOutcome, error)
}

// Store keeps bids. *store.Store implements it.
type Store interface {
	AddBid(store.Bid) (store.Bid, error)
	UpdateBid(order store.Key, closeAt int64, change func(*store.Bid)) (store.Bid, error)
	Bids() ([]store.Bid, error)
	PruneBids(before int64) (int, error)
}

// Options of New. All are required.
type Options struct {
	View    *view.View
	Store   Store
	Network Network
	Key     records.Signer // the node's
	Node    solana.PublicKey
	Domain  records.Domain
	// Price is what the node bids for an order; 0 for not at all.
	Price func(market.Order) market.PricePerHour
	// Withholds says why the node must not bid for an order as things are now; empty if it may.
	Withholds func(market.Order) string
	// OnChange is called with all bids whenever one has changed.
	OnChange func([]store.Bid)
	Log      zerolog.Logger
	// Now is the chain's clock as well as the node knows it.
	Now func() time.Time
}

// Bidder bids. Run owns all its goroutines.
type Bidder struct {
	o Options

	wg   sync.WaitGroup
	mu   sync.Mutex
	bids map[auction]*bid
	done map[auction]bool // decided, or not bid for
	// withheld are those of which the log says that the node does not bid; it still may before they close.
	withheld map[auction]bool
}

// New checks the options. Run bids.
func New(o Options) (*Bidder, error) {
	if o.View == nil || o.Store == nil || o.Network == nil || o.Key == nil || o.Node.IsZero() || o.Domain.IsZero() ||
		o.Price == nil || o.Withholds == nil || o.OnChange == nil || o.Now == nil {
		return nil, errors.New("bidding: view, store, network, key, node, domain, Price, Withholds, OnChange and Now are required")
	}
	return &Bidder{o: o, bids: map[auction]*bid{}, done: map[auction]bool{}, withheld: map[auction]bool{}}, nil
}

// auction names one auction.
type auction struct {
	order   solana.PublicKey
	closeAt int64
}

// bid is one that is not over yet, with the time at which each keeper is called next.
type bid struct {
	store.Bid
	next map[solana.PublicKey]time.Time
	// calling are the keepers with a request under way.
	calling map[solana.PublicKey]bool
	// asked is how often each keeper was asked for the outcome.
	asked map[solana.PublicKey]int
}

const (
	// activePoll is the time between two ticks while a bid is under way, idlePoll otherwise.
	activePoll = 100 * time.Millisecond
	idlePoll   = 2 * time.Second
	// retryDelay is the time before the bidder calls a keeper again that did not answer.
	retryDelay = 400 * time.Millisecond
	// outcomePoll is the time between two requests for an outcome; outcomeWait is how long after the award deadline the
	// bidder goes on asking.
	outcomePoll = 2 * time.Second
	outcomeWait = 10 * time.Minute
	// callTimeout bounds one request.
	callTimeout = 5 * time.Second
	// keepBids is how long the store keeps bids that are over.
	keepBids = 30 * 24 * time.Hour
)

// Run bids until ctx ends. Errors: the store's, since a node that cannot store its bids must make none; the context's.
func (b *Bidder) Run(ctx context.Context) error {
	defer b.wg.Wait()
	if err := b.load(); err != nil {
		return err
	}
	for {
		changed := b.o.View.Changed()
		active, err := b.tick(ctx)
		if err != nil {
			return err
		}
		delay := idlePoll
		if active {
			delay, changed = activePoll, nil
		}
		t := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-changed:
			t.Stop()
		case <-t.C:
		}
	}
}

// load reads the bids that an earlier process made.
func (b *Bidder) load() error {
	if _, err := b.o.Store.PruneBids(b.o.Now().Add(-keepBids).Unix()); err != nil {
		return err
	}
	all, err := b.o.Store.Bids()
	if err != nil {
		return err
	}
	for _, r := range all {
		if !r.Over {
			b.bids[auction{solana.PublicKey(r.Order), r.CloseAt}] = newBid(r)
		}
	}
	b.o.OnChange(all)
	return nil
}

func newBid(r store.Bid) *bid {
	return &bid{Bid: r, next: map[solana.PublicKey]time.Time{}, calling: map[solana.PublicKey]bool{}, asked: map[solana.PublicKey]int{}}
}

// tick does what is due and reports whether a bid is under way.
func (b *Bidder) tick(ctx context.Context) (active bool, err error) {
	now := b.o.Now()
	open := map[auction]bool{}
	for _, a := range b.o.View.Auctions() {
		key := auction{a.Order, a.CloseAt}
		open[key] = true
		b.mu.Lock()
		known := b.bids[key] != nil || b.done[key]
		b.mu.Unlock()
		if known || now.Unix() > a.CloseAt {
			continue
		}
		if err := b.consider(key, a, now); err != nil {
			return false, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.done {
		if !open[key] {
			delete(b.done, key)
		}
	}
	for key := range b.withheld {
		if !open[key] {
			delete(b.withheld, key)
		}
	}
	for key, x := range b.bids {
		if x.Over {
			delete(b.bids, key)
			b.done[key] = true
			continue
		}
		active = true
		b.advance(ctx, key, x, now)
	}
	return active, nil
}

// consider makes a bid for an order that the node satisfies. A node that does not satisfy it now may do so before the
// close, so that the bidder considers the order again.
func (b *Bidder) consider(key auction, a market.Auction, now time.Time) error {
	o, ok := b.o.View.Order(key.order)
	if !ok || o.AuctionClose != key.closeAt || o.Mode != market.ModeSealed || o.State() != market.OrderOpen {
		return nil
	}
	mk, ok1 := b.o.View.Market()
	n, ok2 := b.o.View.Node(b.o.Node)
	p, ok3 := b.o.View.Provider(n.Provider)
	m, ok4 := b.o.View.Model(n.Spec.Model)
	if !ok1 || !ok2 || !ok3 || !ok4 || market.Biddable(sealedbid.Unpaused(&mk), &o, &n, &p, &m, now.Unix()) != nil {
		return nil
	}
	if why := b.o.Withholds(o); why != "" {
		b.mu.Lock()
		told := b.withheld[key]
		b.withheld[key] = true
		b.mu.Unlock()
		if !told {
			b.o.Log.Info().Stringer("order", key.order).Str("why", why).Msg("node does not bid now")
		}
		return nil
	}
	price := b.o.Price(o)
	if price == 0 || uint64(price) > o.MaxPrice {
		b.o.Log.Info().Stringer("order", key.order).Str("price", price.String()).Str("max", market.PricePerHour(o.MaxPrice).String()).
			Msg("node does not bid: the order pays less than it asks")
		b.mu.Lock()
		b.done[key] = true
		b.mu.Unlock()
		return nil
	}
	var salt [32]byte
	if _, err := rand.Read(salt[:]); err != nil {
		return fmt.Errorf("bidding: salt: %w", err)
	}
	w := market.OrderBid(b.o.Domain, o, b.o.Node, price, salt)
	sig, err := w.Sign(b.o.Key)
	if err != nil {
		return err
	}
	r, err := b.o.Store.AddBid(store.Bid{
		Order: store.Key(key.order), CloseAt: key.closeAt, RevealUntil: a.RevealUntil, Node: store.Key(b.o.Node), Price: store.MicroUSDC(price),
		Max: store.MicroUSDC(o.MaxPrice), Salt: salt, Commitment: store.Key(w.Commitment()), Signature: sig[:], At: now.UTC(),
	})
	if err != nil {
		return fmt.Errorf("bidding: the bid could not be stored, so none is made: %w", err)
	}
	b.mu.Lock()
	b.bids[key] = newBid(r)
	b.mu.Unlock()
	b.o.Log.Info().Stringer("order", key.order).Str("price", price.String()).Msg("node bids")
	b.notify()
	return nil
}

// notify passes all bids to OnChange.
func (b *Bidder) notify() {
	all, err := b.o.Store.Bids()
	if err != nil {
		b.o.Log.Warn().Err(err).Msg("the stored bids cannot be read")
		return
	}
	b.o.OnChange(all)
}

// update changes a bid on disk and in memory. The caller holds mu.
func (b *Bidder) update(key auction, x *bid, change func(*store.Bid)) {
	r, err := b.o.Store.UpdateBid(store.Key(key.order), key.closeAt, change)
	if err != nil {
		b.o.Log.Error().Err(err).Msg("the bid's progress could not be stored")
		return
	}
	x.Bid = r
	b.notify()
}
