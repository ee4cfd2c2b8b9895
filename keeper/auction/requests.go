package auction

import (
	"context"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// Commit handles a node's request to take its bid commitment.
func (s *Service) Commit(_ context.Context, from solana.PublicKey, req messages.BidRequest) (messages.BidAnswer, error) {
	if req.Bid.Reveal != nil || len(req.Bid.Acks) > 0 {
		return messages.BidAnswer{}, p2p.Refuse(p2p.CodeBadRequest, "a commitment shows no price")
	}
	o, err := s.caller(from, &req)
	if err != nil {
		return messages.BidAnswer{}, err
	}
	key := store.AuctionKey{CloseAt: req.CloseAt, Order: req.Order}
	now := s.o.Now().Unix()
	e := s.entry(key, req.Bid.Node, false)
	if e == nil {
		switch {
		case now > req.CloseAt:
			return s.refuse(req.Bid.Commitment, records.Outcome{Code: records.OutcomeLateCommitment})
		case o.unsuitable != nil:
			return s.refuse(req.Bid.Commitment, unsuitable(o.unsuitable))
		}
		if e = s.entry(key, req.Bid.Node, true); e == nil {
			return s.refuse(req.Bid.Commitment, records.Outcome{Code: records.OutcomeFull})
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	next := e.bid
	switch {
	case s.isClosing(key):
		return s.refuse(req.Bid.Commitment, records.Outcome{Code: records.OutcomeLateCommitment})
	case next.Commitment == [32]byte{}:
		next = messages.Bid{Node: req.Bid.Node, Commitment: req.Bid.Commitment, Signature: req.Bid.Signature}
	case next.Commitment != req.Bid.Commitment:
		return s.refuse(req.Bid.Commitment, records.Outcome{Code: records.OutcomeSecondBid})
	}
	self := s.o.Signer.PublicKey()
	if ack := sealedbid.FindAck(next.Acks, self, records.AckCommitment); ack != nil {
		return acknowledged(*ack), nil
	}
	if now > req.CloseAt { // it came by gossip, too late for an acknowledgement of this keeper
		return s.refuse(req.Bid.Commitment, records.Outcome{Code: records.OutcomeLateCommitment})
	}
	return s.acknowledge(key, e, next, records.AckCommitment, now)
}

// Reveal handles a node's request to take the price and salt of its bid.
func (s *Service) Reveal(_ context.Context, from solana.PublicKey, req messages.BidRequest) (messages.BidAnswer, error) {
	if req.Bid.Reveal == nil || len(req.Bid.Acks) > messages.MaxBidAcks {
		return messages.BidAnswer{}, p2p.Refuse(p2p.CodeBadRequest, "a reveal shows price and salt, and at most %d acknowledgements", messages.MaxBidAcks)
	}
	o, err := s.caller(from, &req)
	if err != nil {
		return messages.BidAnswer{}, err
	}
	now := s.o.Now().Unix()
	if now <= req.CloseAt {
		return messages.BidAnswer{}, p2p.Refuse(p2p.CodeUnavailable, "the auction takes commitments until %d; reveal after it", req.CloseAt)
	}
	bid := messages.Bid{Node: req.Bid.Node, Commitment: req.Bid.Commitment, Signature: req.Bid.Signature, Reveal: req.Bid.Reveal}
	if o.of.Check(&bid, o.nodeKey) != nil { // the signature was checked before
		return s.refuse(req.Bid.Commitment, records.Outcome{Code: records.OutcomeWrongReveal})
	}
	key := store.AuctionKey{CloseAt: req.CloseAt, Order: req.Order}
	e := s.entry(key, req.Bid.Node, false)
	inTime := now <= o.auction.RevealUntil-int64(margin.Seconds())
	if e == nil {
		vouched := s.vouched(req)
		switch {
		case vouched == nil:
			return s.refuse(req.Bid.Commitment, records.Outcome{Code: records.OutcomeNoCommitment})
		case !inTime:
			return s.refuse(req.Bid.Commitment, records.Outcome{Code: records.OutcomeNotRevealed})
		}
		bid.Acks = vouched
		if e = s.entry(key, req.Bid.Node, true); e == nil {
			return s.refuse(req.Bid.Commitment, records.Outcome{Code: records.OutcomeFull})
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	next := e.bid
	switch {
	case s.isClosing(key):
		return s.refuse(req.Bid.Commitment, records.Outcome{Code: records.OutcomeNotRevealed})
	case next.Commitment == [32]byte{}:
		next = bid
	case next.Commitment != req.Bid.Commitment:
		return s.refuse(req.Bid.Commitment, records.Outcome{Code: records.OutcomeSecondBid})
	}
	if ack := sealedbid.FindAck(next.Acks, s.o.Signer.PublicKey(), records.AckReveal); ack != nil {
		return acknowledged(*ack), nil
	}
	if !inTime {
		return s.refuse(req.Bid.Commitment, records.Outcome{Code: records.OutcomeNotRevealed})
	}
	next.Reveal = bid.Reveal
	return s.acknowledge(key, e, next, records.AckReveal, now)
}

// caller checks the key that asks and its signature, before anything is stored.
func (s *Service) caller(from solana.PublicKey, req *messages.BidRequest) (listing, error) {
	if req.Version != messages.Version {
		return listing{}, p2p.Refuse(p2p.CodeVersion, "%d", req.Version)
	}
	o, err := s.listing(req.Order, req.CloseAt, req.Bid.Node)
	switch {
	case err != nil:
		return o, err
	case o.nodeKey != from:
		return o, p2p.Refuse(p2p.CodeRefused, "node %s has another key", solana.PublicKey(req.Bid.Node))
	case records.VerifyCommitment(req.Bid.Commitment, from, req.Bid.Signature) != nil:
		return o, p2p.Refuse(p2p.CodeBadRequest, "the commitment's signature is not the node's")
	}
	return o, nil
}

// vouched returns the acknowledgements of active keepers that had the commitment in time; none when there are none.
func (s *Service) vouched(req messages.BidRequest) []messages.BidAck {
	var out []messages.BidAck
	for _, a := range req.Bid.Acks {
		if a.Stage == uint8(records.AckCommitment) && a.ReceivedAt <= req.CloseAt && s.mayAcknowledge(a.Keeper) {
			if _, err := sealedbid.Ack(&a, req.Bid.Commitment, s.o.Roles.Keys); err == nil {
				out = s.withAck(out, a)
			}
		}
	}
	return out
}

// mayAcknowledge reports whether the acknowledgements of a keeper are believed.
func (s *Service) mayAcknowledge(keeper solana.PublicKey) bool {
	period := records.Period(s.o.Now().Unix() / int64(s.o.PeriodSecs))
	return s.o.Roles.Role(keeper, period).May(roles.Acknowledge)
}

// acknowledge signs an acknowledgement, stores the bid, tells the other keepers and answers, in this order. The caller
// holds the entry.
func (s *Service) acknowledge(key store.AuctionKey, e *entry, next messages.Bid, stage records.AckStage, now int64) (messages.BidAnswer, error) {
	ack, err := sealedbid.SignAck(s.o.Signer, stage, next.Commitment, now)
	if err != nil {
		return messages.BidAnswer{}, err
	}
	next.Acks = s.withAck(next.Acks, ack)
	if err := s.keep(key, e, next); err != nil {
		s.o.Log.Error().Err(err).Stringer("order", key.Order).Msg("keeper does not acknowledge a bid, since it could not store it")
		return messages.BidAnswer{}, p2p.Refuse(p2p.CodeUnavailable, "%v", errBusy)
	}
	told := next
	told.Acks = own(next.Acks, s.o.Signer.PublicKey())
	s.o.Publish(messages.BidGossip{Version: messages.Version, Order: key.Order, CloseAt: key.CloseAt, Bids: []messages.Bid{told}})
	return acknowledged(ack), nil
}

// own are the acknowledgements of one keeper.
func own(acks []messages.BidAck, keeper solana.PublicKey) []messages.BidAck {
	var out []messages.BidAck
	for _, a := range acks {
		if a.Keeper == keeper {
			out = append(out, a)
		}
	}
	return out
}

func acknowledged(a messages.BidAck) messages.BidAnswer {
	return messages.BidAnswer{Version: messages.Version, Ack: &a}
}

// refuse answers with a signed reason.
func (s *Service) refuse(commitment [32]byte, o records.Outcome) (messages.BidAnswer, error) {
	o.Commitment, o.DecidedAt = commitment, s.o.Now().Unix()
	signed, err := sealedbid.SignOutcome(s.o.Signer, o)
	return messages.BidAnswer{Version: messages.Version, Outcome: &signed}, err
}

func unsuitable(err error) records.Outcome {
	o := records.Outcome{Code: records.OutcomeUnsuitable}
	if code, ok := market.CodeOf(err); ok {
		o.Requirement = uint16(code)
	}
	return o
}
