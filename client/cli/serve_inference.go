package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/inference"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

// models is the service of models on leases, with its database in the folder; the returned function closes that.
func (s *session) models(f *purchase.Folder, store *serve.Store, b *budgets) (*inference.Service, func() error, error) {
	key, err := s.wallet()
	if err != nil {
		return nil, nil, err
	}
	deployments, err := inference.OpenStore(filepath.Join(f.Dir(), "inference.db"), key.PublicKey())
	if err != nil {
		return nil, nil, err
	}
	models, err := inference.New(inference.Options{
		Store: deployments, Compute: renter{b}, Admits: serve.OpenAI(store, b.team), Log: s.log,
		Now: func() time.Time { return s.service.Clock.Latest(s.ctx) },
	})
	if err != nil {
		return nil, nil, errors.Join(err, deployments.Close())
	}
	return models, deployments.Close, nil
}

// renter rents replicas with the flows of the commands, each with the key of its deployment's budget.
type renter struct{ *budgets }

// ofLease is who acts on a lease: with the key with which it was bought.
func (b renter) ofLease(ctx context.Context, lease solana.PublicKey) (*extender, service.Lease, error) {
	l, err := b.s.service.Lease(ctx, b.s.actsFor, lease)
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
	if err := b.s.service.Await(ctx, bought.Leases...); err != nil {
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
	l, err := b.s.service.Lease(ctx, b.s.actsFor, key)
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
	if err := b.s.service.Await(ctx, l); err != nil {
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
	key, err := solana.PublicKeyFromBase58(lease)
	if err != nil {
		return nil, fmt.Errorf("lease %q: %w", lease, err)
	}
	by, _, err := b.ofLease(ctx, key)
	if err != nil {
		return nil, err
	}
	ss := by.s.fork(ctx)
	c, err := ss.container(lease)
	if err != nil {
		ss.close()
		return nil, err
	}
	return &containerPorts{c: c, memory: tunnel.NewMemory(forwardMemory), links: map[uint16][]*forwarder{}}, nil
}

const (
	// maxLinks is how many streams lead to one port of a container; a machine takes 8 of a customer, for all ports and shells.
	maxLinks = 4
	// linkFull is how many connections a stream carries before another one is opened.
	linkFull = tunnel.MaxConnections - 16
)

// containerPorts connects with ports of one container, over as many streams as its connections need.
type containerPorts struct {
	c      *container
	memory *tunnel.Memory

	mu    sync.Mutex
	links map[uint16][]*forwarder
}

// Dial implements inference.Connection.
func (p *containerPorts) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	s, err := p.link(port)
	if err != nil {
		return nil, err
	}
	conn, err := s.Dial(ctx, port)
	if errors.Is(err, tunnel.ErrNothingListens) {
		return nil, fmt.Errorf("nothing in the container listens on port %d", port)
	}
	return conn, err
}

// link is the stream to a port with the fewest connections, or a new one where all are full.
func (p *containerPorts) link(port uint16) (*tunnel.Session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var best *tunnel.Session
	for _, f := range p.links[port] {
		s, err := f.session()
		if err != nil {
			return nil, err
		}
		if best == nil || s.Connections() < best.Connections() {
			best = s
		}
	}
	if best != nil && (best.Connections() < linkFull || len(p.links[port]) >= maxLinks) {
		return best, nil
	}
	f := &forwarder{c: p.c, port: port, memory: p.memory}
	s, err := f.session()
	if err != nil {
		return best, errIfNone(best, err)
	}
	p.links[port] = append(p.links[port], f)
	return s, nil
}

func errIfNone(s *tunnel.Session, err error) error {
	if s != nil {
		return nil
	}
	return err
}

// Close implements inference.Connection.
func (p *containerPorts) Close() error {
	p.c.s.close()
	return nil
}
