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

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/client/sealedbid"
	"github.com/gantry-market/gantry/keeper/index"
	"github.com/gantry-market/gantry/keeper/store"
)

// Book is where bids and published sets are kept. *store.Store implements it.
type Book interface {
	PutBids(store.AuctionKey, map[[32]byte][]byte) error
	EachBid(from int64, f func(a store.AuctionKey, node [32]byte, raw []byte) error) error
	PutBidSet(a store.AuctionKey, keeper solana.PublicKey, raw []byte) error
	BidSet(a store.AuctionKey, keeper solana.PublicKey) ([]byte, error)
	LastBidSet(order, keeper solana.PublicKey) (store.AuctionKey, error)
}

const (
	// MaxBids bounds the bids of all undecided auctions together: about 1 KiB each with acknowledgements.
	MaxBids = 200_000
	// margin is how long before the end of the reveals a keeper stops acknowledging them, so that a clock that is a little
	// behind the chain's never makes it sign too late.
	margin = time.Second
	// maxSettle is the longest that an auction can be undecided after its close: reveals, award deadline, and room.
	maxSettle = 3 * time.Hour
)

// Desk holds the bids of undecided auctions.
type Desk struct {
	Index  *index.Index
	Book   Book
	Signer records.Signer
	Domain records.Domain
	// Publish tells the other keepers; it must not block.
	Publish func(messages.BidGossip)
	// Damaged is called when the store can no longer be trusted.
	Damaged func(error)
	Log     zerolog.Logger
	Now     func() time.Time
	// Omit, on local networks only, makes the keeper a liar: bids of this node are acknowledged and left out.
	Omit solana.PublicKey

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

// entry is one node's bid. Whoever changes it holds mu until the change is on disk.
type entry struct {
	mu  sync.Mutex
	bid messages.Bid // the zero commitment before the first is on disk
}

// Init reads the bids of auctions that may still be undecided.
func (d *Desk) Init() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.auctions, d.total = map[store.AuctionKey]*auction{}, 0
	return d.Book.EachBid(d.Now().Add(-maxSettle).Unix(), func(a store.AuctionKey, node [32]byte, raw []byte) error {
		var b messages.Bid
		if err := p2p.Decode(raw, &b); err != nil {
			return fmt.Errorf("%w: bid of order %s: %w", store.ErrCorrupt, a.Order, err)
		}
		if d.total < MaxBids {
			d.auctionLocked(a).entries[node] = &entry{bid: b}
			d.total++
		}
		return nil
	})
}

func (d *Desk) auctionLocked(a store.AuctionKey) *auction {
	x, ok := d.auctions[a]
	if !ok {
		x = &auction{entries: map[[32]byte]*entry{}}
		d.auctions[a] = x
	}
	return x
}

// entry returns a node's entry; with room it makes one, nil when there is none.
func (d *Desk) entry(a store.AuctionKey, node [32]byte, make bool) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x, ok := d.auctions[a]; ok {
		if e, ok := x.entries[node]; ok {
			return e
		}
	}
	if !make || d.total >= MaxBids || d.auctionLocked(a).closing {
		return nil
	}
	e := &entry{}
	d.auctionLocked(a).entries[node] = e
	d.total++
	return e
}

// isClosing reports whether an auction's bids are being closed, or are closed. Who holds an entry and finds it false may
// change the entry: the close waits for it.
func (d *Desk) isClosing(a store.AuctionKey) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	x, ok := d.auctions[a]
	return ok && x.closing
}

// Forget drops what is decided from memory. keep says which auctions are not.
func (d *Desk) Forget(keep func(store.AuctionKey) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for a, x := range d.auctions {
		if !keep(a) {
			d.total -= len(x.entries)
			delete(d.auctions, a)
		}
	}
}

// Len is how many bids are held.
func (d *Desk) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.total
}

// on is what the chain says of an auction and a node of it.
type on struct {
	of      sealedbid.Auction
	auction *market.Auction
	nodeKey solana.PublicKey
	// unsuitable is why the node could not be awarded now.
	unsuitable error
}

// look finds an auction that takes bids, and a node. Errors are refusals for the peer.
func (d *Desk) look(order [32]byte, closeAt int64, node [32]byte) (on, error) {
	out := on{of: sealedbid.Auction{Domain: d.Domain, Order: order, CloseAt: closeAt}}
	var err error
	d.Index.Read(func(v *index.View) {
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
		out.nodeKey, out.unsuitable = n.NodeKey, market.Biddable(sealedbid.Unpaused(v.Market), o, n, p, m, d.Now().Unix())
	})
	return out, err
}

// lookup finds nodes in a view.
func lookup(v *index.View) sealedbid.Lookup {
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

// keep writes an entry's next state and then takes it over. The caller holds the entry.
func (d *Desk) keep(a store.AuctionKey, e *entry, next messages.Bid) error {
	raw, err := p2p.Encode(next)
	if err != nil {
		return err
	}
	if err := d.put(a, map[[32]byte][]byte{next.Node: raw}); err != nil {
		return err
	}
	e.bid = next
	return nil
}

func (d *Desk) put(a store.AuctionKey, bids map[[32]byte][]byte) error {
	err := d.Book.PutBids(a, bids)
	if store.IsDamage(err) {
		d.Damaged(err)
	}
	return err
}

// bids returns the bids of an auction, by node.
func (d *Desk) bids(a store.AuctionKey) []messages.Bid {
	d.mu.Lock()
	var entries []*entry
	if x, ok := d.auctions[a]; ok {
		for _, e := range x.entries {
			entries = append(entries, e)
		}
	}
	d.mu.Unlock()
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

// withAck adds an acknowledgement in place of an older one of the same keeper and stage; the oldest others give way when
// there are too many, our own never.
func (d *Desk) withAck(acks []messages.BidAck, a messages.BidAck) []messages.BidAck {
	self := d.Signer.PublicKey()
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
