package buy

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Stopped is a lease that its customer has ended.
type Stopped struct {
	Lease service.Lease
	// ByMachine: its machine has ended it before.
	ByMachine bool
	// Freed of the reservation, and how many seconds the keepers' next report settles.
	Freed     market.USDC
	Unsettled uint32
}

// Stop ends a lease that runs, and signs its last receipt.
func (b *Buyer) Stop(ctx context.Context, lease solana.PublicKey) (Stopped, error) {
	v, l, stop, err := b.own(ctx, lease, query.Kind(market.KindKeeper))
	if err != nil {
		return Stopped{}, err
	}
	defer stop()
	switch l.State() {
	case market.LeaseAwarded:
		return Stopped{}, refused(fmt.Sprintf("lease %s has not started yet", l.Address), "its machine starts it within half of the start deadline, with or without its job: bring the job with gantry resume, or stop it then")
	case market.LeaseEnded:
		return Stopped{}, refused(fmt.Sprintf("lease %s is over already (%s)", l.Address, l.Reason()), "")
	}
	return b.end(ctx, v, l)
}

// own is a lease of the customer in a live view of it, until stop is called.
func (b *Buyer) own(ctx context.Context, lease solana.PublicKey, also ...chain.Filter) (v *view.View, l market.Lease, stop func(), err error) {
	if _, err := b.market(ctx); err != nil {
		return nil, l, nil, err
	}
	if v, stop, err = b.service.Live(ctx, view.With(also, lease)); err != nil {
		return nil, l, nil, err
	}
	l, ok := v.Lease(lease)
	switch {
	case !ok:
		err = refused(fmt.Sprintf("lease %s does not exist (any more)", lease), "its history is in: gantry audit "+lease.String())
	case l.Customer != b.customer:
		err = refused(fmt.Sprintf("lease %s belongs to %s, not to your wallet %s", l.Address, l.Customer, b.customer), "pass the customer's keypair with --keypair, or a session key of it with --session")
	}
	if err != nil {
		stop()
	}
	return v, l, stop, err
}

// end ends a lease that runs.
func (b *Buyer) end(ctx context.Context, v *view.View, l market.Lease) (Stopped, error) {
	before, err := b.credits(ctx, l.Customer)
	if err != nil {
		return Stopped{}, err
	}
	instruction, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: b.signer.PublicKey(), Lease: l})
	tx, err := b.sendOne(ctx, "lease_end", instruction, err)
	if err != nil {
		return Stopped{}, err
	}
	after, err := b.credits(ctx, l.Customer)
	if err != nil {
		return Stopped{}, err
	}
	if err := v.WaitFor(ctx, func(v *view.View) bool {
		cur, ok := v.Lease(l.Address)
		if ok {
			l = cur
		}
		return !ok || cur.State() == market.LeaseEnded
	}); err != nil {
		return Stopped{}, err
	}
	b.tell(Ended{Lease: l.Address, Signature: tx.Signature})
	if l.Reason() != market.EndedFailed { // a machine that is gone signs nothing
		if r, err := b.dial(ctx, v); err == nil {
			if last := b.lastReceipt(ctx, r, l.Address); last.Address == l.Address {
				l = last
			}
			r.Close()
		}
	}
	out := Stopped{Lease: service.DescribeLease(v, &l, b.service.Clock.Latest(ctx).Unix()), Freed: after.Free() - min(after.Free(), before.Free())}
	out.Lease.Tx = &tx
	if due := l.BillableSecs(l.EndedAt); l.PaidSecs < due {
		out.Unsettled = due - l.PaidSecs
	}
	return out, nil
}

// MayExtend is why a lease cannot have more time, before anything is sent; nil where it can.
func (b *Buyer) MayExtend(ctx context.Context, l *market.Lease, seconds uint32) error {
	if l.State() != market.LeaseRunning {
		return refused(fmt.Sprintf("lease %s is %s; only one that runs is extended", l.Address, l.State()), "order anew")
	}
	cost, err := l.ExtensionCost(seconds)
	if err != nil {
		return usage("the lease cannot be so long", "a lease is from one second up to one year; set less time")
	}
	c, err := b.credits(ctx, l.Customer)
	if err != nil {
		return err
	}
	if c.Free() < cost {
		return refused(fmt.Sprintf("extension refused: %s USDC needed, %s free%s", cost, c.Free(), service.ReservedBy(c)),
			fmt.Sprintf("add %s with: gantry credits add %s      or give less time", cost-c.Free(), cost-c.Free()))
	}
	return nil
}

// Extension is the transaction that pays for more time of a lease that runs.
func (b *Buyer) Extension(ctx context.Context, l *market.Lease, seconds uint32) (operate.Action, error) {
	if err := b.MayExtend(ctx, l, seconds); err != nil {
		return operate.Action{}, err
	}
	cost, err := l.ExtensionCost(seconds)
	if err != nil {
		return operate.Action{}, err
	}
	instruction, err := b.extension(l, seconds)
	longer := service.Span(int64(seconds))
	a, err := operate.NewAction("lease_extend", l.Address, fmt.Sprintf("%s longer, %s USDC reserved", longer, cost), instruction, err)
	a.Asks = fmt.Sprintf("extend   lease %s by %s for %s USDC of the credits", l.Address, longer, cost)
	return a, err
}

func (b *Buyer) extension(l *market.Lease, seconds uint32) (solana.Instruction, error) {
	return ix.LeaseExtend(ix.LeaseExtendArgs{Lease: *l, Authority: b.authority, Seconds: seconds})
}

// Extend pays for more time of a lease that runs. key stands for the extension in the manager's store: repeated it is
// not paid again, and for another one it is refused.
func (b *Buyer) Extend(ctx context.Context, m *txm.Manager, key string, lease solana.PublicKey, seconds uint32) (service.Lease, error) {
	v, err := b.service.Snapshot(ctx, view.With(nil, lease))
	if err != nil {
		return service.Lease{}, err
	}
	l, ok := v.Lease(lease)
	if !ok || l.Customer != b.customer {
		return service.Lease{}, refused(fmt.Sprintf("lease %s is not one of your wallet %s, or is closed", lease, b.customer), "see: gantry leases")
	}
	instruction, err := b.extension(&l, seconds)
	if err != nil {
		return service.Lease{}, err
	}
	in := txm.Intent{ID: "lease_extend-" + key, Kind: "lease_extend", Instructions: []solana.Instruction{instruction}}
	if _, err := m.Get(in.ID); errors.Is(err, txm.ErrUnknownIntent) {
		if err := b.MayExtend(ctx, &l, seconds); err != nil {
			return service.Lease{}, err
		}
	}
	tx, err := b.sender().Submit(ctx, m, in)
	if errors.Is(err, txm.ErrMismatch) {
		return service.Lease{}, refused(fmt.Sprintf("the key %q stands for another extension", key), "choose another Idempotency-Key")
	}
	if err != nil {
		return service.Lease{}, err
	}
	if l, err = query.Fetch[market.Lease](ctx, b.client, lease, b.client.WaitLevel()); err != nil {
		return service.Lease{}, err
	}
	now, err := b.client.Now(ctx)
	out := service.DescribeLease(v, &l, now)
	out.Tx = &tx
	return out, err
}
