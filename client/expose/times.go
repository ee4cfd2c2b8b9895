package expose

import (
	"context"
	"time"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	// grantOrder is how far apart two programs may read the chain's time in the wrong order.
	grantOrder = time.Minute
	// forever is until when a grant lasts that ends with its lease.
	forever = int64(1) << 52
)

// grantTime is the chain's time for a grant, or for taking grants back: machines compare both with the chain's time,
// and this computer's date may be off. What this computer granted or took back last counts as before: a grant is later,
// and what takes it back is no earlier.
func (e *Exposer) grantTime(ctx context.Context, f *purchase.Folder, l market.Lease, grants bool) (time.Time, error) {
	now, err := e.o.Service.Clock.Fresh(ctx)
	if err != nil {
		return now, err
	}
	last, err := f.LastGrant(l.Order)
	if err != nil {
		return now, err
	}
	if grants {
		last++
	}
	return inOrder(now, time.UnixMilli(last)), nil
}

// inOrder is a time that is no earlier than another one, unless that was taken from a clock that was wrong.
func inOrder(now, last time.Time) time.Time {
	if last.After(now) && last.Sub(now) <= grantOrder {
		return last
	}
	return now
}

// grantTimes are when a grant is signed and when it ends, unix milliseconds; after 0 it ends with its lease.
func (e *Exposer) grantTimes(ctx context.Context, f *purchase.Folder, l market.Lease, after time.Duration) (issued, expiry int64, err error) {
	now, err := e.grantTime(ctx, f, l, true)
	if err != nil {
		return 0, 0, err
	}
	if after > 0 {
		return now.UnixMilli(), now.Add(after).UnixMilli(), nil
	}
	return now.UnixMilli(), forever, nil
}

// until is when a grant ends, unix seconds; 0 for with its lease.
func until(g records.Grant) int64 {
	if g.Expiry == forever {
		return 0
	}
	return g.Expiry / 1000
}
