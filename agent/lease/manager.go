package lease

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
)

// Ledger is the chain, as far as leases need it.
type Ledger interface {
	// Leases are all leases of this node.
	Leases() []OnChain
	// Lease is one of them.
	Lease(address solana.PublicKey) (OnChain, bool)
	// Changed is closed at the next change of any of them.
	Changed() <-chan struct{}
	// Order reads the order of a lease.
	Order(ctx context.Context, l OnChain) (Order, error)
	// StartDeadline is the market's parameter.
	StartDeadline() time.Duration
	// Start sends lease_start and waits until it is confirmed.
	Start(ctx context.Context, l OnChain, connection [32]byte) error
	// End sends lease_end and waits until it is confirmed.
	End(ctx context.Context, l OnChain) error
	// CommitOutput and RevealOutput send output_commit and output_reveal and wait until they are confirmed.
	CommitOutput(ctx context.Context, l OnChain, commitment [32]byte) error
	RevealOutput(ctx context.Context, l OnChain, output, salt [32]byte) error
	// ActsFor reports whether a key acts for a customer now: its own, or one of its session keys.
	ActsFor(key, customer solana.PublicKey) bool
}

// Share is what the machine gives to one lease: GPUs leased / GPUs of the node, of each resource. Zero is unlimited.
type Share struct {
	CPUs      float64
	MemoryMiB uint64
	DiskMiB   uint64
}

// Options of a Manager. All but Settle, Keep, StopGrace and Now are required.
type Options struct {
	Ledger  Ledger
	Store   *store.Store
	Runtime runtime.Runtime
	NodeKey solana.PublicKey
	// Domain of the cluster, which output commitments name.
	Domain records.Domain
	// GPUUUIDs by index, for the job's environment.
	GPUUUIDs []string
	// Node is the whole machine's share.
	Node Share
	// Settle makes a last attempt to submit what the customer has signed before a lease is ended. May be nil.
	Settle func(ctx context.Context, lease solana.PublicKey) error
	// Keep is how long the output of a closed lease stays readable; default one minute.
	Keep time.Duration
	// StopGrace is the time between asking a job to end and killing it; default 5 s.
	StopGrace time.Duration
	Log       zerolog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Manager runs a worker for each lease.
type Manager struct {
	o   Options
	log zerolog.Logger

	mu      sync.Mutex
	workers map[solana.PublicKey]*worker
	ready   chan struct{}
	once    sync.Once
}

// New returns a manager; Run starts it.
func New(o Options) (*Manager, error) {
	if o.Ledger == nil || o.Store == nil || o.Runtime == nil || o.Domain.IsZero() {
		return nil, errors.New("lease: ledger, store, runtime and domain are required")
	}
	if o.Keep <= 0 {
		o.Keep = time.Minute
	}
	if o.StopGrace <= 0 {
		o.StopGrace = 5 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Manager{o: o, log: o.Log, workers: map[solana.PublicKey]*worker{}, ready: make(chan struct{})}, nil
}

// Ready is closed once every lease that was known at the start has been looked at.
func (m *Manager) Ready() <-chan struct{} { return m.ready }

// Run works until ctx ends. Running jobs are left alone then: the next agent finds them. Its error is ctx's, or one
// of the store, with which the agent must not go on.
func (m *Manager) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		changed := m.ledger().Changed()
		fresh, err := m.adopt()
		if err != nil {
			return err
		}
		for _, w := range fresh {
			wg.Add(1)
			go func() {
				defer wg.Done()
				w.run(wctx)
				m.forget(w)
			}()
		}
		if err := m.becomeReady(ctx, fresh); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-time.After(time.Second): // a worker that ended may make room for the next life of its address
		}
	}
}

func (m *Manager) ledger() Ledger { return m.o.Ledger }

// becomeReady waits for the first look of the first workers.
func (m *Manager) becomeReady(ctx context.Context, first []*worker) error {
	var err error
	m.once.Do(func() {
		for _, w := range first {
			select {
			case <-w.looked:
			case <-ctx.Done():
				err = ctx.Err()
				return
			}
		}
		close(m.ready)
	})
	return err
}

// adopt makes workers for leases that have none: those of the store, and new ones of the chain, recorded first.
func (m *Manager) adopt() ([]*worker, error) {
	records, err := m.o.Store.Leases()
	if err != nil {
		return nil, fmt.Errorf("leases of the store: %w", err)
	}
	known := make(map[store.Key]bool, len(records))
	for _, r := range records {
		known[r.Address] = true
	}
	for _, l := range m.ledger().Leases() {
		if known[store.Key(l.Address)] {
			continue
		}
		r, err := m.o.Store.AddLease(record(l))
		if err != nil {
			return nil, fmt.Errorf("record lease %s: %w", l.Address, err)
		}
		m.log.Info().Str("lease", l.Address.String()).Str("customer", l.Customer.String()).Uint8("gpus", l.Gpus).
			Uint64("price_micro_usdc_per_gpu_hour", l.Price).Msg("lease awarded to this node")
		records = append(records, r)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var fresh []*worker
	for _, r := range records {
		address := solana.PublicKey(r.Address)
		if _, ok := m.workers[address]; ok {
			continue
		}
		w := newWorker(m, address)
		m.workers[address] = w
		fresh = append(fresh, w)
	}
	return fresh, nil
}

// record is what the store keeps of a new lease.
func record(l OnChain) store.Lease {
	r := store.Lease{
		Address: store.Key(l.Address), Order: store.Key(l.Order), Node: store.Key(l.Node), Customer: store.Key(l.Customer),
		GPUMask: uint64(l.GpuMask), PricePerGPUHour: store.MicroUSDC(l.Price), AwardedAt: time.Unix(l.AwardedAt, 0).UTC(),
	}
	if l.CheckpointHash != [32]byte{} {
		r.Checkpoint = hex.EncodeToString(l.CheckpointHash[:])
	}
	return r
}

func (m *Manager) forget(w *worker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.workers[w.address] == w {
		delete(m.workers, w.address)
	}
}

// wake makes a lease's worker look at once.
func (m *Manager) wake(address solana.PublicKey) {
	m.mu.Lock()
	w := m.workers[address]
	m.mu.Unlock()
	if w != nil {
		w.poke()
	}
}

// Statuses are those of all leases that are not over, for keepers' liveness checks.
func (m *Manager) Statuses() []messages.LeaseStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]messages.LeaseStatus, 0, len(m.workers))
	for _, w := range m.workers {
		if s, live := w.status(); live {
			out = append(out, s)
		}
	}
	return out
}

// Live reports whether any lease holds GPUs or a job. It asks both the chain and the record, so that a work proof is
// refused from the moment a lease is awarded.
func (m *Manager) Live() bool {
	for _, l := range m.ledger().Leases() {
		if l.State() == market.LeaseAwarded || l.State() == market.LeaseRunning {
			return true
		}
	}
	return len(m.Statuses()) > 0
}
