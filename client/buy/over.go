package buy

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// viewLag is how long a command waits for its view of the chain to show what is on it.
const viewLag = 15 * time.Second

// regionWait is how long an award waits to be told with the region of its machine.
const regionWait = 2 * time.Second

// overOnChain says how a lease ended, and what it costs, whose machine takes no job because it is over. A command that
// died may have brought the job: nothing is wrong then, and the caller continues with what the job has left.
func (d *deal) overOnChain(ctx context.Context, l market.Lease) error {
	ctx, cancel := context.WithTimeout(ctx, viewLag)
	defer cancel()
	var there bool
	err := d.v.WaitFor(ctx, func(v *view.View) bool {
		var cur market.Lease
		if cur, there = v.Lease(l.Address); there {
			l = cur
		}
		return !there || l.State() != market.LeaseAwarded && l.State() != market.LeaseRunning
	})
	switch {
	case d.ctx.Err() != nil:
		return d.ctx.Err()
	case err != nil:
		return refused(fmt.Sprintf("the machine of lease %s says that it is over, and on chain it is %s", l.Address, l.State()),
			fmt.Sprintf("continue a little later with gantry resume %s, or end it with gantry stop %s", d.order, l.Address))
	case !there:
		d.b.tell(LeaseOver{Lease: l, Closed: true})
	default:
		d.b.tell(LeaseOver{Lease: l})
	}
	return nil
}

// String says how the lease ended, and what it costs.
func (e LeaseOver) String() string {
	l := e.Lease
	if e.Closed {
		return fmt.Sprintf("lease %s is closed", l.Address)
	}
	secs := l.BillableSecs(l.EndedAt)
	cost, _ := market.Cost(market.PricePerHour(l.Price), l.Gpus, secs)
	why := l.State().String()
	if l.EndReason != 0 {
		why = l.Reason().String()
	}
	return fmt.Sprintf("lease %s ended at %s UTC (%s): %d s are billed, %s USDC", l.Address, service.When(l.EndedAt), why, secs, cost.Exact())
}

// closedLease is a lease that is not on chain any more, as its history says that it ended, or else as it was last seen.
func (d *deal) closedLease(l market.Lease) market.Lease {
	l, _, err := d.b.closedLease(d.ctx, l)
	if err != nil {
		d.b.tell(HistoryUnread{Lease: l.Address, Err: err})
	}
	return l
}

// closedLease is a lease that is not on chain any more, with what its history says. known: the history has its end.
func (b *Buyer) closedLease(ctx context.Context, l market.Lease) (_ market.Lease, known bool, err error) {
	history, err := audit.Read(ctx, b.client, l.Address, b.client.WaitLevel())
	if err == nil {
		err = audit.Unread(history)
	}
	l.Lease.Status = uint8(market.LeaseEnded)
	for _, tx := range history {
		for _, e := range tx.Events {
			switch v := e.Value.(type) {
			case *bindings.LeaseStarted:
				if v.Lease == l.Address {
					l.StartedAt = v.StartedAt
				}
			case *bindings.LeaseEnded:
				if v.Lease == l.Address {
					l.EndReason, l.EndedAt, known = v.Reason, v.EndedAt, true
				}
			case *bindings.LeaseAborted:
				known = known || v.Lease == l.Address
			case *bindings.LeaseDeclined:
				known = known || v.Lease == l.Address
			case *bindings.LeaseClosed:
				if v.Lease == l.Address {
					l.Paid, l.PaidSecs = v.Paid, v.PaidSecs
				}
			}
		}
	}
	return l, known, err
}

// ExitCode is how the job of a lease ended, where a command with this folder followed it to its end; otherwise nil.
func ExitCode(f *purchase.Folder, lease solana.PublicKey) (*int, error) {
	all, err := f.All()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Result == nil {
			continue
		}
		var out Outcome
		if err := json.Unmarshal(all[i].Result, &out); err != nil {
			return nil, fmt.Errorf("%w: how order %s ended: %w", purchase.ErrRecord, all[i].Order, err)
		}
		for _, l := range out.Leases {
			if l.Address == lease.String() && l.ExitCode != nil {
				code := int(*l.ExitCode)
				return &code, nil
			}
		}
	}
	return nil, nil
}
