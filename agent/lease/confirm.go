package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
)

// errUnconfirmed: a time seems to be over, and the chain does not say so.
var errUnconfirmed = errors.New("a time of the lease seems to be over, but the chain cannot be asked: the agent ends nothing now; the sandbox ends the job by its own limit soon after, and nobody pays for that time: check the RPC endpoints, or add another one with --url")

// said is what time the chain named last, and when by the manager's clock.
type said struct{ chain, at time.Time }

// confirmEvery is how often the chain is asked whether a time is over, at most.
const confirmEvery = time.Second

// decide names the next action. Before something ends because its time is over, the lease and the time are read from
// the chain: the clock that the worker goes by may be wrong, and the customer may have paid for more.
func (w *worker) decide(ctx context.Context, f Facts) (Decision, Facts, error) {
	d := Decide(f)
	if !d.Late || w.m.o.Confirm == nil {
		return d, f, nil
	}
	now, err := w.confirmed(ctx)
	if err != nil {
		return Decision{}, f, fmt.Errorf("%w: %w", errUnconfirmed, err)
	}
	if now.Before(f.Now) {
		f.Now = now
	}
	account, exists := w.m.o.Chain.Lease(w.address)
	switch {
	case !exists: // whether it is gone is another question, which is asked until the answer is final
		f.Exists = false
	case account.AwardedAt == f.Account.AwardedAt:
		f.Account = account
	default:
		f.Exists, f.Later = false, true
	}
	again := Decide(f)
	if d.Action != Wait && again.Action == Wait && f.Account.State() == market.LeaseRunning {
		w.log.Debug().Time("chain", now).Int64("funded_until", f.Account.FundedUntil).Msg("the chain says that the lease is still paid for")
	}
	return again, f, nil
}

// confirmed reads the lease, so that Chain.Lease shows it, and the time.
func (w *worker) confirmed(ctx context.Context) (time.Time, error) {
	now := w.m.o.Now()
	if age := now.Sub(w.said.at); !w.said.at.IsZero() && age >= 0 && age < confirmEvery {
		return w.said.chain.Add(age), nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if err := w.m.o.Chain.Look(ctx, w.address); err != nil {
		return time.Time{}, err
	}
	t, err := w.m.o.Confirm(ctx)
	if err != nil {
		return time.Time{}, err
	}
	w.said = said{chain: t, at: w.m.o.Now()}
	return t, nil
}

// left is for how long a lease that runs is still paid for: never less than nothing, nor more than all of its time.
// Where the chain cannot be asked it is all of it: the limit of the runtime is there for a machine without an agent,
// and must not end what is paid for.
func (w *worker) left(ctx context.Context, f Facts) time.Duration {
	funded := time.Unix(f.Account.FundedUntil, 0)
	whole := max(0, funded.Sub(time.Unix(f.Account.StartedAt, 0)))
	now := f.Now
	if w.m.o.Confirm != nil {
		ctx, cancel := context.WithTimeout(ctx, lookTimeout)
		defer cancel()
		t, err := w.m.o.Confirm(ctx)
		if err != nil {
			w.log.Debug().Err(err).Msg("the chain's time cannot be read; the job's limit is all of the lease's time")
			return whole
		}
		now = t
	}
	return min(max(0, funded.Sub(now)), whole)
}
