package buy

import (
	"context"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// sealedWindows reports the progress of a sealed order's two windows. Nodes and keepers act in them; the customer has
// nothing to do and sees no bid before the award.
func (d *deal) sealedWindows(ctx context.Context) error {
	if !d.r.args.Sealed {
		return nil
	}
	var a market.Auction
	err := d.v.WaitFor(ctx, func(v *view.View) (ok bool) {
		a, ok = v.AuctionOf(d.order)
		return ok
	})
	if err != nil {
		return d.withOrder(err)
	}
	d.b.tell(AuctionOpened{CloseAt: a.CloseAt, RevealUntil: a.RevealUntil})
	for _, w := range []struct {
		what  WaitFor
		until int64
		then  Event
	}{{WaitCommits, a.CloseAt, AuctionClosed{}}, {WaitReveals, a.RevealUntil, AuctionRevealed{}}} {
		stop := d.b.waiting(Wait{For: w.what, Order: d.order})
		err := d.waitUntil(ctx, w.until)
		stop()
		if err != nil {
			return d.withOrder(err)
		}
		d.b.tell(w.then)
	}
	return nil
}

// waitUntil waits until a unix second of the chain is over.
func (d *deal) waitUntil(ctx context.Context, unix int64) error {
	return wait.For(ctx, time.Unix(unix+1, 0).Sub(d.b.service.Clock.Latest(ctx)))
}

// withOrder adds the state of an order to an error, when its auction is not over.
func (d *deal) withOrder(err error) error {
	if d.ctx.Err() != nil {
		return interrupted(fmt.Sprintf("interrupted while the auction of order %s is open; it continues", d.order),
			fmt.Sprintf("look at it with: gantry auction show %s      before the close it can be taken back: gantry order cancel %s", d.order, d.order))
	}
	return fmt.Errorf("the auction of order %s: %w", d.order, err)
}
