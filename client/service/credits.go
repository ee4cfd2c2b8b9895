package service

import (
	"context"
	"errors"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// AwaitCredits waits until what the service shows of its customer's credits is what the chain says now, or for a few
// seconds: what a person reads after a transaction is what it has changed.
func (s *Service) AwaitCredits(ctx context.Context) error {
	l := s.live.Load()
	if l == nil {
		return nil
	}
	now, _, err := query.Find[market.Credits](ctx, s.client, market.CreditsAddress(l.customer), s.client.Commitment())
	if err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, seenWithin)
	defer cancel()
	err = l.view.WaitFor(wait, func(v *view.View) bool {
		shown, _ := v.CreditsOf(l.customer)
		return shown.Credits == now.Credits
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}
