package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// pauseAnd pauses new orders and awards as the guardian would, shows that an order is refused, does something, and
// opens the market again.
func (d *demo) pauseAnd(ctx context.Context, do func(context.Context) error) error {
	if err := d.pause(ctx, "orders,awards", market.PauseOrders|market.PauseAwards); err != nil {
		return err
	}
	step := d.out.begin("the guardian pauses new orders and awards", "")
	customer := d.net.Keys.Customers[1]
	refused, err := d.net.Gantry(ctx, customer, deployment{gpu: "A100", region: "us-", maxPrice: "1.60", duration: "10m", script: "true"}.args()...)
	if err != nil {
		return err
	}
	equal(d.expect, refused.Code, 1, "an order in a paused market is refused by the market")
	d.out.note(step, "a new order is refused: "+firstLine(refused.Stderr))
	if err := do(ctx); err != nil {
		return err
	}
	defer close(d.reopened)
	return d.pause(ctx, "none", 0)
}

func (d *demo) pause(ctx context.Context, what string, want uint8) error {
	if _, err := d.gantry(ctx, d.net.Keys.Guardian, "market", "pause", what); err != nil {
		return err
	}
	return d.until(ctx, 10*time.Second, fmt.Sprintf("the market to be paused: %s", what), func(v *view.View) bool {
		m, ok := v.Market()
		return ok && m.Paused == want
	})
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimPrefix(line, "error: ")
}
