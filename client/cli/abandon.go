package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txm"
)

// abandon ends what the purchases of a name have come to: an order that waits is cancelled, a lease that runs is ended. An
// error says that it is not over yet; then it is to be repeated.
func (s *session) abandon(name string) error {
	key, err := s.wallet()
	if err != nil {
		return err
	}
	f, err := s.folder()
	if err != nil {
		return err
	}
	all, err := f.All()
	found := false
	for _, p := range all {
		if p.Name != name {
			continue
		}
		found = true
		if err := s.abandonOne(f, p.Order, key.PublicKey()); err != nil {
			return err
		}
	}
	if !found && err != nil { // it may be the one that cannot be read
		return err
	}
	return nil
}

func (s *session) abandonOne(f *purchase.Folder, order, authority solana.PublicKey) error {
	held, err := f.Hold(order)
	if err != nil {
		return fmt.Errorf("order %s: %w", order, err)
	}
	defer held.Release()
	p, err := held.Read()
	if err != nil {
		return err
	}
	v, err := s.live(view.With([]chain.Filter{query.LeasesOfOrder(order)}, order))
	if err != nil {
		return err
	}
	for _, l := range v.LeasesOfOrder(order) {
		switch l.State() {
		case market.LeaseEnded:
		case market.LeaseAwarded:
			return refused(fmt.Sprintf("lease %s has not started yet, and cannot be ended before", l.Address), "it starts, or is aborted, within the start deadline")
		default:
			if err := s.endLease(v, l, authority, func(io.Writer) {}); err != nil {
				return err
			}
		}
	}
	o, exists, err := query.Find[market.Order](s.ctx, s.client, order, s.waitLevel())
	if err != nil {
		return err
	}
	if exists && o.CanCancel() == nil {
		instruction, err := ix.OrderCancelBy(o, authority)
		if _, err = s.sendOne("order_cancel", instruction, err); err != nil {
			return err
		}
	}
	if !exists && p.Stage == purchase.Intended {
		if err := s.settled(held); err != nil {
			return err
		}
	}
	if p.Stage == purchase.Over {
		return nil
	}
	p.End(ExitRefused, "it is not wanted any more", nil)
	return held.Write(p)
}

// settled reports whether no transaction of a purchase may still take effect.
func (s *session) settled(held *purchase.Held) error {
	genesis, err := s.client.Genesis(s.ctx)
	if err != nil {
		return err
	}
	store, err := txm.OpenStore(held.Transactions(), genesis)
	if err != nil {
		return err
	}
	open := false
	err = store.Entries(func(e txm.Entry) error {
		waits, err := s.leftover(e)
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
