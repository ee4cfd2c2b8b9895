package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// load is what customers do while operators work.
type load struct {
	mu     sync.Mutex
	done   int
	failed []string
	paused bool // no orders are placed: customers have no credits yet, or the market is paused
}

func (l *load) set(paused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = paused
}

func (l *load) note(began time.Duration, err error, pausedBefore bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.done++
	case pausedBefore || l.paused:
	default:
		l.failed = append(l.failed, fmt.Sprintf("an order of %s after the start: %v", began.Round(time.Second), err))
	}
}

func (l *load) isPaused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.paused
}

func (l *load) finished() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done
}

// shortOrders buys one short lease after the other, each to its end, until ctx ends.
func (r *rehearsal) shortOrders(ctx context.Context, w seed.Wallet) error {
	for ctx.Err() == nil {
		began, paused := time.Since(r.began), r.load.isPaused()
		if paused {
			_ = wait.For(ctx, 200*time.Millisecond)
			continue
		}
		// The order is finished also when the rehearsal is over meanwhile: a command that is interrupted leaves a lease.
		out, err := r.net.Gantry(context.WithoutCancel(ctx), w, "deploy", "--gpu", "H100", "--count", "1", "--max-price", "3", "--duration", "10m", "--allow-simulated",
			"--run-to-completion", "--", "sh", "-c", "sleep 2; echo done")
		r.load.note(began, errors.Join(err, out.Err()), paused)
	}
	return nil
}

// longLease begins a lease that has to outlive everything.
func (r *rehearsal) longLease(ctx context.Context, w seed.Wallet) error {
	out, err := r.net.Gantry(ctx, w, "deploy", "--gpu", "A100", "--count", "1", "--max-price", "2", "--duration", "1h", "--allow-simulated", "--detach",
		"--", "sh", "-c", "while :; do date; sleep 1; done")
	if err = errors.Join(err, out.Err()); err != nil {
		return err
	}
	return r.until(ctx, "the long lease runs", func(v *view.View) bool {
		for _, l := range v.LeasesOfCustomer(w.Address()) {
			if l.State() == market.LeaseRunning {
				r.long = l
				return true
			}
		}
		return false
	})
}

// lives checks that the long lease runs, and that it was paid for since.
func (r *rehearsal) lives(ctx context.Context) error {
	before, ok := r.view.Lease(r.long.Address)
	if !ok || before.State() != market.LeaseRunning {
		return fmt.Errorf("the long lease %s does not run any more: %v", r.long.Address, before.State())
	}
	return r.until(ctx, "the long lease is paid for more seconds", func(v *view.View) bool {
		l, ok := v.Lease(r.long.Address)
		return ok && l.State() == market.LeaseRunning && l.PaidSecs > before.PaidSecs
	})
}

// trade waits for another short order from its beginning to its end.
func (r *rehearsal) trade(ctx context.Context) error {
	was := r.load.finished()
	return poll(ctx, "two more orders are served", func() (bool, error) { return r.load.finished() >= was+2, nil })
}

// stopped ends the long lease and waits until all leases are closed or over.
func (r *rehearsal) stopped(ctx context.Context, w seed.Wallet) error {
	out, err := r.net.Gantry(ctx, w, "stop", r.long.Address.String())
	if err = errors.Join(err, out.Err()); err != nil {
		return err
	}
	return r.until(ctx, "the long lease has ended", func(v *view.View) bool {
		l, ok := v.Lease(r.long.Address)
		return !ok || l.State() == market.LeaseEnded
	})
}

func short(k solana.PublicKey) string { return k.String()[:4] + "…" }
