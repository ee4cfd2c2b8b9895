package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/inference"
	"github.com/gantry-market/gantry/sdk/market"
)

// models is the service of models on leases, with its database in the folder; the returned function closes that.
func (b *budgets) models(store *serve.Store) (*inference.Service, func() error, error) {
	deployments, err := inference.OpenStore(filepath.Join(b.main.folder.Dir(), "inference.db"), b.main.Key.PublicKey())
	if err != nil {
		return nil, nil, err
	}
	models, err := inference.New(inference.Options{
		Store: deployments, Compute: renter{b}, Admits: serve.OpenAI(store, b.team), Log: b.main.Log,
		Now: func() time.Time { return b.main.Service.Clock.Latest(b.ctx) },
	})
	if err != nil {
		return nil, nil, errors.Join(err, deployments.Close())
	}
	return models, deployments.Close, nil
}

// renter rents replicas each with the key of its deployment's budget.
type renter struct{ *budgets }

// ofLease is who acts on a lease: with the key with which it was bought.
func (b renter) ofLease(ctx context.Context, lease solana.PublicKey) (*extender, service.Lease, error) {
	l, err := b.main.Service.Lease(ctx, b.main.Customer, lease)
	if err != nil {
		return nil, l, err
	}
	order, err := solana.PublicKeyFromBase58(l.Order)
	if err != nil {
		return nil, l, fmt.Errorf("order of lease %s: %w", lease, err)
	}
	name, err := b.Bought(order)
	if err != nil {
		return nil, l, err
	}
	by, err := b.of(name)
	return by, l, err
}

// Buy implements inference.Compute.
func (b renter) Buy(ctx context.Context, name string, order json.RawMessage) (string, error) {
	var r serve.ReplicaOrder
	if err := json.Unmarshal(order, &r); err != nil {
		return "", fmt.Errorf("order of %s: %w", name, err)
	}
	by, err := b.of(r.Budget)
	if err != nil {
		return "", err
	}
	bought, err := by.Buy(ctx, name, r.OrderRequest)
	if err != nil {
		return "", err
	}
	if len(bought.Leases) == 0 {
		return "", fmt.Errorf("order %s: %w", bought.Order, inference.ErrOver)
	}
	// A lease that the service does not show yet would be taken for one that is over.
	if err := b.main.Service.Await(ctx, bought.Leases...); err != nil {
		return "", err
	}
	return bought.Leases[0].Address, nil
}

// Abandon implements inference.Compute.
func (b renter) Abandon(ctx context.Context, name string) error {
	// Its name is known to the budget that has bought it; to the others it is none.
	all, err := b.all()
	for _, by := range all {
		err = errors.Join(err, by.b.Abandon(ctx, name))
	}
	return err
}

// Lease implements inference.Compute.
func (b renter) Lease(ctx context.Context, lease string) (inference.Lease, error) {
	key, err := solana.PublicKeyFromBase58(lease)
	if err != nil {
		return inference.Lease{}, fmt.Errorf("lease %q: %w", lease, err)
	}
	l, err := b.main.Service.Lease(ctx, b.main.Customer, key)
	if errors.Is(err, service.ErrNoLease) {
		return inference.Lease{}, inference.ErrOver
	}
	if err != nil {
		return inference.Lease{}, err
	}
	return replicaLease(&l)
}

// replicaLease is what a replica has to know of a lease.
func replicaLease(l *service.Lease) (inference.Lease, error) {
	if l.Status != market.LeaseAwarded.String() && l.Status != market.LeaseRunning.String() {
		return inference.Lease{}, fmt.Errorf("%w: it is %s", inference.ErrOver, l.Status)
	}
	price, err := market.ParsePrice(l.Price)
	if err != nil {
		return inference.Lease{}, fmt.Errorf("price of lease %s: %w", l.Address, err)
	}
	out := inference.Lease{PerHour: market.USDC(uint64(price) * uint64(l.GPUs)), Until: time.Unix(l.FundedUntil, 0)}
	if l.FundedUntil == 0 {
		out.Until = time.Time{}
	}
	return out, nil
}

// Extend implements inference.Compute: the budget that has bought the lease pays for more of it.
func (b renter) Extend(ctx context.Context, key, lease string, more time.Duration) (inference.Lease, error) {
	address, err := solana.PublicKeyFromBase58(lease)
	if err != nil {
		return inference.Lease{}, fmt.Errorf("lease %q: %w", lease, err)
	}
	by, _, err := b.ofLease(ctx, address)
	if err != nil {
		return inference.Lease{}, err
	}
	l, err := by.Extend(ctx, key, address, uint32(more/time.Second))
	if err != nil {
		return inference.Lease{}, err
	}
	// A service that shows the time of before would have it extended again, by the same key.
	if err := b.main.Service.Await(ctx, l); err != nil {
		return inference.Lease{}, err
	}
	return replicaLease(&l)
}

// Stop implements inference.Compute.
func (b renter) Stop(ctx context.Context, lease string) error {
	key, err := solana.PublicKeyFromBase58(lease)
	if err != nil {
		return fmt.Errorf("lease %q: %w", lease, err)
	}
	by, l, err := b.ofLease(ctx, key)
	if errors.Is(err, service.ErrNoLease) || (err == nil && l.Status == market.LeaseEnded.String()) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = by.Stop(ctx, key)
	return err
}

// Connect implements inference.Compute.
func (b renter) Connect(ctx context.Context, lease string) (inference.Connection, error) {
	address, err := solana.PublicKeyFromBase58(lease)
	if err != nil {
		return nil, fmt.Errorf("lease %q: %w", lease, err)
	}
	by, _, err := b.ofLease(ctx, address)
	if err != nil {
		return nil, err
	}
	c, w, err := by.enter(ctx, address)
	if err != nil {
		return nil, err
	}
	return &connection{container.NewPorts(c), w.stop}, nil
}

// connection leads to the ports of one container.
type connection struct {
	*container.Ports
	stop func()
}

// Close implements inference.Connection.
func (c *connection) Close() error {
	c.Ports.Close()
	c.stop()
	return nil
}
