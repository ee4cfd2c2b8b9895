package bidding

import (
	"context"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// advance starts the requests that are due. The caller holds mu.
func (b *Bidder) advance(ctx context.Context, key auction, x *bid, now time.Time) {
	switch unix := now.Unix(); {
	case unix <= x.CloseAt:
		b.sendToKeepers(ctx, key, x, now, records.AckCommitment)
	case unix <= x.RevealUntil:
		b.sendToKeepers(ctx, key, x, now, records.AckReveal)
	default:
		b.askOutcome(ctx, key, x, now)
	}
}

// keepers are those that get the bids.
func (b *Bidder) keepers() []solana.PublicKey {
	var out []solana.PublicKey
	for _, k := range b.o.View.ActiveKeepers() {
		out = append(out, k.Wallet)
	}
	return out
}

// sendToKeepers sends the bid to every keeper that has neither acknowledged this stage nor refused the bid for good.
func (b *Bidder) sendToKeepers(ctx context.Context, key auction, x *bid, now time.Time, stage records.AckStage) {
	for _, k := range b.keepers() {
		if x.calling[k] || now.Before(x.next[k]) || x.answered(k, stage) {
			continue
		}
		x.calling[k] = true
		req := x.request(stage)
		b.wg.Go(func() {
			limit, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			send := b.o.Network.Commit
			if stage == records.AckReveal {
				send = b.o.Network.Reveal
			}
			answer, err := send(limit, k, req)
			b.handleAnswer(key, k, stage, answer, err)
		})
	}
}

// answered reports whether a keeper needs no further request in this stage.
func (x *bid) answered(k solana.PublicKey, stage records.AckStage) bool {
	for _, a := range x.Acks {
		if solana.PublicKey(a.Keeper) == k && records.AckStage(a.Stage) == stage {
			return true
		}
	}
	for _, r := range x.Refusals {
		if o, err := records.DecodeOutcome(r.Outcome); err == nil && solana.PublicKey(r.Keeper) == k && isFinal(o.Code, stage) {
			return true
		}
	}
	return false
}

// isFinal reports whether a keeper that refused for this reason need not be called again in a stage. Its refusal of a
// commitment does not hold for the reveal: other keepers may have acknowledged the commitment.
func isFinal(c records.OutcomeCode, stage records.AckStage) bool {
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

// handleAnswer stores a keeper's acknowledgement or refusal, if the keeper has signed it.
func (b *Bidder) handleAnswer(key auction, k solana.PublicKey, stage records.AckStage, answer messages.BidAnswer, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.bids[key]
	if x == nil {
		return
	}
	delete(x.calling, k)
	x.next[k] = b.o.Now().Add(retryDelay)
	if err != nil {
		b.o.Log.Debug().Err(err).Stringer("order", key.order).Stringer("keeper", k).Stringer("stage", stage).Msg("the bid did not reach the keeper")
		return
	}
	commitment := records.Hash(x.Commitment)
	switch {
	case answer.Ack != nil:
		a := *answer.Ack
		if _, err := sealedbid.Ack(&a, commitment, roles.Names{View: b.o.View}.Keys); err != nil || a.Keeper != k || a.Stage != uint8(stage) {
			b.o.Log.Warn().Stringer("keeper", k).Msg("the keeper's acknowledgement is invalid")
			return
		}
		b.update(key, x, func(s *store.Bid) {
			s.Acks = append(s.Acks, store.BidAck{Keeper: a.Keeper, Stage: a.Stage, ReceivedAt: a.ReceivedAt, Signature: a.Signature[:]})
		})
	case answer.Outcome != nil:
		o, err := sealedbid.ReadOutcome(answer.Outcome, roles.Names{View: b.o.View}.Keys)
		if err != nil || answer.Outcome.Keeper != k || o.Commitment != commitment {
			b.o.Log.Warn().Stringer("keeper", k).Msg("the keeper's refusal is not signed by it")
			return
		}
		if refusedBefore(x.Refusals, k, o.Code) {
			return
		}
		b.o.Log.Info().Stringer("order", key.order).Stringer("keeper", k).Stringer("why", o.Code).Msg("keeper refuses the bid")
		refusal := store.SignedOutcome{Keeper: answer.Outcome.Keeper, Outcome: answer.Outcome.Outcome, Signature: answer.Outcome.Signature[:]}
		b.update(key, x, func(s *store.Bid) { s.Refusals = append(s.Refusals, refusal) })
	}
}

// refusedBefore reports whether a keeper gave this reason before.
func refusedBefore(refusals []store.SignedOutcome, k solana.PublicKey, code records.OutcomeCode) bool {
	for _, r := range refusals {
		if o, err := records.DecodeOutcome(r.Outcome); err == nil && solana.PublicKey(r.Keeper) == k && o.Code == code {
			return true
		}
	}
	return false
}
