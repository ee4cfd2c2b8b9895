package group

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/messages"
)

// lookEvery is how often the manager looks which leases have a network.
const lookEvery = 500 * time.Millisecond

// Net is what the manager needs of the machine's node.
type Net interface {
	// Hello tells a machine how a lease here is reached, and connects to it first where need be.
	Hello(ctx context.Context, node solana.PublicKey, req messages.GroupHelloRequest) (messages.GroupHelloAnswer, error)
	// Direct is where a machine's packets come from; see p2p.Node.Direct.
	Direct(node solana.PublicKey) netip.AddrPort
}

// Options of New. All are required but Log.
type Options struct {
	Port *mesh.Port
	Net  Net
	// Members are the leases here that have a network, or will have one when they start.
	Members func() ([]lease.Member, error)
	// Open opens a lease's interface, whose descriptor the manager closes.
	Open func(leaseID string) (int, error)
	// Visits returns a *lease.RefusedError if a key may not act for the customer of a lease, or not any more.
	Visits func(ctx context.Context, from, lease solana.PublicKey) error
	Log    zerolog.Logger
}

// Manager has a device for each lease with a network.
type Manager struct {
	o Options

	mu    sync.Mutex
	ends  map[solana.PublicKey]*end
	meets map[solana.PublicKey]*meeting
	nodes atomic.Pointer[map[solana.PublicKey]bool] // the other members' machines
}

// New makes a manager. Run starts it.
func New(o Options) *Manager {
	return &Manager{o: o, ends: map[solana.PublicKey]*end{}, meets: map[solana.PublicKey]*meeting{}}
}

// Run connects leases until ctx ends. The containers keep their interfaces.
func (m *Manager) Run(ctx context.Context) error {
	var ends sync.WaitGroup
	defer ends.Wait()
	defer m.follow(ctx, nil, &ends) // closes all devices
	for {
		members, err := m.o.Members()
		if err != nil {
			return fmt.Errorf("leases with a private network: %w", err)
		}
		m.follow(ctx, members, &ends)
		if err := wait.For(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// follow begins with leases that are new, tells the others how their groups are now, and ends with those that are over.
func (m *Manager) follow(ctx context.Context, members []lease.Member, ends *sync.WaitGroup) {
	m.mu.Lock()
	defer m.mu.Unlock()
	live, nodes := map[solana.PublicKey]lease.Stage{}, map[solana.PublicKey]bool{}
	for _, l := range members {
		live[l.Lease] = l.Stage
		for _, other := range l.Group.Members {
			nodes[other.Node] = true
		}
		if l.Stage == lease.Runs {
			m.connect(ctx, l, ends)
		} else {
			m.meet(ctx, l, ends)
		}
	}
	m.nodes.Store(&nodes)
	for address, e := range m.ends {
		if stage, ok := live[address]; !ok || stage != lease.Runs {
			e.stop()
			delete(m.ends, address)
		}
	}
	for address, w := range m.meets {
		if stage, ok := live[address]; !ok || stage == lease.Runs {
			w.stop()
			delete(m.meets, address)
		}
	}
}

// connect opens the network of a lease that runs, or tells it how its group is now.
func (m *Manager) connect(ctx context.Context, l lease.Member, ends *sync.WaitGroup) {
	if e, ok := m.ends[l.Lease]; ok && !e.failed() {
		e.set(l.Group)
		return
	} else if ok {
		m.o.Log.Warn().Stringer("lease", l.Lease).Msg("the interface of the lease's private network failed; it is opened again")
		e.stop()
		delete(m.ends, l.Lease)
	}
	e, err := m.open(l)
	if err != nil {
		m.o.Log.Debug().Err(err).Stringer("lease", l.Lease).Msg("the lease's private network cannot be opened yet")
		return
	}
	m.ends[l.Lease] = e
	ectx, cancel := context.WithCancel(ctx)
	e.stop = cancel
	ends.Go(func() { e.run(ectx) })
}

// open makes the machine's end of a lease's network.
func (m *Manager) open(l lease.Member) (*end, error) {
	fd, err := m.o.Open(l.Lease.String())
	if err != nil {
		return nil, err
	}
	link, err := newLink(fd, mesh.Address(int(l.Group.Index)))
	if err != nil {
		return nil, err
	}
	key, err := mesh.NewPrivateKey()
	if err != nil {
		return nil, errors.Join(err, link.Close())
	}
	log := m.o.Log.With().Stringer("lease", l.Lease).Logger()
	device, err := m.o.Port.Open(link, key, log)
	if err != nil {
		return nil, err
	}
	log.Info().Int("members", len(l.Group.Members)).Stringer("address", mesh.Address(int(l.Group.Index))).Msg("the lease's private network is open")
	return newEnd(m.o, l, device, link, log), nil
}

// Knows reports whether a machine has a lease in a group with one of this machine.
func (m *Manager) Knows(node solana.PublicKey) bool {
	nodes := m.nodes.Load()
	return nodes != nil && (*nodes)[node]
}

// Hello answers another member's machine.
func (m *Manager) Hello(from solana.PublicKey, req messages.GroupHelloRequest) (messages.GroupHelloAnswer, error) {
	m.mu.Lock()
	e, runs := m.ends[req.To]
	w, meets := m.meets[req.To]
	m.mu.Unlock()
	if runs {
		return e.hello(from, req)
	}
	return messages.GroupHelloAnswer{Version: messages.Version, Refused: messages.NetworkStarts, Ready: meets && w.ready.Load()}, nil
}
