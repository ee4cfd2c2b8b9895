package auction

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// closed is this keeper's bid set of an auction, with the choice that follows from it.
type closed struct {
	set    sealedbid.Set
	choice sealedbid.Choice
	terms  sealedbid.Terms
}

// noWinner reports whether no bid wins.
func (c *closed) noWinner() bool { return len(c.choice.Winners) == 0 }

// setEntry is how a set is stored.
type setEntry struct {
	Parts []messages.BidSetPart `cbor:"1,keyasint"`
}

// held returns this keeper's closed set when it is in memory.
func (s *Service) held(a store.AuctionKey) *closed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, ok := s.auctions[a]; ok {
		return x.closed
	}
	return nil
}

// Close judges all bids as the chain shows the nodes now, signs the set and keeps it. Closing again judges anew: a node
// may have taken other work since. The bids and their root stay as they were at the first close.
func (s *Service) Close(o *market.Order) (*closed, error) {
	key := store.AuctionKey{CloseAt: o.AuctionClose, Order: o.Address}
	terms := sealedbid.TermsOf(o)
	s.mu.Lock()
	s.auctionLocked(key).closing = true
	s.mu.Unlock()
	was, err := s.own(key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	var bids []messages.Bid
	if err == nil {
		for _, j := range was.set.Bids {
			bids = append(bids, j.Bid)
		}
	} else {
		bids = s.bids(key)
	}
	now := s.o.Now().Unix()
	var judged []messages.JudgedBid
	asked := *o
	asked.Status, asked.NodesAwarded = uint8(market.OrderOpen), 0 // as it was while bids were taken
	s.o.View.Read(func(v *view.Accounts) { judged = s.o.Judge(v.Market, &asked, bids, lookup(v), now) })
	choice := sealedbid.Decide(terms, judged)
	set, err := sealedbid.SignSet(sealedbid.AuctionOf(s.o.Domain, o), judged, now, s.o.Signer)
	if err != nil {
		return nil, err
	}
	if err := s.keepSet(key, &set); err != nil {
		return nil, err
	}
	c := &closed{set: set, choice: choice, terms: terms}
	s.mu.Lock()
	s.auctionLocked(key).closed = c
	s.mu.Unlock()
	return c, nil
}

func (s *Service) keepSet(key store.AuctionKey, set *sealedbid.Set) error {
	raw, err := p2p.Encode(setEntry{Parts: set.Parts()})
	if err != nil {
		return err
	}
	err = s.o.Store.PutBidSet(key, set.Keeper, raw)
	if store.IsDamage(err) {
		s.o.Damaged(err)
	}
	return err
}

// own returns this keeper's set, from memory or disk. Error: store.ErrNotFound.
func (s *Service) own(key store.AuctionKey) (*closed, error) {
	if c := s.held(key); c != nil {
		return c, nil
	}
	parts, err := s.parts(key, s.o.Signer.PublicKey())
	if err != nil {
		return nil, err
	}
	var a sealedbid.Assembler
	for _, p := range parts {
		if err := a.Add(p); err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
		}
	}
	set, err := a.Set(sealedbid.Auction{Domain: s.o.Domain, Order: key.Order, CloseAt: key.CloseAt}, s.o.Roles.Keys)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	c := &closed{set: set}
	s.mu.Lock()
	if x, ok := s.auctions[key]; ok {
		x.closing, x.closed = true, c
	}
	s.mu.Unlock()
	return c, nil
}

func (s *Service) parts(key store.AuctionKey, keeper solana.PublicKey) ([]messages.BidSetPart, error) {
	raw, err := s.o.Store.BidSet(key, keeper)
	if err != nil {
		return nil, err
	}
	var r setEntry
	if err := p2p.Decode(raw, &r); err != nil {
		return nil, fmt.Errorf("%w: bid set of order %s: %w", store.ErrCorrupt, key.Order, err)
	}
	return r.Parts, nil
}

// ServeBidSet streams a published set to anyone.
func (s *Service) ServeBidSet(_ context.Context, _ solana.PublicKey, req messages.BidSetRequest, send func(messages.BidSetPart) error) error {
	keeper := solana.PublicKey(req.Keeper)
	if keeper.IsZero() {
		keeper = s.o.Signer.PublicKey()
	}
	key := store.AuctionKey{CloseAt: req.CloseAt, Order: req.Order}
	var err error
	if req.CloseAt == 0 {
		key, err = s.o.Store.LastBidSet(req.Order, keeper)
	}
	var parts []messages.BidSetPart
	if err == nil {
		parts, err = s.parts(key, keeper)
	}
	if errors.Is(err, store.ErrNotFound) {
		return p2p.Refuse(p2p.CodeNotFound, "no bids of order %s are kept here", key.Order)
	}
	for _, p := range parts {
		if err := send(p); err != nil {
			return err
		}
	}
	return err
}

// Missing reports whether another keeper's set of an auction is not kept here.
func (s *Service) Missing(key store.AuctionKey, keeper solana.PublicKey) bool {
	_, err := s.o.Store.BidSet(key, keeper)
	return errors.Is(err, store.ErrNotFound)
}

// Take keeps another keeper's set, after checking that it is what that keeper signed.
func (s *Service) Take(key store.AuctionKey, from solana.PublicKey, a *sealedbid.Assembler) error {
	set, err := a.Set(sealedbid.Auction{Domain: s.o.Domain, Order: key.Order, CloseAt: key.CloseAt}, s.o.Roles.Keys)
	switch {
	case err != nil:
		return err
	case set.Keeper != from:
		return fmt.Errorf("the set is of keeper %s: %w", set.Keeper, sealedbid.ErrSet)
	}
	return s.keepSet(key, &set)
}

// Outcome tells a node what became of its bid, by this keeper's own set.
func (s *Service) Outcome(_ context.Context, from solana.PublicKey, req messages.OutcomeRequest) (messages.SignedOutcome, error) {
	key := store.AuctionKey{CloseAt: req.CloseAt, Order: req.Order}
	c, err := s.own(key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return messages.SignedOutcome{}, p2p.Refuse(p2p.CodeUnavailable, "the bids are not closed here")
	case err != nil:
		return messages.SignedOutcome{}, err
	}
	j := c.set.Find(req.Node)
	if j == nil || j.Bid.Commitment != req.Commitment {
		return messages.SignedOutcome{}, p2p.Refuse(p2p.CodeNotFound, "no such bid is among those that were closed here")
	}
	var nodeKey solana.PublicKey
	var order *market.Order
	var award *market.Auction
	s.o.View.Read(func(v *view.Accounts) {
		if n, ok := v.Nodes[req.Node]; ok {
			nodeKey = n.NodeKey
		}
		order = v.Orders[req.Order]
		if a, ok := v.Auctions[req.Order]; ok && a.CloseAt == req.CloseAt && a.WinnerCount > 0 {
			award = a
		}
	})
	if nodeKey != from {
		return messages.SignedOutcome{}, p2p.Refuse(p2p.CodeRefused, "node %s has another key", solana.PublicKey(req.Node))
	}
	if order != nil && order.State() == market.OrderOpen && order.AuctionClose == req.CloseAt {
		return messages.SignedOutcome{}, p2p.Refuse(p2p.CodeUnavailable, "the order is not awarded yet")
	}
	return sealedbid.SignOutcome(s.o.Signer, outcome(c, j, award))
}

// outcome is what became of a bid: this keeper's judgement, unless the chain shows another. award is nil when the
// auction was not awarded, or is gone.
func outcome(c *closed, j *messages.JudgedBid, award *market.Auction) records.Outcome {
	o := records.Outcome{
		Commitment: j.Bid.Commitment, Code: records.OutcomeCode(j.Code), Requirement: j.Requirement, DecidedAt: c.set.Head.ChosenAt, Root: c.set.Head.Root,
	}
	switch {
	case award != nil && slices.Contains(award.Winners[:min(int(award.WinnerCount), len(award.Winners))], j.Bid.Node):
		o.Code = records.OutcomeWon
	case award == nil && (o.Code == records.OutcomeWon || o.Code == records.OutcomeOutbid):
		o.Code = records.OutcomeNotAwarded
	case o.Code == records.OutcomeWon: // another keeper awarded it, by the bids that it had
		o.Code = records.OutcomeOutbid
	}
	if o.Code == records.OutcomeOutbid {
		o.Price = uint64(sealedbid.Level(c.set.Bids, sealedbid.Winners(c.set.Head.Order, c.set.Bids), j))
	}
	return o
}
