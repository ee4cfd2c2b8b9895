package buy

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/txm"
)

const (
	// leastAdded is the least time that is left of a cluster to which machines are added.
	leastAdded = time.Minute
	// forgetTime is how long the record of an order that was not sent may take to be ended.
	forgetTime = 10 * time.Second
)

// Addition is an order of machines for a cluster, before it is sent.
type Addition struct {
	Order solana.PublicKey
	// Reserves is what it reserves; 0 where the cluster has a budget, which bounds what is added too.
	Reserves market.USDC
}

// Scaled is a cluster to which machines were added: with their leases, for how many seconds they were ordered, and when they are
// inspected.
type Scaled struct {
	Cluster
	Added        []service.Lease
	AddedSeconds uint32
	Inspect      string
}

// ScaleCluster buys machines for a cluster of this folder until nodes of them run or start. They have the job of the others, the
// places behind theirs, and the time that is left of the first order. It returns when they run. What an earlier call has begun is
// finished first. agree, which may be nil, is asked before the order is stored and sent. Nothing of the cluster ends when the order of
// the new ones comes to nothing. Error: ErrNoCluster; that of agree; a service.Failure where the cluster cannot grow.
func (b *Buyer) ScaleCluster(ctx context.Context, text string, nodes int, agree func(Addition) error) (Scaled, error) {
	family, err := pickCluster(b.purchases(), text)
	if err != nil {
		return Scaled{}, err
	}
	mk, err := b.market(ctx)
	if err != nil {
		return Scaled{}, err
	}
	if err := b.finishAdded(ctx, family); err != nil {
		return Scaled{}, err
	}
	v, stop, err := b.service.Live(ctx, b.scope(b.customer, view.Kinds(market.KindKeeper, market.KindModel)...))
	if err != nil {
		return Scaled{}, err
	}
	defer stop()
	p, held, err := b.add(ctx, v, family[0].Order, nodes, mk.Params.StartDeadlineSecs, agree)
	if err != nil || p == nil {
		return Scaled{Cluster: clusterOf(family, service.DescribeLeases(v, v.Leases(), b.service.Clock.Latest(ctx).Unix()))}, err
	}
	d := b.dealOf(ctx, v, mk, *p, held)
	d.fresh = true
	out, err := d.run()
	if err != nil {
		left, end := context.WithTimeout(context.WithoutCancel(ctx), forgetTime)
		defer end()
		_, ferr := b.forgetUnsent(left, p.Order)
		return Scaled{}, errors.Join(err, ferr)
	}
	c, err := b.Cluster(ctx, family[0].Order.String())
	return Scaled{c, out.Leases, p.Args.Duration, p.Inspect}, err
}

// finishAdded brings what an earlier call has begun to add to its end. An order that was not sent is forgotten: it was for another time
// and number.
func (b *Buyer) finishAdded(ctx context.Context, family []purchase.Purchase) error {
	last := &family[len(family)-1]
	if last.Joins.IsZero() || served(last) {
		return nil
	}
	forgotten, err := b.forgetUnsent(ctx, last.Order)
	if forgotten || err != nil {
		return err
	}
	_, err = b.resume(ctx, last.Order, false)
	if err != nil && slices.ContainsFunc(b.purchases(), func(p purchase.Purchase) bool { return p.Order == last.Order && p.CameToNothing() }) {
		return nil
	}
	return err
}

// served reports whether all machines of a purchase have a place in the private network, and their job.
func served(p *purchase.Purchase) bool {
	return len(p.Group) > 0 && (p.Stage == purchase.Handed || p.Stage == purchase.Over)
}

// grows says of what is held that another command adds machines.
func grows(err error) error {
	if errors.Is(err, purchase.ErrHeld) {
		return refused("another command adds machines to the cluster right now", "repeat this one when they run")
	}
	return err
}

// forgetUnsent ends the purchase of machines whose order was never sent, so that none of the cluster's budget is kept for it.
func (b *Buyer) forgetUnsent(ctx context.Context, order solana.PublicKey) (forgotten bool, err error) {
	held, err := b.folder.Hold(order)
	if err != nil {
		return false, grows(err)
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	p, err := held.Read()
	if err != nil || p.Stage != purchase.Intended {
		return false, err
	}
	genesis, err := b.client.Genesis(ctx)
	if err != nil {
		return false, err
	}
	store, err := txm.OpenStore(held.Transactions(), genesis)
	if err != nil {
		return false, err
	}
	sent := false
	err = store.Entries(func(e txm.Entry) error { // it is stored with its signature before it is sent
		sent = sent || e.Current != nil
		return nil
	})
	if err = errors.Join(err, store.Close()); err != nil || sent {
		return false, err
	}
	p.End(service.CodeRefused, "its order was not sent", nil)
	return true, held.Write(p)
}

// add stores the purchase of the machines that a cluster lacks; nil where it lacks none. start is the market's start deadline, seconds.
// Nobody else adds to the cluster meanwhile. The first purchase is held too, so that no extension is paid from what the new one takes of
// the budget.
func (b *Buyer) add(ctx context.Context, v *view.View, first solana.PublicKey, nodes int, start uint32, agree func(Addition) error) (p *purchase.Purchase, held *purchase.Held, err error) {
	growth, err := b.folder.HoldGrowth(first)
	if err != nil {
		return nil, nil, grows(err)
	}
	defer func() { err = errors.Join(err, growth.Close()) }()
	own, err := b.hold(ctx, first)
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, own.Release()) }()
	case !errors.Is(err, purchase.ErrHeld):
		return nil, nil, err
	}
	all, err := b.folder.All() // a record that cannot be read may be of the cluster
	if err != nil {
		return nil, nil, err
	}
	family := purchase.Cluster(all, first)
	if p, err = b.added(ctx, v, family, nodes); err != nil || p == nil {
		return nil, nil, err
	}
	a := Addition{Order: p.Order}
	if a.Reserves, err = reserves(p, start); err != nil {
		return nil, nil, err
	}
	if family[0].Budget != 0 {
		if own == nil {
			return nil, nil, refused("a command attends the cluster, and pays extensions from its budget", "end that command first: the cluster runs on; afterwards gantry resume "+first.String())
		}
		if err := shareBudget(p, all, &family[0], a.Reserves, nodes); err != nil {
			return nil, nil, err
		}
		a.Reserves = 0
	}
	if agree != nil {
		if err := agree(a); err != nil {
			return nil, nil, err
		}
	}
	if held, err = b.hold(ctx, p.Order); err != nil {
		return nil, nil, err
	}
	if err = held.Write(*p); err != nil {
		return nil, nil, errors.Join(err, held.Release())
	}
	return p, held, nil
}

// reserves is what the order of a purchase reserves, with the time that its machines may wait for the job: start is that in seconds.
func reserves(p *purchase.Purchase, start uint32) (market.USDC, error) {
	return market.OrderCost(p.Args.MaxPrice, p.Args.GPUsPerNode, market.HeldSecs(p.Args.Duration, start), p.Args.Nodes)
}

// shareBudget gives machines that are added their part of what is left of the cluster's budget, by their number.
func shareBudget(p *purchase.Purchase, all []purchase.Purchase, first *purchase.Purchase, reserves market.USDC, nodes int) error {
	left, err := purchase.Left(first, all)
	if err != nil {
		return err
	}
	if reserves > left {
		return refused(fmt.Sprintf("the cluster's budget of %s USDC has %s left, and the machines reserve %s", market.USDC(first.Budget), left, reserves), "add fewer machines, or order a second cluster")
	}
	if p.UntilStopped {
		p.Budget = uint64(reserves + (left-reserves)/market.USDC(nodes)*market.USDC(p.Args.Nodes))
	}
	return nil
}

// added is the purchase of the machines that a cluster lacks; nil where it lacks none.
func (b *Buyer) added(ctx context.Context, v *view.View, family []purchase.Purchase, nodes int) (*purchase.Purchase, error) {
	members := purchase.Members(family)
	live, until := 0, int64(0)
	for _, m := range members {
		if l, ok := v.Lease(m.Lease); ok && l.State() <= market.LeaseRunning {
			live++
			until = max(until, l.FundedUntil)
		}
	}
	missing := nodes - live
	if missing == 0 && live > 0 {
		return nil, nil
	}
	first, last := family[0], family[len(family)-1]
	switch made := clusterTypeOf(first.Job); {
	case first.Job == nil || live == 0:
		return nil, refused("no machine of the cluster runs, or the purchase of its order is over", "order a new one: gantry cluster up")
	case !served(&last):
		return nil, refused(fmt.Sprintf("machines of order %s do not run yet", last.Order), "continue it first: gantry resume "+last.Order.String())
	case missing < 0:
		return nil, refused(fmt.Sprintf("%d machines of the cluster run, which are more than %d", live, nodes), "end the leases of single machines: gantry stop LEASE")
	case len(members)+missing > messages.MaxGroup:
		return nil, refused(fmt.Sprintf("a private network has at most %d places; %d are used, by machines that have ended too", messages.MaxGroup, len(members)), "order a second cluster")
	case made.Type == ClusterTorch:
		return nil, refused("torchrun knows its number of machines from its start", "order a new cluster with as many machines as you need")
	case first.Attest != "":
		return nil, refused("machines that have to prove themselves (--attest) cannot be added yet", "order a new cluster with as many machines as you need")
	}
	left := time.Duration(until-b.service.Clock.Latest(ctx).Unix()) * time.Second
	if left < leastAdded {
		return nil, refused(fmt.Sprintf("the time of the cluster ends in %s", max(left, 0)), "give it more first: gantry extend LEASE TIME")
	}
	return b.copied(&first, len(members), missing, uint32(left/time.Second))
}

// copied is the purchase of an order like the first one of a cluster, for machines from a place on.
func (b *Buyer) copied(first *purchase.Purchase, place, nodes int, seconds uint32) (*purchase.Purchase, error) {
	p, job := *first, *first.Job
	var drawn [8 + messages.SaltBytes + volumeSecretBytes]byte
	if _, err := rand.Read(drawn[:]); err != nil {
		return nil, fmt.Errorf("random number: %w", err)
	}
	p.Args.Nonce = binary.LittleEndian.Uint64(drawn[:8])
	job.Salt = drawn[8 : 8+messages.SaltBytes]
	if len(first.Secret) > 0 {
		p.Secret = drawn[8+messages.SaltBytes:]
	}
	p.Joins, p.First, p.Group = first.Order, place, nil
	p.MinNodes, p.Short = 0, nil // the first purchase says it for all
	p.Order = market.OrderAddress(p.Args.Customer, p.Args.Nonce)
	p.Name, p.Attempt, p.Request, p.Renewals, p.Created = "", 0, [32]byte{}, nil, time.Now()
	p.Job, p.Salt, p.Stage, p.Bought, p.Detach = &job, job.Salt, purchase.Intended, false, true
	p.Args.Nodes, p.Args.Duration = uint8(nodes), seconds
	if !b.o.Attends { // nobody would bring the job to another machine, or pay for more time
		p.Args.NoMigration, p.UntilStopped, p.Budget = true, false, 0
	}
	digest, err := job.Digest()
	p.Args.JobDigest = digest
	return &p, err
}
