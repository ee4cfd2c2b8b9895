package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
)

// orders is what became of the orders.
type orders struct {
	mu       sync.Mutex
	placed   int
	finished int
	waited   int // moments at which every customer was busy
	failures map[string]int
	toStart  []time.Duration // from the order to the running job, as the customer's command took
}

func (o *orders) count(f func(*orders)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f(o)
}

// deposit is what each customer puts in at the start, USDC.
const deposit = "900"

// customer places the orders of one wallet, one after the other.
func customer(ctx context.Context, n *network.Network, w seed.Wallet, turns <-chan bool, o *orders) error {
	if out, err := n.Gantry(ctx, w, "credits", "add", deposit); err != nil || out.Err() != nil {
		return fmt.Errorf("%s: %w", w.Name, errors.Join(err, out.Err()))
	}
	for attached := range turns {
		o.count(func(o *orders) { o.placed++ })
		err := order(ctx, n, w, attached, o)
		if ctx.Err() != nil {
			return nil
		}
		o.count(func(o *orders) {
			if err == nil {
				o.finished++
				return
			}
			o.failures[variable.ReplaceAllString(err.Error(), "…")]++
		})
	}
	return nil
}

// order is one lease: either the customer stays until the job has ended, and signs receipts, or it goes away, and comes
// back to stop the job, so that reports have to pay.
func order(ctx context.Context, n *network.Network, w seed.Wallet, attached bool, o *orders) error {
	work := 5 + rand.IntN(20)
	args := []string{"deploy", "--gpu", "A100", "--count", "1", "--max-price", "2", "--duration", "10m", "--allow-simulated"}
	if attached {
		args = append(args, "--run-to-completion", "--", "sh", "-c", fmt.Sprintf("echo working; sleep %d; echo done", work))
	} else {
		args = append(args, "--detach", "--", "sh", "-c", "echo working; while :; do sleep 1; done")
	}
	out, err := n.Gantry(ctx, w, args...)
	if err = errors.Join(err, out.Err()); err != nil {
		return errors.Join(err, stopAll(ctx, n, w))
	}
	if attached {
		return nil
	}
	o.count(func(o *orders) { o.toStart = append(o.toStart, out.Took) })
	if err := wait.For(ctx, time.Duration(work)*time.Second); err != nil {
		return err
	}
	return stopAll(ctx, n, w)
}

// stopAll stops what runs for a customer.
func stopAll(ctx context.Context, n *network.Network, w seed.Wallet) error {
	out, err := n.Gantry(ctx, w, "leases")
	if err = errors.Join(err, out.Err()); err != nil {
		return err
	}
	var list []struct{ Address, Status string }
	if err := out.Decode(&list); err != nil {
		return err
	}
	for _, l := range list {
		if l.Status != "running" {
			continue
		}
		out, err := n.Gantry(ctx, w, "stop", l.Address)
		if err = errors.Join(err, out.Err()); err != nil {
			return err
		}
	}
	return nil
}
