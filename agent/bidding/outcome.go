package bidding

import (
	"context"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/client/sealedbid"
)

// patience is how often the keeper that awarded is asked before the others are.
const patience = 3

// ask finds out what became of a bid once the order is decided: from the keeper that awarded it first, from the others
// when that one does not answer. The caller holds mu.
func (b *Bidder) ask(ctx context.Context, key auction, x *bid, now time.Time) {
	if !acknowledged(x.Acks) {
		note := "no keeper acknowledged it"
		if len(x.Refusals) == 0 {
			note = "no keeper could be reached in time"
		}
		b.update(key, x, func(s *store.Bid) { s.Over, s.Note = true, note })
		return
	}
	if o, ok := b.View.Order(key.order); ok && o.State() == market.OrderOpen && o.AuctionClose == key.closeAt {
		return // not decided
	}
	wait := askFor
	if p, ok := b.View.Params(); ok {
		wait += market.Seconds(p.AwardDeadlineSecs)
	}
	if now.After(time.Unix(x.RevealUntil, 0).Add(wait)) {
		b.update(key, x, func(s *store.Bid) { s.Over, s.Note = true, "no keeper said what became of it" })
		return
	}
	var first solana.PublicKey
	if a, ok := b.View.AuctionOf(key.order); ok && a.CloseAt == key.closeAt {
		first = a.Keeper
	}
	for _, k := range b.keepers() {
		// The others' turn comes when the first has not answered for some time.
		if !first.IsZero() && k != first && x.asked[first] < patience {
			continue
		}
		if x.busy[k] || now.Before(x.next[k]) {
			continue
		}
		x.busy[k] = true
		x.asked[k]++
		req := messages.OutcomeRequest{Version: messages.Version, Order: x.Order, CloseAt: x.CloseAt, Node: x.Node, Commitment: x.Commitment}
		b.wg.Go(func() {
			limit, cancel := context.WithTimeout(ctx, callLimit)
			defer cancel()
			s, err := b.Network.Outcome(limit, k, req)
			b.outcome(key, k, s, err)
		})
	}
}

func acknowledged(acks []store.BidAck) bool { return len(acks) > 0 }

func (b *Bidder) outcome(key auction, k solana.PublicKey, s messages.SignedOutcome, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.bids[key]
	if x == nil {
		return
	}
	delete(x.busy, k)
	x.next[k] = b.Now().Add(askEvery)
	if x.Over {
		return
	}
	var o records.Outcome
	if err == nil {
		o, err = sealedbid.ReadOutcome(&s)
	}
	if err != nil || s.Keeper != k || o.Commitment != records.Hash(x.Commitment) {
		b.Log.Debug().Err(err).Stringer("order", key.order).Stringer("keeper", k).Msg("outcome")
		return
	}
	b.Log.Info().Stringer("order", key.order).Stringer("outcome", o.Code).Str("price", market.PricePerHour(o.Price).String()).Msg("bid decided")
	b.update(key, x, func(r *store.Bid) {
		r.Outcome, r.Over = &store.SignedOutcome{Keeper: s.Keeper, Outcome: s.Outcome, Signature: s.Signature[:]}, true
	})
}
