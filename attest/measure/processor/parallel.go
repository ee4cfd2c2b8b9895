package processor

import (
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// parallel calls f with the numbers below n, each once, from a number of workers, until one fails or ctx ends. The workers of a
// device that simulates a GPU have threads of their own, whose time they note.
func (r *run) parallel(ctx context.Context, workers, n int, f func(worker, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for w := range workers {
		group.Go(func() error {
			if r.device.simulates {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				began := threadTime()
				defer func() { r.spent.Add(int64(threadTime() - began)) }()
			}
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := f(w, i); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}
