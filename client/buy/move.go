package buy

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// moveSlack is how much longer than keepers may take a move is waited for: the news of it, and the clocks.
const moveSlack = 10 * time.Second

// attendMoves stays with a lease and, when its machine fails and keepers move what is left of its time, with the one
// that goes on. It returns the last one.
func (d *deal) attendMoves(ctx context.Context, l market.Lease) (messages.LeaseStatus, market.Lease, error) {
	for {
		st, err := d.attendOne(ctx, l)
		if err != nil || d.r.args.NoMigration || !d.failed(l.Address) {
			return st, l, err
		}
		gone, known := d.v.Lease(l.Address)
		if !known {
			gone = l
		}
		next, moved, err := d.nextLease(ctx, gone)
		if err != nil {
			return st, l, err
		}
		if !moved && d.p.Retry {
			return st, l, nil
		}
		if !moved {
			return st, l, &failure{
				Code: service.CodeJobFailed, Reason: fmt.Sprintf("the machine of lease %s failed, and no other took what is left of it", l.Address),
				Advice: "what was not delivered is free again; order anew with: gantry deploy",
			}
		}
		start, cancel := context.WithTimeout(ctx, market.Seconds(d.mk.Params.StartDeadlineSecs)+10*time.Second)
		if err = d.regroup(); err == nil {
			err = d.startOne(start, next)
		}
		if err == nil {
			d.tellGroup(start)
		}
		cancel()
		if err != nil {
			return st, next, err
		}
		if cur, ok := d.v.Lease(next.Address); ok {
			// What was down before the lease failed, and what it took to move it.
			gap := int64(gone.DowntimeSecs) + max(0, cur.StartedAt-gone.EndedAt)
			d.b.tell(Continued{Lease: next, Gap: gap, Left: market.Seconds(cur.DurationSecs)})
		}
		l = next
	}
}

// failed reports whether keepers found the lease's machine gone.
func (d *deal) failed(lease solana.PublicKey) bool {
	cur, ok := d.v.Lease(lease)
	return ok && (cur.State() == market.LeaseFailed || cur.State() == market.LeaseEnded && cur.Reason() == market.EndedFailed)
}

// followUntilFailed shows a job's output until it is complete or the machine is known to be gone: one that is silent is
// not waited for any longer then.
func (d *deal) followUntilFailed(ctx context.Context, l market.Lease, out io.Writer) error {
	if d.r.args.NoMigration {
		return d.remote.Follow(ctx, l, 0, out)
	}
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if d.v.WaitFor(following, func(*view.View) bool { return d.failed(l.Address) }) == nil {
			cancel()
		}
	}()
	err := d.remote.Follow(following, l, 0, out)
	gone := following.Err() != nil && ctx.Err() == nil
	cancel()
	<-watched
	if gone {
		return nil
	}
	return err
}

// nextLease waits for the lease that keepers create on another node for the rest of a failed lease, as long as they
// may. Several leases of one order may have failed: each takes a new lease that this command does not attend yet.
func (d *deal) nextLease(ctx context.Context, l market.Lease) (next market.Lease, ok bool, err error) {
	if l.MayMigrate == 0 || l.EndedAt == 0 {
		return l, false, nil
	}
	d.b.tell(MachineFailed{Lease: l})
	last := time.Unix(l.EndedAt, 0).Add(market.Seconds(l.SettleSecs) + moveSlack)
	wait, cancel := context.WithTimeout(ctx, last.Sub(d.b.service.Clock.Latest(ctx)))
	defer cancel()
	stop := d.b.waiting(Wait{For: WaitMove, Order: d.order})
	defer stop()
	var over time.Time
	err = d.v.WaitFor(wait, func(v *view.View) bool {
		next, ok = d.claimLease(v)
		cur, known := v.Lease(l.Address)
		if !known || cur.State() == market.LeaseEnded {
			if over.IsZero() {
				over = time.Now()
			}
			// One transaction ends the old lease and creates the new one, but the two accounts are seen one after the
			// other.
			return ok || time.Since(over) > 3*time.Second
		}
		return ok
	})
	if err != nil && ctx.Err() == nil {
		err = nil // no keeper moved it in time
	}
	if err == nil && ok {
		d.b.tell(Moved{Lease: next})
	}
	return next, ok, err
}

// claimLease takes a live lease of the order that this command does not attend yet.
func (d *deal) claimLease(v *view.View) (market.Lease, bool) {
	d.jobs.Lock()
	defer d.jobs.Unlock()
	for _, l := range v.LeasesOfOrder(d.order) {
		taken := false
		for _, have := range d.leases {
			taken = taken || have.Address == l.Address
		}
		if l.Continues == 1 && !taken && l.State() <= market.LeaseRunning {
			d.leases = append(d.leases, l)
			return l, true
		}
	}
	return market.Lease{}, false
}
