package schedule

import (
	"context"
	"sync"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
)

// Runner starts things and lets time pass.
type Runner interface {
	// Go runs f beside the caller. The caller must be able to wait for it.
	Go(f func())
	// All runs all of fs beside each other and returns when the last has.
	All(fs ...func())
	// Timeout is context.WithTimeout.
	Timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// Sleep waits for d. The error is the context's, when that ends before.
	Sleep(ctx context.Context, d time.Duration) error
}

// System is the Runner of goroutines and the wall clock.
type System struct{}

// Go implements Runner.
func (System) Go(f func()) { go f() }

// All implements Runner.
func (System) All(fs ...func()) {
	var wg sync.WaitGroup
	for _, f := range fs {
		wg.Go(f)
	}
	wg.Wait()
}

// Timeout implements Runner.
func (System) Timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// Sleep implements Runner.
func (System) Sleep(ctx context.Context, d time.Duration) error {
	return wait.For(ctx, d)
}

// Or returns r, or System when there is none.
func Or(r Runner) Runner {
	if r == nil {
		return System{}
	}
	return r
}
