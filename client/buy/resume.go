package buy

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Resume continues a purchase of this folder, and attends it also where it was begun with Detach.
func (b *Buyer) Resume(ctx context.Context, order solana.PublicKey) (*Outcome, error) {
	return b.resume(ctx, order, true)
}

// resume continues a purchase. attached: stay, though it was begun with Detach.
func (b *Buyer) resume(ctx context.Context, order solana.PublicKey, attached bool) (*Outcome, error) {
	if err := b.canAttend(); err != nil {
		return nil, err
	}
	mk, err := b.market(ctx)
	if err != nil {
		return nil, err
	}
	order = newest(b.purchases(), order)
	held, err := b.folder.Hold(order)
	if errors.Is(err, purchase.ErrHeld) {
		return nil, refused(fmt.Sprintf("another gantry command works on order %s right now", order), "wait for it, or end it first")
	}
	if err != nil {
		return nil, err
	}
	p, err := held.Read()
	if errors.Is(err, purchase.ErrNotFound) {
		err = refused(fmt.Sprintf("this machine has no record of order %s, and so not its job", order),
			fmt.Sprintf("continue where it was begun, or limit the loss: gantry order cancel %s, gantry leases, gantry stop LEASE", order))
	}
	if err != nil {
		return nil, releasedUnless(nil, held, err)
	}
	v, stop, err := b.service.Live(ctx, b.scope(solana.PublicKey{}, view.Kinds(market.KindKeeper, market.KindModel)...))
	if err != nil {
		return nil, releasedUnless(nil, held, err)
	}
	defer stop()
	d := b.dealOf(ctx, v, mk, p, held)
	d.attached = attached
	return d.runAll()
}

// Standing says in a few words where a purchase is, by the chain and by what is stored.
func Standing(v *view.View, p *purchase.Purchase) string {
	leases := v.LeasesOfOrder(p.Order)
	var running, waiting int
	for _, l := range leases {
		switch l.State() {
		case market.LeaseAwarded:
			waiting++
		case market.LeaseRunning:
			running++
		}
	}
	o, exists := v.Order(p.Order)
	switch {
	case !exists && p.Stage == purchase.Intended:
		return "stored, not on chain"
	case !exists:
		return "over on chain"
	case p.Stage != purchase.Handed && running > 0:
		return service.Plural(running, "lease") + " billed, job not handed over"
	case p.Stage != purchase.Handed && waiting > 0:
		return service.Plural(waiting, "lease") + " awarded, job not handed over"
	case running+waiting > 0:
		return service.Plural(running+waiting, "lease") + " with its job"
	}
	return o.State().String()
}

// Unattended are the leases of a customer that have no job, because the process that would have brought it died, and
// orders that wait: leases are billed from their start on, with or without a job.
func (b *Buyer) Unattended(v *view.View, customer solana.PublicKey) []Unattended {
	return UnattendedIn(b.folder, b.purchases(), v, customer)
}

// UnattendedIn is Unattended of the purchases of a folder.
func UnattendedIn(f *purchase.Folder, all []purchase.Purchase, v *view.View, customer solana.PublicKey) []Unattended {
	var out []Unattended
	for _, p := range all {
		if p.Args.Customer != customer || (p.Stage != purchase.Intended && p.Stage != purchase.Placed) {
			continue
		}
		held, err := f.Hold(p.Order)
		if err != nil {
			continue // another call works on it
		}
		_ = held.Release()
		for _, l := range v.LeasesOfOrder(p.Order) {
			if l.State() == market.LeaseRunning || l.State() == market.LeaseAwarded {
				out = append(out, Unattended{Order: p.Order, Lease: &l})
			}
		}
		if o, exists := v.Order(p.Order); exists && o.Unused() {
			out = append(out, Unattended{Order: p.Order, State: o.State()})
		}
	}
	return out
}

// withoutJob says what happens to a lease to which no command brings its job, and what limits the loss.
func (d *deal) withoutJob() string {
	return fmt.Sprintf("a machine starts its lease within half of the start deadline, with or without the job, and it is billed from then on: "+
		"bring the job with gantry resume %s, or end it with gantry stop LEASE; see: gantry leases", d.order)
}

// toAttend are the leases that a command stays with: those that are not over, or all when none is left.
func (d *deal) toAttend(all []market.Lease) []market.Lease {
	if d.fresh {
		return all
	}
	var live []market.Lease
	for _, l := range all {
		if l.State() == market.LeaseAwarded || l.State() == market.LeaseRunning {
			live = append(live, l)
		}
	}
	if len(live) == 0 {
		return all
	}
	return live
}

// expected is how many leases of an awarded order the view must show before the purchase continues.
func (d *deal) expected(o *market.Order) int {
	if d.fresh {
		return int(d.r.args.Nodes)
	}
	return 1
}

// overMeanwhile ends a purchase whose order is gone from the chain: its history says whether anything was bought.
func (d *deal) overMeanwhile() error {
	history, err := audit.Read(d.ctx, d.b.client, d.order, d.b.client.WaitLevel())
	if err == nil {
		err = audit.Unread(history) // an award that is not seen is no order that nobody has served
	}
	if errors.Is(err, chain.ErrUnreadable) {
		return service.Unknown(fmt.Sprintf("order %s is over, and it is not known whether a machine has served it: %v", d.order, err), err)
	}
	if err != nil {
		return network(fmt.Sprintf("order %s is over, and its history cannot be read", d.order), "try again", err)
	}
	leases := map[solana.PublicKey]bool{}
	placed := false
	for _, tx := range history {
		for _, e := range tx.Events {
			switch v := e.Value.(type) {
			case *bindings.OrderCreated:
				placed = placed || v.Order == d.order
			case *bindings.LeaseAwarded:
				if v.Order == d.order {
					leases[v.Lease] = true
				}
			case *bindings.LeaseAborted:
				delete(leases, v.Lease)
			case *bindings.LeaseDeclined:
				delete(leases, v.Lease)
			}
		}
	}
	switch {
	case !placed:
		return network(fmt.Sprintf("order %s is neither on chain nor in the history that this node keeps", d.order), "try another --url, such as an archive node", nil)
	case len(leases) == 0:
		d.p.Bought = false // a machine took the job and never started
		return d.over(false, refused(fmt.Sprintf("order %s is over, and no machine has served it", d.order), "its money is free again; order anew with: gantry deploy"))
	}
	for lease := range leases {
		d.b.tell(LeaseServed{Lease: lease})
	}
	return d.over(true, nil)
}
