package auction

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// Store is where bids and published sets are kept. *store.Store implements it.
type Store interface {
	PutBids(store.AuctionKey, map[[32]byte][]byte) error
	EachBid(from int64, f func(a store.AuctionKey, node [32]byte, raw []byte) error) error
	PutBidSet(a store.AuctionKey, keeper solana.PublicKey, raw []byte) error
	BidSet(a store.AuctionKey, keeper solana.PublicKey) ([]byte, error)
	LastBidSet(order, keeper solana.PublicKey) (store.AuctionKey, error)
}

const (
	// MaxBids bounds the bids of all undecided auctions together: about 1 KiB each with acknowledgements.
	MaxBids = 200_000
	// margin is how long before the end of the reveals a keeper stops acknowledging them, so that a clock that is a
	// little behind the chain's never makes it sign too late.
	margin = time.Second
	// maxUndecided is the longest that an auction can be undecided after its close: reveals, award deadline, and some
	// margin.
	maxUndecided = 3 * time.Hour
)

// Options of a Service; all but Judge and Log are required.
type Options struct {
	View  *view.View
	Store Store
	// Roles says whose acknowledgements count. *roles.Directory is one.
	Roles interface {
		Role(key solana.PublicKey, p records.Period) roles.Role
		Keys(keeper solana.PublicKey, p records.Period) []solana.PublicKey
	}
	PeriodSecs uint32
	Signer     records.Signer // in the name of the keeper's wallet: records.As
	Domain     records.Domain
	// Publish tells the other keepers; it must not block.
	Publish func(messages.BidGossip)
	// Damaged is called when the store can no longer be trusted.
	Damaged func(error)
	Log     zerolog.Logger
	Now     func() time.Time
	// Judge says what becomes of each bid; nil means sealedbid.Judge.
	Judge func(*market.Market, *market.Order, []messages.Bid, sealedbid.Lookup, int64) []messages.JudgedBid
}

// Service takes bids from nodes and from other keepers, and holds those of undecided auctions.
type Service struct {
	o Options

	mu       sync.Mutex
	auctions map[store.AuctionKey]*auction
	total    int
}

// auction is one undecided auction's bids.
type auction struct {
	entries map[[32]byte]*entry // by node account
	closing bool                // no bid is taken any more
	closed  *closed             // our own set, once closed
}

// entry is one node's bid. A caller that changes it holds mu until the change is on disk.
type entry struct {
	mu  sync.Mutex
	bid messages.Bid // the zero commitment before the first is on disk
}

// New reads the bids of auctions that may still be undecided. Errors: options.ErrMissing, store.ErrCorrupt, the
// store's.
func New(o Options) (*Service, error) {
	if err := options.Complete("auction", o, "Judge", "Log"); err != nil {
		return nil, err
	}
	if o.Judge == nil {
		o.Judge = sealedbid.Judge
	}
	s := &Service{o: o, auctions: map[store.AuctionKey]*auction{}}
	err := o.Store.EachBid(o.Now().Add(-maxUndecided).Unix(), func(a store.AuctionKey, node [32]byte, raw []byte) error {
		var b messages.Bid
		if err := p2p.Decode(raw, &b); err != nil {
			return fmt.Errorf("%w: bid of order %s: %w", store.ErrCorrupt, a.Order, err)
		}
		if s.total < MaxBids {
			s.auctionLocked(a).entries[node] = &entry{bid: b}
			s.total++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Service) auctionLocked(a store.AuctionKey) *auction {
	x, ok := s.auctions[a]
	if !ok {
		x = &auction{entries: map[[32]byte]*entry{}}
		s.auctions[a] = x
	}
	return x
}

// entry returns a node's entry. With make it creates one; it returns nil when there is no room, or no entry.
func (s *Service) entry(a store.AuctionKey, node [32]byte, make bool) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, ok := s.auctions[a]; ok {
		if e, ok := x.entries[node]; ok {
			return e
		}
	}
	if !make || s.total >= MaxBids || s.auctionLocked(a).closing {
		return nil
	}
	e := &entry{}
	s.auctionLocked(a).entries[node] = e
	s.total++
	return e
}

// isClosing reports whether an auction's bids are being closed, or are closed. A caller that holds an entry and gets
// false may change the entry: the close waits for it.
func (s *Service) isClosing(a store.AuctionKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, ok := s.auctions[a]
	return ok && x.closing
}

// Forget drops the auctions from memory that keep does not want.
func (s *Service) Forget(keep func(store.AuctionKey) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, x := range s.auctions {
		if !keep(a) {
			s.total -= len(x.entries)
			delete(s.auctions, a)
		}
	}
}

// Len is how many bids are held.
func (s *Service) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// listing is what the chain shows of an auction and of a node that bids in it.
type listing struct {
	of      sealedbid.Auction
	auction *market.Auction
	nodeKey solana.PublicKey
	// unsuitable is why the node could not be awarded now.
	unsuitable error
}

// listing finds an auction that takes bids, and a node. Errors are refusals for the peer.
func (s *Service) listing(order [32]byte, closeAt int64, node [32]byte) (listing, error) {
	out := listing{of: sealedbid.Auction{Domain: s.o.Domain, Order: order, CloseAt: closeAt}}
	var err error
	s.o.View.Read(func(v *view.Accounts) {
		o, known := v.Orders[order]
		a, open := v.Auctions[order]
		switch {
		case !known || !open || v.Market == nil:
			err = p2p.Refuse(p2p.CodeUnavailable, "order %s has no auction that is known here (yet)", solana.PublicKey(order))
			return
		case a.CloseAt != closeAt || o.AuctionClose != closeAt || o.Mode != market.ModeSealed:
			err = p2p.Refuse(p2p.CodeNotFound, "order %s has no auction that closes at %d", solana.PublicKey(order), closeAt)
			return
		}
		out.auction = a
		n, p, m, ok := lookup(v)(node)
		if !ok {
			err = p2p.Refuse(p2p.CodeUnavailable, "node %s is not known here (yet)", solana.PublicKey(node))
			return
		}
		out.nodeKey, out.unsuitable = n.NodeKey, market.Biddable(sealedbid.Unpaused(v.Market), o, n, p, m, s.o.Now().Unix())
	})
	return out, err
}

// lookup finds nodes in a view.
func lookup(v *view.Accounts) sealedbid.Lookup {
	return func(node solana.PublicKey) (*market.Node, *market.Provider, *market.Model, bool) {
		n, ok := v.Nodes[node]
		if !ok {
			return nil, nil, nil, false
		}
		p, known := v.Providers[n.Provider]
		m, listed := v.Models[n.Spec.Model]
		return n, p, m, known && listed
	}
}

// keep stores an entry's next state and then sets it. The caller holds the entry.
func (s *Service) keep(a store.AuctionKey, e *entry, next messages.Bid) error {
	raw, err := p2p.Encode(next)
	if err != nil {
		return err
	}
	if err := s.put(a, map[[32]byte][]byte{next.Node: raw}); err != nil {
		return err
	}
	e.bid = next
	return nil
}

func (s *Service) put(a store.AuctionKey, bids map[[32]byte][]byte) error {
	err := s.o.Store.PutBids(a, bids)
	if store.IsDamage(err) {
		s.o.Damaged(err)
	}
	return err
}

// bids returns the bids of an auction, by node.
func (s *Service) bids(a store.AuctionKey) []messages.Bid {
	s.mu.Lock()
	var entries []*entry
	if x, ok := s.auctions[a]; ok {
		for _, e := range x.entries {
			entries = append(entries, e)
		}
	}
	s.mu.Unlock()
	out := make([]messages.Bid, 0, len(entries))
	for _, e := range entries {
		e.mu.Lock()
		if b := e.bid; b.Commitment != [32]byte{} {
			b.Acks = slices.Clone(b.Acks)
			out = append(out, b)
		}
		e.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b messages.Bid) int { return bytes.Compare(a.Node[:], b.Node[:]) })
	return out
}

// withAck adds an acknowledgement in place of an older one of the same keeper and stage; the oldest others give way
// when there are too many, our own never.
func (s *Service) withAck(acks []messages.BidAck, a messages.BidAck) []messages.BidAck {
	self := s.o.Signer.PublicKey()
	if sealedbid.FindAck(acks, a.Keeper, records.AckStage(a.Stage)) != nil {
		return acks
	}
	out := append(slices.Clone(acks), a)
	for i := 0; len(out) > messages.MaxBidAcks && i < len(out); {
		if out[i].Keeper == self || out[i].Stage == uint8(records.AckReveal) && i < len(out)/2 {
			i++
			continue
		}
		out = slices.Delete(out, i, i+1)
	}
	return out[:min(len(out), messages.MaxBidAcks)]
}

// errBusy tells a node to try again.
var errBusy = errors.New("the bid could not be kept; try again")
