package buy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Abandon ends what the purchases of a name have come to: an order that waits is cancelled, a lease that runs is
// ended. An error says that it is not over yet; then it is to be repeated.
func (b *Buyer) Abandon(ctx context.Context, name string) error {
	all, err := b.folder.All()
	found := false
	for _, p := range all {
		if p.Name != name {
			continue
		}
		found = true
		if err := b.abandonOne(ctx, p.Order); err != nil {
			return err
		}
	}
	if !found && err != nil { // it may be the one that cannot be read
		return err
	}
	return nil
}

func (b *Buyer) abandonOne(ctx context.Context, order solana.PublicKey) error {
	held, err := b.folder.Hold(order)
	if err != nil {
		return fmt.Errorf("order %s: %w", order, err)
	}
	defer held.Release()
	p, err := held.Read()
	if err != nil {
		return err
	}
	if err := b.endLeases(ctx, order); err != nil {
		return err
	}
	o, exists, err := query.Find[market.Order](ctx, b.client, order, b.client.WaitLevel())
	if err != nil {
		return err
	}
	now, err := b.client.Now(ctx)
	if err != nil {
		return err
	}
	if exists && o.Unused() {
		if err := o.CanCancel(now); err != nil { // its machines are drawn: it has leases soon, or expires
			return fmt.Errorf("order %s cannot be cancelled now; try again when it is awarded or expired: %w", order, err)
		}
		instruction, err := ix.OrderCancelBy(o, b.signer.PublicKey())
		if _, err = b.sendOne(ctx, "order_cancel", instruction, err); err != nil {
			return err
		}
	}
	if !exists && p.Stage == purchase.Intended {
		if err := b.settled(ctx, held); err != nil {
			return err
		}
	}
	if p.Stage == purchase.Over {
		return nil
	}
	p.End(service.CodeRefused, "it is not wanted any more", nil)
	return held.Write(p)
}

// endLeases ends the leases of an order that run.
func (b *Buyer) endLeases(ctx context.Context, order solana.PublicKey) error {
	if _, err := b.market(ctx); err != nil {
		return err
	}
	v, stop, err := b.service.Live(ctx, view.With([]chain.Filter{query.LeasesOfOrder(order)}, order))
	if err != nil {
		return err
	}
	defer stop()
	for _, l := range v.LeasesOfOrder(order) {
		switch l.State() {
		case market.LeaseEnded:
		case market.LeaseAwarded:
			return refused(fmt.Sprintf("lease %s has not started yet, and cannot be ended before", l.Address), "it starts, or is aborted, within the start deadline")
		default:
			if _, err := b.end(ctx, v, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// settled is an error while a transaction of a purchase may still take effect.
func (b *Buyer) settled(ctx context.Context, held *purchase.Held) error {
	genesis, err := b.client.Genesis(ctx)
	if err != nil {
		return err
	}
	store, err := txm.OpenStore(held.Transactions(), genesis)
	if err != nil {
		return err
	}
	open := false
	err = store.Entries(func(e txm.Entry) error {
		waits, err := b.leftover(ctx, e)
		open = open || waits
		return err
	})
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	if open {
		return refused("its order may still take effect", "try again in a minute")
	}
	return nil
}

// leftover reports the fate of one transaction of an earlier process; open means that it may still take effect.
func (b *Buyer) leftover(ctx context.Context, e txm.Entry) (open bool, err error) {
	l, open, err := leftoverOf(ctx, b.client, e)
	if err == nil && l != nil {
		b.tell(*l)
	}
	return open, err
}

// leftoverOf is the fate of one transaction of an earlier process, nil where nothing is left of it; open means that it
// may still take effect.
func leftoverOf(ctx context.Context, c *chain.Client, e txm.Entry) (l *Leftover, open bool, err error) {
	if e.Current == nil || e.State.Terminal() {
		return nil, false, nil
	}
	fate, st, err := c.Fate(ctx, e.Current.Signature, e.Current.LastValid, e.Current.SinceSlot)
	if err != nil {
		return nil, true, err
	}
	l = &Leftover{Kind: e.Kind, Created: e.Created, Signature: e.Current.Signature}
	switch {
	case fate == chain.FateLanded && st.Err != nil:
		l.Fate = "it was refused"
	case fate == chain.FateLanded:
		l.Fate = "it took effect"
	case fate == chain.FateDead:
		l.Fate = "it did not take effect and cannot any more"
	case fate == chain.FateUncertain:
		l.Fate = "this node does not remember whether it took effect; look at your account"
	default:
		l.Fate = "it may still take effect, wait a minute before you repeat it"
		open = true
	}
	return l, open, nil
}

// Leftovers tells what became of the transactions of processes that died while they waited for them, which are in the stores of a folder,
// and forgets those that can take effect no more. A store that cannot be read is told to unread, and left.
func Leftovers(ctx context.Context, c *chain.Client, folder string, genesis solana.Hash, tell func(Event), unread func(error)) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.db"))
	if err != nil {
		return fmt.Errorf("transactions of earlier commands: %w", err)
	}
	for _, path := range files {
		if purchase.InUse(path) {
			continue
		}
		store, err := txm.OpenStore(path, genesis)
		if err != nil {
			unread(err)
			continue
		}
		keep := false
		err = store.Entries(func(e txm.Entry) error {
			l, open, err := leftoverOf(ctx, c, e)
			if err == nil && l != nil {
				tell(*l)
			}
			keep = keep || open
			return err
		})
		if err = errors.Join(err, store.Close()); err != nil {
			return err
		}
		if !keep {
			_ = os.Remove(path)
		}
	}
	return nil
}
