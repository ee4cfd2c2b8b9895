package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// until waits for a condition on the chain's state; what names it in the error.
func (d *demo) until(ctx context.Context, timeout time.Duration, what string, cond func(*view.View) bool) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := d.view.WaitFor(ctx, cond); err != nil {
		return fmt.Errorf("waiting for %s (%s): %w", what, timeout, err)
	}
	return nil
}

// becomes expects that a condition on the chain's state holds within a moment. A transaction changes several accounts, and the view
// learns of them one after another: what follows from an event about one account may show in another a little later.
func (d *demo) becomes(ctx context.Context, what string, cond func(*view.View) bool) error {
	err := d.until(ctx, 10*time.Second, what, cond)
	if ctx.Err() != nil {
		return err
	}
	d.expect.that(err == nil, what)
	return nil
}

// lease waits until the customer has a lease on the node in one of the statuses.
func (d *demo) lease(ctx context.Context, timeout time.Duration, customer, node solana.PublicKey, statuses ...market.LeaseStatus) (market.Lease, error) {
	var found market.Lease
	err := d.until(ctx, timeout, fmt.Sprintf("a lease of %s on node %s that is %v", short(customer), short(node), statuses), func(v *view.View) bool {
		for _, l := range v.LeasesOfNode(node) {
			if l.Customer != customer {
				continue
			}
			for _, s := range statuses {
				if l.State() == s {
					found = l
					return true
				}
			}
		}
		return false
	})
	return found, err
}

// leaseWhere waits until a condition on a lease holds; exists is false when it is closed.
func (d *demo) leaseWhere(ctx context.Context, timeout time.Duration, key solana.PublicKey, what string, cond func(l market.Lease, exists bool) bool) (market.Lease, error) {
	var last market.Lease
	err := d.until(ctx, timeout, fmt.Sprintf("lease %s: %s", short(key), what), func(v *view.View) bool {
		l, ok := v.Lease(key)
		if ok {
			last = l
		}
		return cond(l, ok)
	})
	return last, err
}

// past reads the transactions that named an account.
func (d *demo) past(ctx context.Context, account solana.PublicKey) (invariants.History, error) {
	return invariants.ReadAccounts(ctx, d.net.Chain, []solana.PublicKey{account}, 0)
}

// passed waits until a channel is closed.
func passed(ctx context.Context, over <-chan struct{}) error {
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// chainPasses waits until the chain's clock has reached the unix second.
func (d *demo) chainPasses(ctx context.Context, unix int64) error {
	for {
		now, err := d.net.Chain.ClusterTime(ctx, "confirmed")
		if err != nil {
			return err
		}
		if now.Unix() >= unix {
			return nil
		}
		if err := wait.For(ctx, min(time.Duration(unix-now.Unix())*time.Second/2+50*time.Millisecond, time.Second)); err != nil {
			return err
		}
	}
}
