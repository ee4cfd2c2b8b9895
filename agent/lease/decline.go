package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
)

// noteRefused stores why this node does not serve a lease, before anything is sent about it. What was stored first stays.
func (m *Manager) noteRefused(account market.Lease, reason market.DeclineReason, why string) error {
	r, err := m.o.Store.AddLease(newEntry(account)) // no change if the worker has stored it
	if err != nil {
		return fmt.Errorf("store lease %s: %w", account.Address, err)
	}
	_, err = m.o.Store.Update(r.Address, func(l *store.Lease) error {
		if l.AwardedAt.Unix() == account.AwardedAt && l.Refused == "" {
			l.Refused, l.Decline = why, uint8(reason)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store lease %s: %w", account.Address, err)
	}
	return nil
}

// decline tells the chain that this node does not serve a lease that it was awarded, so that its GPUs are free and the order
// goes to another machine.
func (w *worker) decline(ctx context.Context, d Decision, f Facts) error {
	if err := w.m.noteRefused(f.Account, d.Decline, d.Why); err != nil {
		return err
	}
	if f.Account.Repriced() { // the program takes no other reason then
		d.Decline = market.DeclinedPrice
	}
	w.log.Info().Stringer("reason", d.Decline).Str("why", d.Why).Msg("node declines the lease on chain")
	if err := w.m.o.Chain.Decline(ctx, f.Account, d.Decline); err != nil {
		return err
	}
	return w.awaitView(ctx, func(l market.Lease, ok bool) bool { return !ok || l.State() != market.LeaseAwarded })
}

// Bounds of the time before the start deadline from which on an image that is not there is not waited for any longer: the
// transaction that says so must land before the deadline.
const (
	leastMargin = 2 * time.Second
	mostMargin  = 15 * time.Second
)

// imageBy is when the image of a job has to be there.
func imageBy(o Order) time.Time {
	margin := min(max(o.StartDeadline/8, leastMargin), mostMargin)
	return o.AwardedAt.Add(o.StartDeadline - margin)
}
