package processor

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// parallel calls f with the numbers below n, each once, from a number of workers, until one fails or ctx ends.
func parallel(ctx context.Context, workers, n int, f func(worker, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for w := range workers {
		group.Go(func() error {
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
