package buy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"time"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

const (
	// renewAhead is how long before the end of its paid time a lease is extended, at most; renewAheadLeast is the least.
	renewAhead, renewAheadLeast = 10 * time.Minute, 5 * time.Second
	// renewAgain is the time between tries.
	renewAgain = 10 * time.Second
)

// Events of a lease that is extended until it is stopped.
type (
	// Renewed: the lease has more time.
	Renewed struct {
		Lease   market.Lease
		Seconds uint32
		Cost    market.USDC
	}
	// NotRenewed: the lease ends with its paid time, or another try follows.
	NotRenewed struct {
		Lease market.Lease
		Err   error
	}
)

func (Renewed) event()    {}
func (NotRenewed) event() {}

// checkRenewal checks what is extended again and again.
func (r *Request) checkRenewal() error {
	switch {
	case !r.UntilStopped && r.Budget != "":
		return usage("--budget bounds what extensions cost, and nothing is extended", "add --until-stopped, or leave --budget out")
	case !r.UntilStopped:
		return nil
	case r.Redundancy != 0 || r.Rerun != "":
		return usage("a redundant job has a fixed time", "leave --until-stopped out")
	}
	if _, err := r.budget(); err != nil {
		return err
	}
	return nil
}

// budget is the most that the purchase may cost; 0 for what the credits allow.
func (r *Request) budget() (market.USDC, error) {
	if r.Budget == "" {
		return 0, nil
	}
	most, err := market.ParseUSDC(r.Budget)
	if err == nil && most == 0 {
		err = errors.New("it is 0")
	}
	if err != nil {
		return 0, usage(fmt.Sprintf("--budget: %v", err), "write USDC such as 25")
	}
	return most, nil
}

// renewing extends a lease while the caller attends it. The returned function ends that.
func (d *deal) renewing(ctx context.Context, l market.Lease) (end func()) {
	if !d.p.UntilStopped {
		return func() {}
	}
	return beside(ctx, func(ctx context.Context) { d.b.renew(ctx, d.v, l, d.p.Args.Duration, d.renewOnce) })
}

// renew extends a lease of an order of so many seconds by once, shortly before its paid time ends, until ctx ends, the lease is
// over, or once says that nothing is left.
func (b *Buyer) renew(ctx context.Context, v *view.View, l market.Lease, secs uint32, once func(context.Context, market.Lease) (more bool, err error)) {
	ahead := max(min(time.Duration(secs)*time.Second/4, renewAhead), renewAheadLeast)
	said := ""
	for {
		cur, ok, err := started(ctx, v, l)
		if err != nil || !ok || cur.State() != market.LeaseRunning {
			return
		}
		more := true
		pause, err := b.renewalDue(ctx, &cur, ahead)
		if err == nil && pause == 0 {
			more, err = once(ctx, cur)
		}
		switch {
		case !more || ctx.Err() != nil:
			return
		case err == nil:
			said = ""
		default:
			pause = renewAgain
			if text := err.Error(); text != said {
				said = text
				b.tell(NotRenewed{Lease: cur, Err: err})
			}
		}
		if wait.For(ctx, pause) != nil {
			return
		}
	}
}

// renewalDue is how long an extension is not due yet; 0 where it is. Error: that of the chain.
func (b *Buyer) renewalDue(ctx context.Context, l *market.Lease, ahead time.Duration) (time.Duration, error) {
	now, err := b.client.Now(ctx)
	return max(0, time.Duration(l.FundedUntil-now)*time.Second-ahead), err
}

// renewOnce extends a lease by its order's time, or by what the budget leaves of it. more is false where nothing is left.
func (d *deal) renewOnce(ctx context.Context, l market.Lease) (more bool, err error) {
	key := fmt.Sprintf("%s-%d", l.Address, l.FundedUntil) // an extension that was sent and not seen is not sent again
	seconds, cost, err := d.book(key, &l)
	switch {
	case err != nil:
		return true, err
	case seconds == 0 && d.p.Budget == 0:
		d.b.tell(NotRenewed{Lease: l, Err: refused("a lease lasts a year at most", "order anew")})
		return false, nil
	case seconds == 0:
		d.b.tell(NotRenewed{Lease: l, Err: refused(fmt.Sprintf("the budget of %s USDC is used up", market.USDC(d.p.Budget)), "give a lease more time with: gantry extend "+l.Address.String())})
		return false, nil
	}
	m, closeBoth, err := d.b.sender().Open(ctx, filepath.Join(d.b.folder.Transactions(), "renew-"+key+".db"), 0)
	if err != nil {
		return true, err
	}
	done := false
	defer func() { closeBoth(!done) }()
	if _, err := d.b.Extend(ctx, m, key, l.Address, seconds); err != nil {
		return true, err
	}
	done = true
	d.b.tell(Renewed{Lease: l, Seconds: seconds, Cost: cost})
	return true, d.v.WaitFor(ctx, func(v *view.View) bool { // the extension is final before this program sees it
		next, ok := v.Lease(l.Address)
		return !ok || next.State() != market.LeaseRunning || next.FundedUntil > l.FundedUntil
	})
}

// book stores an extension before it is sent, so that the sum of all stays within the budget whatever happens to this program.
func (d *deal) book(key string, l *market.Lease) (seconds uint32, cost market.USDC, err error) {
	d.jobs.Lock()
	defer d.jobs.Unlock()
	if r, booked := d.p.Renewals[key]; booked {
		return r.Seconds, market.USDC(r.Cost), nil
	}
	seconds = min(d.p.Args.Duration, uint32(max(0, market.MaxDurationSecs-(l.FundedUntil-l.StartedAt))))
	if d.p.Budget != 0 {
		var all []purchase.Purchase
		if isCluster(&d.p) { // what was added to it takes of the budget: a record that cannot be read may be of that
			if all, err = d.b.folder.All(); err != nil {
				return 0, 0, err
			}
		}
		left, err := purchase.Left(&d.p, all)
		if err != nil {
			return 0, 0, err
		}
		if seconds, err = affordable(l, seconds, left); err != nil {
			return 0, 0, err
		}
	}
	if seconds == 0 {
		return 0, 0, nil
	}
	if cost, err = l.ExtensionCost(seconds); err != nil {
		return 0, 0, err
	}
	if d.p.Renewals == nil {
		d.p.Renewals = map[string]purchase.Renewal{}
	}
	d.p.Renewals[key] = purchase.Renewal{Seconds: seconds, Cost: uint64(cost)}
	return seconds, cost, d.held.Write(d.p)
}

// affordable is how many of so many seconds an amount pays for.
func affordable(l *market.Lease, seconds uint32, left market.USDC) (n uint32, err error) {
	return uint32(sort.Search(int(seconds), func(n int) bool {
		cost, e := l.ExtensionCost(uint32(n) + 1)
		err = cmp.Or(err, e)
		return e != nil || cost > left
	})), err
}
