// Package wait lets a goroutine pause without outliving its context.
package wait

import (
	"context"
	"time"
)

// For returns after d, or with the context's error as soon as ctx is done. A d of zero or less does not wait; the
// context's error is returned all the same, so that a loop with no pause ends too.
func For(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Again calls f, and calls it again after a pause as long as f asks for that and less than within has passed. Error: that
// of a context that ends in a pause.
func Again(ctx context.Context, within, pause time.Duration, f func() (again bool)) error {
	for late := time.Now().Add(within); f() && !time.Now().After(late); {
		if err := For(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}
