package bidding

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/client/sealedbid"
)

// Network brings messages to keepers.
type Network interface {
	Commit(ctx context.Context, keeper solana.PublicKey, req messages.BidRequest) (messages.BidAnswer, error)
	Reveal(ctx context.Context, keeper solana.PublicKey, req messages.BidRequest) (messages.BidAnswer, error)
	Outcome(ctx context.Context, keeper solana.PublicKey, req messages.OutcomeRequest) (messages.SignedOutcome, error)
}

// Store remembers bids. *store.Store implements it.
type Store interface {
	AddBid(store.Bid) (store.Bid, error)
	UpdateBid(order store.Key, closeAt int64, change func(*store.Bid)) (store.Bid, error)
	Bids() ([]store.Bid, error)
	PruneBids(before int64) (int, error)
}

// Bidder bids. Run owns all its goroutines.
type Bidder struct {
	View    *view.View
	Store   Store
	Network Network
	Key     records.Signer // the node's
	Node    solana.PublicKey
	Domain  records.Domain
	// Price is what the node bids for an order; 0 for not at all.
	Price func(market.Order) market.PricePerHour
	// Tell is called with all bids whenever one has changed.
	Tell func([]store.Bid)
	Log  zerolog.Logger
	Now  func() time.Time

	wg   sync.WaitGroup
	mu   sync.Mutex
	bids map[auction]*bid
	seen map[auction]bool // looked at and left alone
}

// auction names one auction.
type auction struct {
	order   solana.PublicKey
	closeAt int64
}

// bid is one that something is left to do for, with when each keeper is asked next.
type bid struct {
	store.Bid
	next map[solana.PublicKey]time.Time
	busy map[solana.PublicKey]bool
	// asked is how often each keeper was asked for the outcome.
	asked map[solana.PublicKey]int
}

const (
	// step is how often the clock is looked at while a bid is under way, idle how often otherwise.
	step = 100 * time.Millisecond
	idle = 2 * time.Second
	// again is the pause before a keeper that did not answer is asked again.
	again = 400 * time.Millisecond
	// askEvery is the pause between questions for an outcome; askFor is how long after the award deadline they go on.
	askEvery = 2 * time.Second
	askFor   = 10 * time.Minute
	// callLimit bounds one request.
	callLimit = 5 * time.Second
	// keep is how long bids that are over are remembered.
	keep = 30 * 24 * time.Hour
)

// Run bids until ctx ends. Errors: the store's, since a node that cannot remember its bids must make none; the context's.
func (b *Bidder) Run(ctx context.Context) error {
	defer b.wg.Wait()
	if err := b.load(); err != nil {
		return err
	}
	for {
		changed := b.View.Changed()
		active, err := b.tick(ctx)
		if err != nil {
			return err
		}
		pause := idle
		if active {
			pause, changed = step, nil
		}
		t := time.NewTimer(pause)
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

// load takes up bids that an earlier process made.
func (b *Bidder) load() error {
	b.bids, b.seen = map[auction]*bid{}, map[auction]bool{}
	if _, err := b.Store.PruneBids(b.Now().Add(-keep).Unix()); err != nil {
		return err
	}
	all, err := b.Store.Bids()
	if err != nil {
		return err
	}
	for _, r := range all {
		if !r.Over {
			b.bids[auction{solana.PublicKey(r.Order), r.CloseAt}] = newBid(r)
		}
	}
	b.Tell(all)
	return nil
}

func newBid(r store.Bid) *bid {
	return &bid{Bid: r, next: map[solana.PublicKey]time.Time{}, busy: map[solana.PublicKey]bool{}, asked: map[solana.PublicKey]int{}}
}

// tick does what is due and reports whether a bid is under way.
func (b *Bidder) tick(ctx context.Context) (active bool, err error) {
	now := b.Now()
	open := map[auction]bool{}
	for _, a := range b.View.Auctions() {
		key := auction{a.Order, a.CloseAt}
		open[key] = true
		b.mu.Lock()
		known := b.bids[key] != nil || b.seen[key]
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
	for key := range b.seen {
		if !open[key] {
			delete(b.seen, key)
		}
	}
	for key, x := range b.bids {
		if x.Over {
			delete(b.bids, key)
			b.seen[key] = true
			continue
		}
		active = true
		b.advance(ctx, key, x, now)
	}
	return active, nil
}

// consider makes a bid for an order that the node satisfies. A node that does not satisfy it now may do so before the
// close, so that it is looked at again.
func (b *Bidder) consider(key auction, a market.Auction, now time.Time) error {
	o, ok := b.View.Order(key.order)
	if !ok || o.AuctionClose != key.closeAt || o.Mode != market.ModeSealed || o.State() != market.OrderOpen {
		return nil
	}
	mk, ok1 := b.View.Market()
	n, ok2 := b.View.Node(b.Node)
	p, ok3 := b.View.Provider(n.Provider)
	m, ok4 := b.View.Model(n.Spec.Model)
	if !ok1 || !ok2 || !ok3 || !ok4 || market.Biddable(sealedbid.Unpaused(&mk), &o, &n, &p, &m, now.Unix()) != nil {
		return nil
	}
	price := b.Price(o)
	if price == 0 || uint64(price) > o.MaxPrice {
		b.Log.Info().Stringer("order", key.order).Str("price", price.String()).Str("max", market.PricePerHour(o.MaxPrice).String()).
			Msg("no bid: the order pays less than this machine asks")
		b.mu.Lock()
		b.seen[key] = true
		b.mu.Unlock()
		return nil
	}
	var salt [32]byte
	if _, err := rand.Read(salt[:]); err != nil {
		return fmt.Errorf("random number: %w", err)
	}
	w := market.OrderBid(b.Domain, o, b.Node, price, salt)
	sig, err := w.Sign(b.Key)
	if err != nil {
		return err
	}
	r, err := b.Store.AddBid(store.Bid{
		Order: store.Key(key.order), CloseAt: key.closeAt, RevealUntil: a.RevealUntil, Node: store.Key(b.Node), Price: store.MicroUSDC(price),
		Max: store.MicroUSDC(o.MaxPrice), Salt: salt, Commitment: store.Key(w.Commitment()), Signature: sig[:], At: now.UTC(),
	})
	if err != nil {
		return fmt.Errorf("a bid could not be remembered, so none is made: %w", err)
	}
	b.mu.Lock()
	b.bids[key] = newBid(r)
	b.mu.Unlock()
	b.Log.Info().Stringer("order", key.order).Str("price", price.String()).Msg("bidding")
	b.tell()
	return nil
}

// tell shows all bids to whom it concerns.
func (b *Bidder) tell() {
	all, err := b.Store.Bids()
	if err != nil {
		b.Log.Warn().Err(err).Msg("bids cannot be shown")
		return
	}
	b.Tell(all)
}

// advance starts the requests that are due. The caller holds mu.
func (b *Bidder) advance(ctx context.Context, key auction, x *bid, now time.Time) {
	switch unix := now.Unix(); {
	case unix <= x.CloseAt:
		b.each(ctx, key, x, now, records.AckCommitment)
	case unix <= x.RevealUntil:
		b.each(ctx, key, x, now, records.AckReveal)
	default:
		b.ask(ctx, key, x, now)
	}
}

// keepers are those that bids are brought to.
func (b *Bidder) keepers() []solana.PublicKey {
	var out []solana.PublicKey
	for _, k := range b.View.ActiveKeepers() {
		out = append(out, k.Wallet)
	}
	return out
}

// each brings the bid to every keeper that has neither acknowledged this stage nor refused the bid for good.
func (b *Bidder) each(ctx context.Context, key auction, x *bid, now time.Time, stage records.AckStage) {
	for _, k := range b.keepers() {
		if x.busy[k] || now.Before(x.next[k]) || x.answered(k, stage) {
			continue
		}
		x.busy[k] = true
		req := x.request(stage)
		b.wg.Go(func() {
			limit, cancel := context.WithTimeout(ctx, callLimit)
			defer cancel()
			send := b.Network.Commit
			if stage == records.AckReveal {
				send = b.Network.Reveal
			}
			answer, err := send(limit, k, req)
			b.answer(key, k, stage, answer, err)
		})
	}
}

// answered reports whether there is nothing to bring to a keeper any more in this stage.
func (x *bid) answered(k solana.PublicKey, stage records.AckStage) bool {
	for _, a := range x.Acks {
		if solana.PublicKey(a.Keeper) == k && records.AckStage(a.Stage) == stage {
			return true
		}
	}
	for _, w := range x.Refusals {
		if o, err := records.DecodeOutcome(w.Outcome); err == nil && solana.PublicKey(w.Keeper) == k && final(o.Code, stage) {
			return true
		}
	}
	return false
}

// final reports whether a keeper with this outcome need not be asked again in a stage. A refusal of a
// commitment does not stand against a reveal: others may vouch for the commitment.
func final(c records.OutcomeCode, stage records.AckStage) bool {
	switch c {
	case records.OutcomeUnsuitable, records.OutcomeFull:
		return false // may change before the close
	case records.OutcomeLateCommitment:
		return stage == records.AckCommitment
	}
	return true
}

// request is the message of a stage.
func (x *bid) request(stage records.AckStage) messages.BidRequest {
	req := messages.BidRequest{
		Version: messages.Version, Order: x.Order, CloseAt: x.CloseAt,
		Bid: messages.Bid{Node: x.Node, Commitment: x.Commitment, Signature: [64]byte(x.Signature)},
	}
	if stage != records.AckReveal {
		return req
	}
	req.Bid.Reveal = &messages.BidPrice{Price: uint64(x.Price), Salt: x.Salt}
	for _, a := range x.Acks {
		if records.AckStage(a.Stage) == records.AckCommitment && len(req.Bid.Acks) < messages.MaxBidAcks {
			req.Bid.Acks = append(req.Bid.Acks, messages.BidAck{Keeper: a.Keeper, Stage: a.Stage, ReceivedAt: a.ReceivedAt, Signature: [64]byte(a.Signature)})
		}
	}
	return req
}

// answer remembers what a keeper says, when it is the keeper's word.
func (b *Bidder) answer(key auction, k solana.PublicKey, stage records.AckStage, answer messages.BidAnswer, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.bids[key]
	if x == nil {
		return
	}
	delete(x.busy, k)
	x.next[k] = b.Now().Add(again)
	if err != nil {
		b.Log.Debug().Err(err).Stringer("order", key.order).Stringer("keeper", k).Stringer("stage", stage).Msg("bid not delivered")
		return
	}
	commitment := records.Hash(x.Commitment)
	switch {
	case answer.Ack != nil:
		a := *answer.Ack
		if _, err := sealedbid.Ack(&a, commitment); err != nil || a.Keeper != k || a.Stage != uint8(stage) {
			b.Log.Warn().Stringer("keeper", k).Msg("a keeper's acknowledgement is not worth anything")
			return
		}
		b.update(key, x, func(s *store.Bid) {
			s.Acks = append(s.Acks, store.BidAck{Keeper: a.Keeper, Stage: a.Stage, ReceivedAt: a.ReceivedAt, Signature: a.Signature[:]})
		})
	case answer.Outcome != nil:
		o, err := sealedbid.ReadOutcome(answer.Outcome)
		if err != nil || answer.Outcome.Keeper != k || o.Commitment != commitment {
			b.Log.Warn().Stringer("keeper", k).Msg("a keeper's refusal is not signed by it")
			return
		}
		if refused(x.Refusals, k, o.Code) {
			return
		}
		b.Log.Info().Stringer("order", key.order).Stringer("keeper", k).Stringer("why", o.Code).Msg("bid refused")
		refusal := store.SignedOutcome{Keeper: answer.Outcome.Keeper, Outcome: answer.Outcome.Outcome, Signature: answer.Outcome.Signature[:]}
		b.update(key, x, func(s *store.Bid) { s.Refusals = append(s.Refusals, refusal) })
	}
}

// refused reports whether a keeper gave this reason before.
func refused(refusals []store.SignedOutcome, k solana.PublicKey, code records.OutcomeCode) bool {
	for _, w := range refusals {
		if o, err := records.DecodeOutcome(w.Outcome); err == nil && solana.PublicKey(w.Keeper) == k && o.Code == code {
			return true
		}
	}
	return false
}

// update changes a bid on disk and in memory. The caller holds mu.
func (b *Bidder) update(key auction, x *bid, change func(*store.Bid)) {
	r, err := b.Store.UpdateBid(store.Key(key.order), key.closeAt, change)
	if err != nil {
		b.Log.Error().Err(err).Msg("what became of a bid could not be remembered")
		return
	}
	x.Bid = r
	b.tell()
}
