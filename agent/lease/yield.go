package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/gantry-market/gantry/sdk/market"
)

// yield waits until the owner's own job has left the lease's GPUs.
func (w *worker) yield(ctx context.Context, f Facts) error {
	if w.m.o.Yield == nil {
		return nil
	}
	parent, limit, awarded := ctx, actTimeout, f.Account.State() == market.LeaseAwarded
	if awarded {
		limit = min(limit, imageBy(f.Order).Sub(f.Now))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := w.m.o.Yield(ctx, f.Entry.GPUMask)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("the owner's idle job still has the GPUs: %w", err)
	if awarded && !w.m.o.Now().Before(imageBy(f.Order)) && parent.Err() == nil { // a node that is silent is blamed
		w.noted = true // that says nothing of the image
		err = errors.Join(err, w.m.noteRefused(f.Account, market.DeclinedJob, err.Error()))
	}
	return err
}
