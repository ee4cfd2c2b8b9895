package service

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/watch"
)

// wholeMarket is all of the market's accounts as they change, in memory.
type wholeMarket struct {
	view    *view.View
	watcher *watch.Watcher
	unread  atomic.Bool // an account has a layout that this version does not know: the market in the view lacks it
}

// followAll follows all accounts of the market as long as the service follows a customer or keeps answers.
func (s *Service) followAll(l *live) error {
	w, err := watch.New(watch.Options{
		Client: s.client, Program: market.ProgramID, Commitment: s.client.Commitment(), Certain: market.MarketAddress(), Log: s.log,
	})
	if err != nil {
		return err
	}
	l.whole = &wholeMarket{view: view.New(view.Options{Log: s.log}), watcher: w}
	l.run(func(ctx context.Context) {
		_ = w.Run(ctx, func(e watch.Event) { // its only error is the context's
			if err := l.whole.view.Apply(e); err != nil {
				l.whole.unread.CompareAndSwap(false, errors.Is(err, market.ErrLayout))
				s.log.Warn().Str("account", e.Pubkey.String()).Uint64("slot", e.Slot).Err(err).Msg("account does not decode")
			}
		})
	})
	return nil
}

// current is the view of all accounts if it is complete and up to date; nil otherwise: then the cluster is asked.
func (w *wholeMarket) current() *view.View {
	if w == nil || w.unread.Load() || !w.watcher.Status().Connected {
		return nil
	}
	select {
	case <-w.watcher.Ready():
		return w.view
	default:
		return nil
	}
}
