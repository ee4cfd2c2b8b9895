package buy

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// tellsWithin is how long the machines of a cluster are told of machines that are added.
const tellsWithin = 30 * time.Second

// regroup notes which leases of the order have a private network together: all of an order over several machines that
// run containers, unless their outputs are compared. A lease that continues a failed one takes its place, and so its address.
func (d *deal) regroup() error {
	d.jobs.Lock()
	defer d.jobs.Unlock()
	live := make([]market.Lease, 0, len(d.leases))
	for _, l := range d.leases {
		if cur, ok := d.v.Lease(l.Address); ok {
			l.Lease = cur.Lease
		}
		if l.State() <= market.LeaseRunning {
			live = append(live, l)
		}
	}
	alone := d.p.Joins.IsZero() && len(d.p.Group) == 0 && len(live) < 2
	if d.r.job.Image == "" || d.p.Args.Redundant || alone {
		return nil
	}
	now := grouped(d.p.Group, live)
	if slices.Equal(now, d.p.Group) {
		return nil
	}
	d.p.Group = now
	return d.held.Write(d.p)
}

// grouped puts live leases into the places of members that are not live any more. Without members all leases are put in the
// order of their addresses.
func grouped(members []messages.GroupMember, live []market.Lease) []messages.GroupMember {
	if len(members) == 0 {
		out := make([]messages.GroupMember, len(live))
		for i, l := range live {
			out[i] = messages.GroupMember{Lease: l.Address, Node: l.NodeKey}
		}
		slices.SortFunc(out, func(a, b messages.GroupMember) int { return bytes.Compare(a.Lease[:], b.Lease[:]) })
		return out
	}
	out := slices.Clone(members)
	lives := map[solana.PublicKey]bool{}
	for _, l := range live {
		lives[l.Address] = true
	}
	for _, l := range live {
		at := func(m messages.GroupMember) bool { return m.Lease == l.Address }
		if slices.ContainsFunc(out, at) {
			continue
		}
		i := slices.IndexFunc(out, func(m messages.GroupMember) bool { return !lives[m.Lease] })
		if i < 0 {
			break // more leases than places: what is on chain and the record differ
		}
		out[i] = messages.GroupMember{Lease: l.Address, Node: l.NodeKey}
	}
	return out
}

// group is what the machine of a lease is told of its private network; nil for none.
func (d *deal) group(lease solana.PublicKey) *messages.Group {
	members := purchase.Members(d.cluster())
	i := slices.IndexFunc(members, func(m messages.GroupMember) bool { return m.Lease == lease })
	if i < 0 {
		return nil
	}
	return &messages.Group{Index: uint8(i), Members: members, Together: together(members, d.v.LeasesOfOrder(d.order))}
}

// together has the bits of the places whose leases have not started yet: they start together. A lease that continues a failed one,
// and one whose others run, starts alone.
func together(members []messages.GroupMember, leases []market.Lease) (places uint64) {
	for _, l := range leases {
		i := slices.IndexFunc(members, func(m messages.GroupMember) bool { return m.Lease == l.Address })
		if i >= 0 && l.State() == market.LeaseAwarded && l.Continues == 0 {
			places |= 1 << i
		}
	}
	return places
}

// cluster are the purchases whose machines share a private network with those of this one. Other processes write the others.
func (d *deal) cluster() []purchase.Purchase {
	d.jobs.Lock()
	p := d.p
	p.Group = slices.Clone(p.Group)
	d.jobs.Unlock()
	out := purchase.Cluster(d.b.purchases(), p.Order)
	for i := range out {
		if out[i].Order == p.Order {
			out[i] = p
		}
	}
	return out
}

// tellGroup tells the machines of all leases that run how the group is now, again and again until they answer or ctx ends. The
// lease that has moved is among them: while it started, another lease of the order may have moved too. Whoever is not told keeps
// the former member, and hears it when the customer resumes the order.
func (d *deal) tellGroup(ctx context.Context) {
	d.jobs.Lock()
	leases := slices.Clone(d.leases)
	d.jobs.Unlock()
	var told sync.WaitGroup
	defer told.Wait()
	d.tell(ctx, &told, leases)
	for _, p := range d.cluster() {
		if p.Order == d.order || p.Job == nil {
			continue
		}
		other := d.b.dealOf(ctx, d.v, d.mk, p, nil) // it is only read
		other.remote = d.remote
		other.tell(ctx, &told, d.v.LeasesOfOrder(p.Order))
	}
}

// tell tells the machines of leases of the purchase that run.
func (d *deal) tell(ctx context.Context, told *sync.WaitGroup, leases []market.Lease) {
	for _, l := range leases {
		cur, ok := d.v.Lease(l.Address)
		if !ok || cur.State() != market.LeaseRunning || d.group(l.Address) == nil {
			continue
		}
		told.Go(func() {
			secrets, err := d.volumeSecrets(ctx, l.Address)
			if err == nil {
				_, err = d.deploy(ctx, l, nil, secrets, 0)
			}
			if err != nil {
				d.b.log.Warn().Err(err).Stringer("lease", l.Address).Msg("a machine was not told that its private network has changed")
			}
		})
	}
}
