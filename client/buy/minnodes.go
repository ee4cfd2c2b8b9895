package buy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/group"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// breakWithin is how much longer than the start deadline one try to end a group may take.
const breakWithin = 30 * time.Second

// Events of a group that needs a number of machines.
type (
	// TooFew: fewer machines run than the group needs. Short says when the others are ended, or that they were; nil: enough run again.
	TooFew struct {
		Running, Least int
		Short          *group.Short
	}
	// MemberLost: a member of a group is not attended any more. The others are.
	MemberLost struct {
		Lease market.Lease
		Err   error
	}
)

func (TooFew) event()     {}
func (MemberLost) event() {}

// checkMinNodes checks how many machines have to run.
func (r *Request) checkMinNodes() error {
	nodes := max(r.Nodes, 1)
	switch {
	case r.MinNodes == 0:
		return nil
	case r.Redundancy != 0 || r.Rerun != "":
		return usage("--min-nodes is for machines that work together, and with --redundancy or --rerun each works alone", "leave --min-nodes out")
	case nodes < 2:
		return usage("--min-nodes is for several machines", "say how many: --nodes 2, or leave --min-nodes out")
	case r.MinNodes > nodes:
		return usage(fmt.Sprintf("--min-nodes is %d, and --nodes is %d", r.MinNodes, nodes), "ask for no more machines than there are")
	}
	return nil
}

// group is the one of a purchase, by a view of the customer's leases. Its record is written by store.
func (b *Buyer) group(v *view.View, start uint32, gone map[solana.PublicKey]market.Lease, family func() []purchase.Purchase, store func(*group.Short) error) *group.Group {
	least := 0
	return group.New(group.Options{
		State: func() (st group.State) {
			all := family()
			for _, m := range purchase.Members(all) {
				st.Places = append(st.Places, m.Lease)
			}
			if len(all) > 0 {
				least = int(all[0].MinNodes)
				st.Least, st.Short = least, all[0].Short
			}
			return st
		},
		Seen: func() []market.Lease { return seenOf(v, family()) },
		Fresh: func(ctx context.Context) ([]market.Lease, error) {
			var orders []solana.PublicKey
			for _, p := range family() {
				orders = append(orders, p.Order)
			}
			return group.Leases(ctx, b.client, orders)
		},
		Closed: func(ctx context.Context, lease solana.PublicKey) (market.Lease, error) {
			l, known, err := b.closedLease(ctx, market.Lease{Meta: market.Meta{Address: lease}})
			if err == nil && !known {
				err = fmt.Errorf("lease %s is closed, and its history does not say how it ended: %w", lease, chain.ErrUnreadable)
			}
			return l, err
		},
		Now: b.client.Now, Start: int64(start), Store: store, Gone: gone,
		End: func(ctx context.Context) ([]string, error) {
			_, left, err := b.endFamily(ctx, family(), market.Seconds(start)+breakWithin)
			return left, err
		},
		Tell: func(m group.Muster, s *group.Short) { b.tell(TooFew{m.Running, least, s}) },
	})
}

// seenOf are the leases of purchases, as a view has them.
func seenOf(v *view.View, family []purchase.Purchase) (out []market.Lease) {
	for _, p := range family {
		out = append(out, v.LeasesOfOrder(p.Order)...)
	}
	return out
}

// keepsWhole watches the group while the caller attends it. Where too few machines run for too long, it ends all leases and calls over. The
// returned function stops the watch.
func (d *deal) keepsWhole(ctx context.Context, over func()) (stop func()) {
	if d.p.MinNodes == 0 {
		return func() {}
	}
	return beside(ctx, func(ctx context.Context) {
		if d.muster().Keep(ctx, false, d.notEnded) == group.AllOver {
			over()
		}
	})
}

func (d *deal) notEnded(err error) { d.b.notEnded(d.order, err) }

func (b *Buyer) notEnded(order solana.PublicKey, err error) {
	b.log.Warn().Err(err).Stringer("order", order).Msg("the machines of a group could not be counted, or its leases could not be ended")
}

// muster is the group of the purchase.
func (d *deal) muster() *group.Group {
	return d.b.group(d.v, d.mk.Params.StartDeadlineSecs, nil, d.cluster, func(s *group.Short) error {
		d.jobs.Lock()
		defer d.jobs.Unlock()
		d.p.Short = s
		return d.held.Write(d.p)
	})
}

// loses notes that a member of a group is over, where the others are attended further. It returns the error of one that is not.
func (d *deal) loses(ctx context.Context, l market.Lease, err error) error {
	if cur, ok := d.v.Lease(l.Address); err == nil || d.p.MinNodes == 0 || ctx.Err() != nil || ok && cur.State() <= market.LeaseRunning {
		return err
	}
	d.jobs.Lock()
	d.lost = append(d.lost, err)
	d.jobs.Unlock()
	d.b.tell(MemberLost{Lease: l, Err: err})
	return nil
}

// whole waits until it is known whether a group that lost members still has enough, or until all its leases are ended. Error: why it lost
// its members, where too few did their work and no lease was left to end.
func (d *deal) whole(ctx context.Context) error {
	if len(d.lost) == 0 && !d.p.Short.Broken() {
		return nil
	}
	g := d.muster()
	if g.Keep(ctx, true, d.notEnded) == group.TooFew {
		return ctx.Err()
	}
	if g.Last().Short && !d.p.Short.Broken() {
		return errors.Join(d.lost...)
	}
	return nil
}

// keepWhole looks at the groups that this server has bought until ctx ends.
func (c *carrier) keepWhole(ctx context.Context, v *view.View) {
	said, gone := map[solana.PublicKey]string{}, map[solana.PublicKey]market.Lease{}
	alone := map[solana.PublicKey]bool{} // orders that are of no group which needs a number of machines
	for ctx.Err() == nil {
		all := c.ofGroups(v, alone)
		for i := range all {
			p := &all[i]
			if p.MinNodes == 0 || !p.Detach || p.Stage == purchase.Intended || p.Stage == purchase.Over || !c.Ours(purchase.NameOf(all, p)) {
				continue
			}
			family := purchase.Cluster(all, p.Order)
			if m := group.Count(int(p.MinNodes), seenOf(v, family)); p.Short == nil && m.Enough() { // the purchase is not held then
				continue
			}
			err := c.keepOneWhole(ctx, v, gone, p.Order)
			text := ""
			if err != nil && ctx.Err() == nil {
				if text = err.Error(); text != said[p.Order] {
					c.notEnded(p.Order, err)
				}
			}
			said[p.Order] = text
		}
		_ = wait.For(ctx, group.Every)
	}
}

// ofGroups are the purchases, where a lease that is not over may be of a group; none where all orders of such leases are known to stand
// alone.
func (c *carrier) ofGroups(v *view.View, alone map[solana.PublicKey]bool) []purchase.Purchase {
	leases := slices.DeleteFunc(v.LeasesOfCustomer(c.customer), func(l market.Lease) bool { return alone[l.Order] || !needsJob(&l) })
	if len(leases) == 0 {
		return nil
	}
	all, err := c.folder.All() // a list of purchases says which cannot be read
	for i := range leases {
		at := slices.IndexFunc(all, func(p purchase.Purchase) bool { return p.Order == leases[i].Order })
		if err == nil && (at < 0 || all[at].MinNodes == 0 && all[at].Joins.IsZero()) { // it is stored before its order is sent
			alone[leases[i].Order] = true
		}
	}
	return all
}

// keepOneWhole looks once at the group of an order. It holds the purchase meanwhile, and leaves one that a command attends.
func (c *carrier) keepOneWhole(ctx context.Context, v *view.View, gone map[solana.PublicKey]market.Lease, order solana.PublicKey) (err error) {
	held, err := c.folder.Hold(order)
	if errors.Is(err, purchase.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	p, err := held.Read()
	if err != nil || p.Stage == purchase.Over {
		return err
	}
	mk, err := c.market(ctx)
	if err != nil {
		return err
	}
	g := c.group(v, mk.Params.StartDeadlineSecs, gone, func() []purchase.Purchase { return purchase.Cluster(c.purchases(), order) }, func(s *group.Short) error {
		p.Short = s
		c.log.Warn().Stringer("order", order).Interface("short", s).Msg("the record of a short group has changed")
		return held.Write(p)
	})
	found, err := g.Look(ctx)
	if err != nil || found != group.AllOver {
		return err
	}
	p.End(service.CodeJobFailed, p.Short.Says, nil)
	return held.Write(p)
}
