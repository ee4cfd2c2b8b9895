package auction

import (
	"bytes"
	"context"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// Validate checks a message of another keeper before it is passed on: every bid is signed by its node and acknowledged
// by the author, in time by the author's clock. A message about an order or a node that is not in the view is ignored;
// one that no honest keeper sends is rejected.
func (s *Service) Validate(_ context.Context, author solana.PublicKey, m messages.BidGossip) p2p.Verdict {
	if m.Version != messages.Version {
		return p2p.Ignore
	}
	if len(m.Bids) == 0 || len(m.Bids) > messages.MaxGossipBids {
		return p2p.Reject
	}
	for i := range m.Bids {
		if v := s.validate(author, &m, &m.Bids[i]); v != p2p.Accept {
			return v
		}
	}
	return p2p.Accept
}

func (s *Service) validate(author solana.PublicKey, m *messages.BidGossip, b *messages.Bid) p2p.Verdict {
	if len(b.Acks) == 0 || len(b.Acks) > 2 {
		return p2p.Reject
	}
	o, err := s.listing(m.Order, m.CloseAt, b.Node)
	if err != nil {
		return p2p.Ignore // decided already, or another keeper has seen the order or the node before us
	}
	if s.knows(store.AuctionKey{CloseAt: m.CloseAt, Order: m.Order}, b) {
		return p2p.Accept // verified before
	}
	if o.of.Check(b, o.nodeKey) != nil {
		return p2p.Reject
	}
	for j := range b.Acks {
		a := &b.Acks[j]
		if a.Keeper != author {
			return p2p.Reject
		}
		if _, err := sealedbid.Ack(a, b.Commitment, s.o.Roles.Keys); err != nil {
			return p2p.Reject
		}
		late := a.ReceivedAt > m.CloseAt
		if a.Stage == uint8(records.AckReveal) {
			late = a.ReceivedAt <= m.CloseAt || a.ReceivedAt > o.auction.RevealUntil || b.Reveal == nil
		}
		if late {
			return p2p.Reject
		}
	}
	if b.Reveal != nil && sealedbid.FindAck(b.Acks, author, records.AckReveal) == nil {
		return p2p.Reject
	}
	if !s.mayAcknowledge(author) {
		return p2p.Ignore
	}
	return p2p.Accept
}

// knows reports whether everything that a message has of a bid is held already.
func (s *Service) knows(key store.AuctionKey, b *messages.Bid) bool {
	e := s.entry(key, b.Node, false)
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.bid.Commitment != b.Commitment || (b.Reveal != nil && (e.bid.Reveal == nil || *e.bid.Reveal != *b.Reveal)) {
		return false
	}
	for i := range b.Acks {
		if have := sealedbid.FindAck(e.bid.Acks, b.Acks[i].Keeper, records.AckStage(b.Acks[i].Stage)); have == nil || *have != b.Acks[i] {
			return false
		}
	}
	return true
}

// Handle stores the bids of a valid message. A commitment is taken when the author acknowledged it in time, or when it
// is held; the first one of a node stays, whatever other keepers took. Bids that come after this keeper's set was
// closed are dropped.
func (s *Service) Handle(_ context.Context, author solana.PublicKey, m messages.BidGossip) {
	key := store.AuctionKey{CloseAt: m.CloseAt, Order: m.Order}
	bids := slices.Clone(m.Bids)
	slices.SortStableFunc(bids, func(a, b messages.Bid) int { return bytes.Compare(a.Node[:], b.Node[:]) })
	// Entries are locked in the order of nodes and held until all is on disk. A request of a node locks one entry only,
	// so that there is no deadlock.
	held := map[[32]byte]*entry{}
	next := map[[32]byte]messages.Bid{}
	defer func() {
		for _, e := range held {
			e.mu.Unlock()
		}
	}()
	for i := range bids {
		b := &bids[i]
		vouched := sealedbid.FindAck(b.Acks, author, records.AckCommitment) != nil
		e := held[b.Node]
		if e == nil {
			if e = s.entry(key, b.Node, vouched); e == nil {
				continue
			}
			e.mu.Lock()
			held[b.Node] = e
			next[b.Node] = e.bid
		}
		if n, ok := merge(next[b.Node], b, vouched); ok {
			for _, a := range b.Acks {
				n.Acks = s.withAck(n.Acks, a)
			}
			next[b.Node] = n
		} else {
			s.o.Log.Warn().Stringer("order", key.Order).Stringer("node", solana.PublicKey(b.Node)).Msg("keeper drops a bid: another bid of this node is held, or no keeper acknowledged it in time")
		}
	}
	if s.isClosing(key) {
		return
	}
	raw := map[[32]byte][]byte{}
	for node, n := range next {
		if n.Commitment == [32]byte{} {
			continue
		}
		enc, err := p2p.Encode(n)
		if err != nil {
			s.o.Log.Error().Err(err).Msg("bid could not be encoded")
			return
		}
		raw[node] = enc
	}
	if len(raw) == 0 {
		return
	}
	if err := s.put(key, raw); err != nil {
		s.o.Log.Error().Err(err).Msg("bids from another keeper were not stored")
		return
	}
	for node := range raw {
		held[node].bid = next[node]
	}
}

// merge adds what another keeper has of a bid to what is held; ok is false when they are different bids.
func merge(have messages.Bid, told *messages.Bid, vouched bool) (next messages.Bid, ok bool) {
	switch {
	case have.Commitment == [32]byte{} && vouched:
		have = messages.Bid{Node: told.Node, Commitment: told.Commitment, Signature: told.Signature}
	case have.Commitment != told.Commitment:
		return have, false
	}
	if have.Reveal == nil {
		have.Reveal = told.Reveal
	}
	return have, true
}
