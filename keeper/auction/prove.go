package auction

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/sealedbid"
	"github.com/gantry-market/gantry/sdk/txm"
)

// proofOf builds the proof that a bid was left out; ok is false when an account is not there (any more) or the program
// would refuse the proof at now.
func (s *Service) proofOf(award *market.Auction, b *messages.Bid, now int64) (p market.OmittedBid, score uint64, ok bool) {
	if award.WinnerCount == 0 {
		return p, 0, false
	}
	s.o.View.Read(func(v *view.Accounts) {
		o, known := v.Orders[award.Order]
		l, live := v.Leases[market.LeaseAddress(award.Order, award.Winners[0])]
		if ok = known && live && v.Market != nil; ok {
			p, ok = sealedbid.Omitted(v.Market, o, award, l, v.Nodes[award.BarNode], b, lookup(v))
		}
	})
	if !ok {
		return p, 0, false
	}
	p.Signer = sealedbid.AckSigner(b, award.Keeper, s.o.Roles.Keys) // which reads the view by itself
	score, ok = p.Score(now)
	return p, score, ok
}

// prove brings a proof of an omitted bid on chain.
func (a *Awarder) prove(ctx context.Context, l snapshot, bids []messages.Bid) {
	log := a.o.Log.With().Stringer("order", l.key.Order).Stringer("keeper", l.auction.Keeper).Logger()
	for i := range bids {
		p, _, ok := a.o.Bids.proofOf(l.auction, &bids[i], a.o.Now().Unix())
		if !ok {
			continue
		}
		ixs, err := ix.ProveOmittedBid(p, a.o.View.SignerOf(a.o.Self), a.o.Now().Unix())
		if err != nil {
			log.Warn().Err(err).Msg("proof of an omitted bid was not sent")
			continue
		}
		id := fmt.Sprintf("omitted/%s/%d/%s", l.key.Order, l.key.CloseAt, solana.PublicKey(bids[i].Node))
		limit, cancel := a.o.Tasks.Timeout(ctx, sendLimit)
		_, err = a.o.Submit(limit, txm.Intent{ID: id, Kind: "prove_omitted_bid", Instructions: ixs, Repeatable: true})
		cancel()
		switch {
		case err == nil:
			log.Warn().Stringer("node", solana.PublicKey(bids[i].Node)).Msg("keeper proved on chain that another keeper left out a bid that it had acknowledged")
			return // one proof a lease
		case market.Is(err, bindings.ErrorCodeNotContestable):
			return // another keeper was faster
		case errors.Is(err, context.Canceled):
			return
		default:
			log.Debug().Err(err).Msg("proof of an omitted bid was not sent")
		}
	}
}

// turn reports whether it is this keeper's turn to prove something about an auction.
func (a *Awarder) turn(l snapshot, keepers []solana.PublicKey) (ready bool, item string) {
	item = fmt.Sprintf("omitted/%s/%d", l.key.Order, l.key.CloseAt)
	return a.stagger.Ready(item, a.o.Now(), schedule.Rank(a.o.Self, item, keepers), a.o.Step), item
}
