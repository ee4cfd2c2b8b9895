package buy

import (
	"context"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
)

// awaitServing tells when the program of a lease answers its health check, or that it does not within its time. The lease runs, and
// is billed, meanwhile. It works until end is called, which waits.
func (d *deal) awaitServing(ctx context.Context, l market.Lease) (end func()) {
	probe := d.r.health
	cur, ok := d.v.Lease(l.Address) // as it runs
	if probe == nil || d.b.o.Serves == nil || !ok {
		return func() {}
	}
	cur.Node = l.Node
	return beside(ctx, func(ctx context.Context) {
		within, stop := context.WithTimeout(ctx, time.Duration(probe.Deadline))
		defer stop()
		began := time.Now()
		err := d.b.o.Serves(within, d.remote, cur, *probe)
		switch {
		case err == nil:
			d.b.tell(Serving{Lease: cur, Probe: *probe, After: time.Since(began)})
		case ctx.Err() == nil:
			d.b.tell(NotServing{Lease: cur, Probe: *probe, Err: err})
		}
	})
}
