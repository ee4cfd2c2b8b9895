package lease

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/guestvm"
	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// Chain is what the manager needs of the chain. package daemon implements it.
type Chain interface {
	// Leases are all leases of this node.
	Leases() []market.Lease
	// Lease is one of them.
	Lease(address solana.PublicKey) (market.Lease, bool)
	// Changed is closed at the next change of any of them.
	Changed() <-chan struct{}
	// Order reads the order of a lease.
	Order(ctx context.Context, l market.Lease) (Order, error)
	// Start sends lease_start and waits until it is confirmed.
	Start(ctx context.Context, l market.Lease, connection [32]byte) error
	// Decline sends lease_decline and waits until it is confirmed.
	Decline(ctx context.Context, l market.Lease, why market.DeclineReason) error
	// Ask is the node's own price now, for work that is interruptible or not.
	Ask(interruptible bool) market.PricePerHour
	// End sends lease_end and waits until it is confirmed. With immediate the node leaves a lease that its customer keeps, without
	// notice, and pays for it.
	End(ctx context.Context, l market.Lease, immediate bool) error
	// CommitOutput and RevealOutput send output_commit and output_reveal and wait until they are confirmed.
	CommitOutput(ctx context.Context, l market.Lease, commitment [32]byte) error
	RevealOutput(ctx context.Context, l market.Lease, output, salt [32]byte) error
	// Checkpoint sends lease_checkpoint and waits until it is confirmed.
	Checkpoint(ctx context.Context, l market.Lease, hash [32]byte) error
	// Look reads a lease from the chain now, so that Lease shows it no older than that.
	Look(ctx context.Context, address solana.PublicKey) error
	// Gone asks the account of a lease whether it is gone; the answers are no older than a slot. It returns from which
	// slot on the account has not been seen, for the next question. What it reads of one that is there Lease shows from
	// then on.
	Gone(ctx context.Context, address solana.PublicKey, awardedAt int64, since uint64) (Presence, uint64, error)
	// Final reads a lease as it is finalized, at a slot or later.
	Final(ctx context.Context, address solana.PublicKey, since uint64) (market.Lease, error)
	// Source names the RPC endpoints for people, without what may be secret.
	Source() string
	// ActsFor reports whether a key acts for a customer now: its own, or one of its session keys.
	ActsFor(key, customer solana.PublicKey) bool
}

// Options of New. Chain, Store, Runtime, NodeKey and Domain are required.
type Options struct {
	Chain   Chain
	Store   *store.Store
	Runtime runtime.Runtime
	NodeKey solana.PublicKey
	// Domain of the cluster, which output commitments name.
	Domain records.Domain
	// GPUUUIDs by index, for the job's environment.
	GPUUUIDs []string
	// Guests are the measured guests of leases, which Runtime runs; nil where this machine starts none.
	Guests *guestvm.Runtime
	// Node is the whole machine's share.
	Node jobspec.Share
	// Identity is the machine's key, of which the host keys of containers are derived.
	Identity ed25519.PrivateKey
	// Settle makes a last attempt to submit what the customer has signed before a lease is ended. May be nil.
	Settle func(ctx context.Context, lease solana.PublicKey) error
	// Faults says for people what a lease's customer should know of the devices in a mask. May be nil.
	Faults func(mask uint64) string
	// GPUs is what the driver says of the devices in a mask. May be nil.
	GPUs func(ctx context.Context, mask uint64) ([]messages.GPUUse, error)
	// Unmeasured waits until no measurement has the GPUs of a lease, before it starts and is billed. May be nil.
	Unmeasured func(ctx context.Context, lease solana.PublicKey) error
	// Yield waits until nothing of the machine's owner has the GPUs in a mask, before anything of a lease is prepared, billed or started.
	// May be nil.
	Yield func(ctx context.Context, mask uint64) error
	// Wanted says why the machine's owner wants it back, so that interruptible leases get notice; empty while the owner does not. May be
	// nil.
	Wanted func() string
	// Measured says whether a lease's customer measures its GPUs now; Wake is to be called when that ends. May be nil.
	Measured func(lease solana.PublicKey) bool
	// Meeting is how far those are that start together with a lease. May be nil.
	Meeting func(lease solana.PublicKey) Meeting
	// Started keeps how the image of a lease has started. May be nil.
	Started func(lease solana.PublicKey, image string, outcome records.StartOutcome) error
	// Keep is how long the output of a closed lease stays readable; default one minute.
	Keep time.Duration
	// StopGrace is the time between asking a job to end and killing it; default 5 s.
	StopGrace time.Duration
	Log       zerolog.Logger
	// Asked is when a keeper last asked this node anything; nil where nobody knows.
	Asked func() time.Time
	// Now is the chain's time; nil means time.Now.
	Now func() time.Time
	// Confirm asks the chain for its time, and returns the latest that a second witness says has come: nothing that is
	// paid for ends by the word of one clock. nil takes Now for it.
	Confirm func(ctx context.Context) (time.Time, error)
	// Machine is this machine's date, which the runtime notes; nil means Now.
	Machine func() time.Time
	// Turn is called at each turn of Run's loop, at least every second, for a watchdog. May be nil.
	Turn func()
}

// Manager runs a worker for each lease.
type Manager struct {
	o   Options
	log zerolog.Logger

	mu      sync.Mutex
	workers map[solana.PublicKey]*worker
	// credentials open images; they are in memory alone, until the image is there or the lease is over.
	credentials map[solana.PublicKey]image.Credential
	// pulls are how far images are, until the lease is over.
	pulls map[solana.PublicKey]messages.ImagePull
	// volumes are the secrets of volumes, in memory alone, until the job has been started or the lease is over.
	volumes map[solana.PublicKey]volumeSecrets
	shells  map[store.Key]int // connections to each lease's container
	guests  map[store.Key]*guestRoom
	usage   usage
	ready   chan struct{}
	once    sync.Once
}

// New checks the options. Run starts the workers.
func New(o Options) (*Manager, error) {
	if o.Chain == nil || o.Store == nil || o.Runtime == nil || o.NodeKey.IsZero() || o.Domain.IsZero() {
		return nil, errors.New("lease: chain, store, runtime, node key and domain are required")
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
	if o.Machine == nil {
		o.Machine = o.Now
	}
	return &Manager{o: o, log: o.Log, workers: map[solana.PublicKey]*worker{}, credentials: map[solana.PublicKey]image.Credential{}, pulls: map[solana.PublicKey]messages.ImagePull{}, volumes: map[solana.PublicKey]volumeSecrets{}, shells: map[store.Key]int{}, guests: map[store.Key]*guestRoom{}, usage: newUsage(), ready: make(chan struct{})}, nil
}

// Ready is closed once every lease that was known at the start has been observed.
func (m *Manager) Ready() <-chan struct{} { return m.ready }

// Run works until ctx ends. Running jobs are left alone then: the next agent finds them. Its error is ctx's, or one of
// the store, with which the agent must not go on.
func (m *Manager) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		if m.o.Turn != nil {
			m.o.Turn()
		}
		changed := m.o.Chain.Changed()
		added, err := m.addWorkers()
		if err != nil {
			return err
		}
		for _, w := range added {
			wg.Add(1)
			go func() {
				defer wg.Done()
				w.run(wctx)
				m.dropWorker(w)
			}()
		}
		if err := m.awaitFirst(ctx, added); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-time.After(time.Second): // a worker that ended may make room for a new lease at its address
		}
	}
}

// awaitFirst waits until the first workers have observed their leases.
func (m *Manager) awaitFirst(ctx context.Context, first []*worker) error {
	var err error
	m.once.Do(func() {
		for _, w := range first {
			select {
			case <-w.observed:
			case <-ctx.Done():
				err = ctx.Err()
				return
			}
		}
		close(m.ready)
	})
	return err
}

// addWorkers makes workers for leases that have none: those of the store, and new ones of the chain, which it stores
// first.
func (m *Manager) addWorkers() ([]*worker, error) {
	entries, err := m.o.Store.Leases()
	if err != nil {
		return nil, fmt.Errorf("read stored leases: %w", err)
	}
	known := make(map[store.Key]bool, len(entries))
	for _, r := range entries {
		known[r.Address] = true
	}
	for _, l := range m.o.Chain.Leases() {
		if known[store.Key(l.Address)] {
			continue
		}
		r, err := m.o.Store.AddLease(newEntry(l))
		if err != nil {
			return nil, fmt.Errorf("store lease %s: %w", l.Address, err)
		}
		m.log.Info().Str("lease", l.Address.String()).Str("customer", l.Customer.String()).Uint8("gpus", l.Gpus).
			Uint64("price_micro_usdc_per_gpu_hour", l.Price).Msg("lease awarded to this node")
		entries = append(entries, r)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var added []*worker
	for _, r := range entries {
		address := solana.PublicKey(r.Address)
		if _, ok := m.workers[address]; ok {
			continue
		}
		w := newWorker(m, address)
		m.workers[address] = w
		added = append(added, w)
	}
	return added, nil
}

// newEntry is what the store keeps of a new lease.
func newEntry(l market.Lease) store.Lease {
	r := store.Lease{
		Address: store.Key(l.Address), Order: store.Key(l.Order), Node: store.Key(l.Node), Customer: store.Key(l.Customer),
		GPUMask: uint64(l.GpuMask), PricePerGPUHour: store.MicroUSDC(l.Price), AwardedAt: time.Unix(l.AwardedAt, 0).UTC(),
		Found: l.StartedAt != 0, Slot: l.Slot,
	}
	if l.CheckpointHash != [32]byte{} {
		r.Checkpoint = hex.EncodeToString(l.CheckpointHash[:])
	}
	return r
}

func (m *Manager) dropWorker(w *worker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.workers[w.address] == w {
		delete(m.workers, w.address)
		delete(m.credentials, w.address)
		delete(m.pulls, w.address)
		delete(m.volumes, w.address)
		delete(m.guests, store.Key(w.address))
	}
}

// setCredential keeps what opens a lease's image, or forgets it.
func (m *Manager) setCredential(lease solana.PublicKey, c *messages.RegistryCredential) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c == nil {
		delete(m.credentials, lease)
		return
	}
	m.credentials[lease] = image.Credential{Token: c.Token, User: c.User, Password: c.Password}
}

func (m *Manager) credential(lease solana.PublicKey) image.Credential {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.credentials[lease]
}

// Wake makes a lease's worker observe at once.
func (m *Manager) Wake(lease solana.PublicKey) { m.wake(lease) }

// wake makes a lease's worker observe at once.
func (m *Manager) wake(address solana.PublicKey) {
	m.mu.Lock()
	w := m.workers[address]
	m.mu.Unlock()
	if w != nil {
		w.wake()
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

// Live reports whether any lease holds GPUs or a job. It asks both the chain and the store, so that a measurement is
// refused from the moment a lease is awarded.
func (m *Manager) Live() bool {
	for _, l := range m.o.Chain.Leases() {
		if l.State() == market.LeaseAwarded || l.State() == market.LeaseRunning {
			return true
		}
	}
	return len(m.Statuses()) > 0
}
