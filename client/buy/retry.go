package buy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

const (
	// retryTime is how long after the end of a lease another machine is looked for.
	retryTime = time.Hour
	// firstRetryPause and lastRetryPause are the times between tries, while no machine serves the order.
	firstRetryPause, lastRetryPause = 5 * time.Second, time.Minute
	// leastRetrySecs is how much of the time must be left for another order.
	leastRetrySecs = 60
)

// errNoMachine: no machine serves the order now. Nothing is reserved for it.
var errNoMachine = errors.New("no machine serves the order now")

// Events of a purchase that orders again.
type (
	// OrderedAgain: the machine of a lease has left, and another order is for the time that was left.
	OrderedAgain struct {
		Lease   market.Lease
		Order   solana.PublicKey
		Seconds uint32
	}
	// NotOrderedAgain: the machine of a lease has left, and nothing is ordered in its place.
	NotOrderedAgain struct {
		Lease market.Lease
		Why   error
	}
	// NoMachineYet: no machine serves the order now. The next try is after Pause.
	NoMachineYet struct {
		Order solana.PublicKey
		Why   error
		Pause time.Duration
	}
)

func (OrderedAgain) event()    {}
func (NotOrderedAgain) event() {}
func (NoMachineYet) event()    {}

// checkRetry checks what is ordered again.
func (r *Request) checkRetry() error {
	switch {
	case !r.Retry:
		return nil
	case r.Nodes > 1:
		return usage("--retry is for one machine: one that comes later is not in the private network of the others", "leave --retry or --nodes out")
	case r.RunToCompletion || r.Redundancy != 0 || r.Rerun != "":
		return usage("--retry is for leases that a machine may leave by notice; a machine ends other leases with their job",
			"leave --retry out, or --run-to-completion, --redundancy and --rerun")
	case r.Guaranteed:
		return usage("--retry is for leases that a machine may leave by notice; a guaranteed one stays", "leave --retry or --guaranteed out")
	case r.Guest:
		return usage("--retry cannot tell whether the job of a measured guest has ended or was stopped", "leave --retry or --guest out")
	case r.Sealed:
		return usage("--retry takes standing prices", "leave --retry or --sealed out")
	}
	return nil
}

// runAll brings a purchase to its end, and the orders that take its place where its machine leaves.
func (d *deal) runAll() (*Outcome, error) {
	var earlier []service.Lease
	for pause := firstRetryPause; ; {
		p := d.p // with its job, which a purchase that is over forgets
		out, err := d.run()
		next := d.next
		switch {
		case err != nil && next != nil:
			return out, d.abandon(err)
		case next != nil:
			earlier = append(earlier, out.Leases...)
			pause = firstRetryPause
		case p.After.IsZero() || d.ctx.Err() != nil || !errors.Is(err, errNoMachine) || !time.Now().Before(p.RetryUntil):
			if out != nil {
				out.Earlier = earlier
			}
			return out, err
		default:
			d.b.tell(NoMachineYet{Order: d.order, Why: err, Pause: pause})
			if werr := wait.For(d.ctx, pause); werr != nil {
				return nil, interrupted(fmt.Sprintf("interrupted while no machine serves order %s; nothing is reserved", d.order), "continue with: gantry resume "+d.order.String())
			}
			pause = min(2*pause, lastRetryPause)
			if next, err = d.sameAgain(p); err != nil {
				return nil, err
			}
		}
		d = next
	}
}

// abandon lets the order that follows go, for a later call.
func (d *deal) abandon(err error) error {
	next := d.next
	d.next = nil
	if next == nil {
		return err
	}
	return errors.Join(err, next.held.Release())
}

// sameAgain is the next try of an order that no machine has served.
func (d *deal) sameAgain(p purchase.Purchase) (*deal, error) {
	held, err := d.b.hold(d.ctx, p.Order)
	if err != nil {
		return nil, err
	}
	stored, err := held.Read()
	switch {
	case err != nil:
		return nil, releasedUnless(nil, held, err)
	case stored.Stage != purchase.Over:
		return d.successor(stored, held), nil
	}
	if err := held.Release(); err != nil {
		return nil, err
	}
	p.Attempt++
	return d.begun(p)
}

// orderAgain begins the order for what is left of the time of a lease whose machine has left before its job has ended. It does
// nothing for other leases.
func (d *deal) orderAgain(l market.Lease, st messages.LeaseStatus) error {
	if !d.p.Retry || !unfinished(&l, st) {
		return nil
	}
	p, err := d.rest(&l)
	if err != nil {
		d.b.tell(NotOrderedAgain{Lease: l, Why: err})
		return nil
	}
	if d.next, err = d.begun(p); err != nil {
		return err
	}
	d.b.tell(OrderedAgain{Lease: l, Order: d.next.order, Seconds: d.next.p.Args.Duration})
	return nil
}

// unfinished reports whether a lease is over before its job, because its machine has left, or has failed and no other has taken it. A
// machine that says nothing of the job is taken for one that has stopped it.
func unfinished(l *market.Lease, st messages.LeaseStatus) bool {
	if st.State == messages.LeaseExited || st.State == messages.LeaseBroken {
		return false
	}
	switch l.State() {
	case market.LeaseEnded:
		return l.Reason() == market.EndedByProvider || l.Reason() == market.EndedFailed
	case market.LeaseFailed:
		return !l.CanMigrate()
	}
	return false
}

// rest is the purchase of what is left of a lease's time. Error: Failure where nothing can be ordered.
func (d *deal) rest(l *market.Lease) (purchase.Purchase, error) {
	p := d.p
	p.After, p.Attempt, p.Name = d.order, 0, ""
	p.RetryUntil = time.Now().Add(retryTime)
	p.Args.Duration = uint32(max(0, l.FundedUntil-l.EndedAt))
	if p.UntilStopped { // it is extended again
		p.Args.Duration = d.p.Args.Duration
	}
	if p.Budget != 0 {
		spent, err := market.Cost(market.PricePerHour(l.Price), l.Gpus, l.BillableSecs(l.EndedAt))
		if err != nil {
			return p, err
		}
		p.Budget -= min(p.Budget, uint64(spent))
		p.Args.Duration = affordableOrder(&p, d.mk.Params.StartDeadlineSecs)
	}
	if p.Args.Duration < leastRetrySecs {
		return p, refused(fmt.Sprintf("%d s are left, which is less than a minute", p.Args.Duration), "order anew with: gantry deploy")
	}
	if p.Backup != nil && p.Kept == "" && l.CheckpointHash != [32]byte{} {
		to := *p.Backup
		to.From, p.Backup = l.CheckpointHash, &to
	}
	return p, nil
}

// affordableOrder is how many of an order's seconds its budget pays for, with the time in which a machine starts.
func affordableOrder(p *purchase.Purchase, startSecs uint32) uint32 {
	return uint32(sort.Search(int(p.Args.Duration), func(n int) bool {
		cost, err := market.OrderCost(p.Args.MaxPrice, p.Args.GPUsPerNode, market.HeldSecs(uint32(n)+1, startSecs), p.Args.Nodes)
		return err != nil || uint64(cost) > p.Budget
	}))
}

// begun stores the purchase that follows another one, unless a program before has, and takes it. Its order's address follows from
// the order before, so that there is one.
func (d *deal) begun(p purchase.Purchase) (*deal, error) {
	for ; ; p.Attempt++ {
		p.Args.Nonce = purchase.Nonce(p.Args.Customer, "after "+p.After.String(), p.Attempt)
		p.Order = market.OrderAddress(p.Args.Customer, p.Args.Nonce)
		held, err := d.b.hold(d.ctx, p.Order)
		if err != nil {
			return nil, err
		}
		stored, err := held.Read()
		switch {
		case errors.Is(err, purchase.ErrNotFound):
			next, err := d.newSuccessor(p, held)
			return next, releasedUnless(next, held, err)
		case err != nil:
			return nil, releasedUnless(nil, held, err)
		case stored.CameToNothing():
			if err := held.Release(); err != nil {
				return nil, err
			}
		default:
			return d.successor(stored, held), nil
		}
	}
}

// newSuccessor stores a purchase that follows another one. Its volume has keys of its own.
func (d *deal) newSuccessor(p purchase.Purchase, held *purchase.Held) (*deal, error) {
	p.Created, p.Stage, p.Bought, p.Renewals, p.Group, p.Result = time.Now(), purchase.Intended, false, nil, nil, nil
	if p.Secret != nil {
		p.Secret = make([]byte, volumeSecretBytes)
		if _, err := rand.Read(p.Secret); err != nil {
			return nil, fmt.Errorf("random number: %w", err)
		}
	}
	if err := held.Write(p); err != nil {
		return nil, err
	}
	next := d.successor(p, held)
	next.fresh = true
	return next, nil
}

// successor works on a purchase that follows this one.
func (d *deal) successor(p purchase.Purchase, held *purchase.Held) *deal {
	next := d.b.dealOf(d.ctx, d.v, d.mk, p, held)
	next.r.ports, next.r.health, next.attached = d.r.ports, d.r.health, d.attached
	return next
}

// inPlaceOf takes the purchase that has taken the place of another one, which is over. It lets that one go.
func (b *Buyer) inPlaceOf(ctx context.Context, held *purchase.Held, p purchase.Purchase) (*purchase.Held, purchase.Purchase, error) {
	order := newest(b.purchases(), p.Order)
	if order == p.Order {
		return held, p, nil
	}
	if err := held.Release(); err != nil {
		return nil, p, err
	}
	held, err := b.hold(ctx, order)
	if err != nil {
		return nil, p, err
	}
	if p, err = held.Read(); err != nil {
		return nil, p, releasedUnless(nil, held, err)
	}
	return held, p, nil
}

// newest is the purchase that has taken the place of another one, or that one.
func newest(all []purchase.Purchase, order solana.PublicKey) solana.PublicKey {
	for {
		i := slices.IndexFunc(all, func(p purchase.Purchase) bool { return p.After == order && !p.CameToNothing() })
		if i < 0 {
			return order
		}
		order = all[i].Order
	}
}
