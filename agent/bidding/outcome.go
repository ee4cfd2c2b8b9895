package bidding

import (
	"context"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// awarderAttempts is how often the bidder asks the keeper that awarded before it asks the others.
const awarderAttempts = 3

// askOutcome finds out what became of a bid once the order is decided: from the keeper that awarded it first, from the
// others when that one does not answer. The caller holds mu.
func (b *Bidder) askOutcome(ctx context.Context, key auction, x *bid, now time.Time) {
	if !acknowledged(x.Acks) {
		note := "no keeper acknowledged it"
		if len(x.Refusals) == 0 {
			note = "no keeper could be reached in time"
		}
		b.update(key, x, func(s *store.Bid) { s.Over, s.Note = true, note })
		return
	}
	if o, ok := b.o.View.Order(key.order); ok && o.State() == market.OrderOpen && o.AuctionClose == key.closeAt {
		return // not decided
	}
	wait := outcomeWait
	if p, ok := b.o.View.Params(); ok {
		wait += market.Seconds(p.AwardDeadlineSecs)
	}
	if now.After(time.Unix(x.RevealUntil, 0).Add(wait)) {
		b.update(key, x, func(s *store.Bid) { s.Over, s.Note = true, "no keeper said what became of it" })
		return
	}
	var first solana.PublicKey
	if a, ok := b.o.View.AuctionOf(key.order); ok && a.CloseAt == key.closeAt {
		first = a.Keeper
	}
	for _, k := range b.keepers() {
		// The others' turn comes when the first has not answered for some time.
		if !first.IsZero() && k != first && x.asked[first] < awarderAttempts {
			continue
		}
		if x.calling[k] || now.Before(x.next[k]) {
			continue
		}
		x.calling[k] = true
		x.asked[k]++
		req := messages.OutcomeRequest{Version: messages.Version, Order: x.Order, CloseAt: x.CloseAt, Node: x.Node, Commitment: x.Commitment}
		b.wg.Go(func() {
			limit, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			s, err := b.o.Network.Outcome(limit, k, req)
			b.handleOutcome(key, k, s, err)
		})
	}
}

func acknowledged(acks []store.BidAck) bool { return len(acks) > 0 }

func (b *Bidder) handleOutcome(key auction, k solana.PublicKey, s messages.SignedOutcome, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.bids[key]
	if x == nil {
		return
	}
	delete(x.calling, k)
	x.next[k] = b.o.Now().Add(outcomePoll)
	if x.Over {
		return
	}
	var o records.Outcome
	if err == nil {
		o, err = sealedbid.ReadOutcome(&s, roles.Names{View: b.o.View}.Keys)
	}
	if err != nil || s.Keeper != k || o.Commitment != records.Hash(x.Commitment) {
		b.o.Log.Debug().Err(err).Stringer("order", key.order).Stringer("keeper", k).Msg("the keeper's outcome cannot be used")
		return
	}
	b.o.Log.Info().Stringer("order", key.order).Stringer("outcome", o.Code).Str("price", market.PricePerHour(o.Price).String()).Msg("keeper reports the outcome of the bid")
	b.update(key, x, func(r *store.Bid) {
		r.Outcome, r.Over = &store.SignedOutcome{Keeper: s.Keeper, Outcome: s.Outcome, Signature: s.Signature[:]}, true
	})
}
