package demo

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// audits collects what is audited at the end.
type audits struct {
	mu   sync.Mutex
	list []audited
}

// audited is a lease, an auction or a slash with the command that audits it.
type audited struct {
	command  []string
	customer seed.Wallet
	what     string
}

func (l *audits) add(of audited) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, of)
}

// describeAward says who got an order, from the award's own event.
func (d *demo) describeAward(ctx context.Context, step int, lease market.Lease, node *network.Machine) error {
	history, err := d.past(ctx, lease.Address)
	if err != nil {
		return err
	}
	award, event, ok := invariants.Find(history, func(e *bindings.LeaseAwarded) bool { return e.Lease == lease.Address })
	if !d.expect.that(ok, "the award of "+short(lease.Address)+" is in its history") {
		return nil
	}
	keeper := "a keeper"
	for i, k := range d.net.Keys.Keepers {
		if k.Address() == event.Keeper {
			keeper = fmt.Sprintf("keeper %d", i+1)
		}
	}
	d.out.note(step, fmt.Sprintf("awarded to %s (%s) at %s $/GPU-h by %s, score %d   %s",
		node.Name, short(lease.Node), market.PricePerHour(event.Price), keeper, event.Score, tx(award.Signature)))
	return nil
}

// closed waits until a lease is closed, and checks what its closing event says against the lease's own terms.
func (d *demo) closed(ctx context.Context, step int, lease market.Lease) error {
	_, err := d.leaseWhere(ctx, 60*time.Second, lease.Address, "to be closed", func(_ market.Lease, exists bool) bool { return !exists })
	if err != nil {
		return err
	}
	history, err := d.past(ctx, lease.Address)
	if err != nil {
		return err
	}
	done, event, ok := invariants.Find(history, func(e *bindings.LeaseClosed) bool { return e.Lease == lease.Address })
	if !d.expect.that(ok, "the close of "+short(lease.Address)+" is in its history") {
		return nil
	}
	cost, err := market.Cost(market.PricePerHour(lease.Price), lease.Gpus, event.PaidSecs)
	if err != nil {
		return err
	}
	equal(d.expect, market.USDC(event.Paid), cost, fmt.Sprintf("lease %s cost price × seconds", short(lease.Address)))
	var settled uint64
	sources := map[market.SettleSource]bool{}
	for _, t := range history.Transactions {
		for _, e := range t.Events {
			if s, ok := e.(*bindings.LeaseSettled); ok && s.Lease == lease.Address {
				settled += s.ProviderAmount
				if s.ProviderAmount > 0 {
					sources[market.SettleSource(s.Source)] = true
				}
			}
		}
	}
	equal(d.expect, settled+event.Fee, event.Paid, fmt.Sprintf("lease %s: provider's share and fee are all that was paid", short(lease.Address)))
	var by []string
	for _, s := range []market.SettleSource{market.SourceReceipt, market.SourceReport} {
		if sources[s] {
			by = append(by, s.String()+"s")
		}
	}
	d.out.note(step, fmt.Sprintf("closed: %d s paid by %s = %s USDC (provider %s, fee %s), %s back   %s",
		event.PaidSecs, strings.Join(by, " and "), market.USDC(event.Paid).Exact(), market.USDC(settled).Exact(),
		market.USDC(event.Fee).Exact(), market.USDC(event.Released).Exact(), tx(done.Signature)))
	return nil
}

// settledBy reports whether a settlement from the source paid anything on the lease.
func (d *demo) settledBy(ctx context.Context, lease solana.PublicKey, source market.SettleSource) (bool, error) {
	history, err := d.past(ctx, lease)
	if err != nil {
		return false, err
	}
	_, _, ok := invariants.Find(history, func(e *bindings.LeaseSettled) bool {
		return e.Lease == lease && market.SettleSource(e.Source) == source && e.ProviderAmount > 0
	})
	return ok, nil
}

// rate gives stars, waits for them on chain, and checks that the node's record has them.
func (d *demo) rate(ctx context.Context, step int, customer seed.Wallet, lease market.Lease, stars int) error {
	if _, err := d.gantry(ctx, customer, "rate", lease.Address.String(), fmt.Sprint(stars)); err != nil {
		return err
	}
	history, err := d.past(ctx, lease.Address)
	if err != nil {
		return err
	}
	rated, event, ok := invariants.Find(history, func(e *bindings.LeaseRated) bool { return e.Lease == lease.Address })
	if d.expect.that(ok, "the rating of "+short(lease.Address)+" is on chain") {
		equal(d.expect, int(event.Stars), stars, "the stars of lease "+short(lease.Address))
		d.out.note(step, fmt.Sprintf("rated %s by %s   %s", strings.Repeat("★", stars), customer.Name, tx(rated.Signature)))
	}
	return nil
}
