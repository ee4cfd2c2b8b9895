package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// Tenancy is what a lease has of the machine, for its customer who wants to measure it.
type Tenancy struct {
	// GPUs is the mask of the lease's devices.
	GPUs uint64
	// StartsBy is half of the start deadline, when the lease starts; zero for one that has started.
	StartsBy time.Time
	// Job: the job has the GPUs.
	Job bool
}

// Tenancy says what a lease has of the machine to one of its customer's keys. Error: *RefusedError.
func (m *Manager) Tenancy(ctx context.Context, from, lease solana.PublicKey) (Tenancy, error) {
	l, err := m.awaitLease(ctx, lease)
	if err != nil {
		return Tenancy{}, err
	}
	if !m.o.Chain.ActsFor(from, l.Customer) {
		return Tenancy{}, refuse("the lease is of another customer")
	}
	t := Tenancy{GPUs: uint64(l.GpuMask)}
	switch l.State() {
	case market.LeaseAwarded:
		order, err := m.o.Chain.Order(ctx, l)
		if err != nil {
			return t, fmt.Errorf("order of lease %s: %w", lease, err)
		}
		since := order.AwardedAt
		if !order.Complete { // the deadline counts from the last award
			since = m.o.Now()
		}
		t.StartsBy = since.Add(order.StartDeadline / 2)
		return t, nil
	case market.LeaseRunning:
		job, err := m.jobOf(ctx, lease.String())
		t.Job = phase(job) == JobActive
		return t, err
	}
	return t, refuse("the lease is over")
}

// Ordered is the digest of the job that was ordered with a live lease, for one of its customer's keys. Error: *RefusedError.
func (m *Manager) Ordered(ctx context.Context, from, lease solana.PublicKey) ([32]byte, error) {
	l, err := m.awaitLease(ctx, lease)
	switch {
	case err != nil:
		return [32]byte{}, err
	case !m.o.Chain.ActsFor(from, l.Customer):
		return [32]byte{}, refuse("the lease is of another customer")
	case l.State() != market.LeaseAwarded && l.State() != market.LeaseRunning:
		return [32]byte{}, refuse("the lease is over")
	}
	order, err := m.o.Chain.Order(ctx, l)
	if err != nil {
		return [32]byte{}, fmt.Errorf("order of lease %s: %w", lease, err)
	}
	return order.Digest, nil
}

// Held reports whether a lease is awarded or runs.
func (m *Manager) Held(lease solana.PublicKey) bool {
	l, ok := m.o.Chain.Lease(lease)
	return ok && (l.State() == market.LeaseAwarded || l.State() == market.LeaseRunning)
}
