package service

import (
	"context"
	"errors"
	"fmt"

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

// ReservedBy says of what the reserved part of credits is, in parentheses; empty where nothing is reserved.
func ReservedBy(c market.Credits) string {
	if c.Credits.Reserved == 0 {
		return ""
	}
	var by string
	switch {
	case c.LiveLeases > 0 && c.LiveOrders > c.LiveLeases:
		by = Plural(int(c.LiveLeases), "lease") + " and " + Plural(int(c.LiveOrders-c.LiveLeases), "open order")
	case c.LiveLeases > 0:
		by = Plural(int(c.LiveLeases), "lease")
	default:
		by = Plural(int(c.LiveOrders), "open order")
	}
	return fmt.Sprintf(" (%s reserved by %s)", market.USDC(c.Credits.Reserved), by)
}
