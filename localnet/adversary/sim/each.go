package sim

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Each plays runs, some at the same time, and reports their results in order. An error of a run or of report ends it.
func Each(ctx context.Context, runs, parallel int, options func(i int) Options, report func(*Result) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel + 1)
	results := make([]chan *Result, runs)
	for i := range results {
		results[i] = make(chan *Result, 1)
	}
	g.Go(func() error {
		for _, c := range results {
			select {
			case r := <-c:
				if err := report(r); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for i := range runs {
		g.Go(func() error {
			r, err := Run(ctx, options(i))
			if err == nil {
				results[i] <- r
			}
			return err
		})
	}
	return g.Wait()
}
