package auction

import (
	"context"
	"errors"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// errOtherBids says that no set with the root of the first award is kept here.
var errOtherBids = errors.New("the bids that the order was awarded by are not known here")

// complete makes the awards that the keeper of the first one has left out until half of the time to award was over. It
// goes by the bids that the first award names, as that keeper judged them: they are what the bar follows from. Keepers
// fetch them when the first award appears; where that came too late, another keeper that held the same bids will do.
func (a *Awarder) complete(ctx context.Context, l snapshot, keepers []solana.PublicKey) {
	log := a.o.Log.With().Stringer("order", l.key.Order).Stringer("keeper", l.auction.Keeper).Logger()
	first := append([]solana.PublicKey{l.auction.Keeper}, keepers...)
	c, err := a.o.Bids.named(l.key, l.auction, first)
	for _, k := range first {
		if err == nil || a.o.Fetch == nil || ctx.Err() != nil {
			break
		}
		if k == a.o.Self || !a.o.Bids.Missing(l.key, k) {
			continue
		}
		if set, failed := a.o.Fetch(ctx, l.key, k); failed != nil || a.o.Bids.Take(l.key, k, set) != nil {
			continue
		}
		c, err = a.o.Bids.named(l.key, l.auction, first)
	}
	if err != nil {
		log.Warn().Err(err).Msg("another keeper has stopped its awards, and they cannot be completed")
		return
	}
	log.Info().Msg("another keeper has stopped its awards: completing them")
	a.report(ctx, l, c)
}

// named is the set that an auction's first award names by its root, as one of these keepers published it. Error:
// errOtherBids.
func (s *Service) named(key store.AuctionKey, award *market.Auction, keepers []solana.PublicKey) (*closed, error) {
	for _, k := range keepers {
		set, err := s.set(key, k)
		if err == nil && set.Head.Root == records.Hash(award.BidsRoot) {
			if c := asPublished(&closed{set: set}); !c.noWinner() {
				return c, nil
			}
		}
	}
	return nil, errOtherBids
}
