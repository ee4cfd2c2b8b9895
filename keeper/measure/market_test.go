package measure

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	agent "github.com/gantry-market/gantry/agent/measure"
	"github.com/gantry-market/gantry/attest/guest"
	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/processor"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	secs   = 3600
	period = records.Period(500_000)
	// long is how long a test waits for what must come, short for what never does.
	long, short = 2 * time.Minute, 300 * time.Millisecond
)

var (
	domain  = records.Domain{9}
	account = solana.PublicKey{1}
	small   = format.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1, Resident: 2, WalkMs: 1, Lanes: 8}
)

// block is the n-th instant that a period could have at its first tick.
func block(p records.Period, n int) instant.Instant {
	for i := uint64(0); ; i++ {
		hash := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte("block"), i))
		if at, here := instant.Draw(domain, p, 0, 77, hash, instant.Tick(p, 0, secs)); here {
			if n--; n < 0 {
				return at
			}
		}
	}
}

// counted is a device that counts its runs.
type counted struct {
	format.Device
	runs atomic.Int32
}

func (c *counted) Run(ctx context.Context, t format.Task, ended func(uint32, format.Hash)) (format.Run, error) {
	c.runs.Add(1)
	return c.Device.Run(ctx, t, ended)
}

// stuck is a device that ends one round and no more.
type stuck struct{ began chan struct{} }

func (s stuck) Run(ctx context.Context, _ format.Task, ended func(uint32, format.Hash)) (format.Run, error) {
	ended(0, format.Hash{1})
	close(s.began)
	<-ctx.Done()
	return nil, ctx.Err()
}

// machine is a node and its peer. Its agent runs where start was called.
type machine struct {
	peer  *p2p.Node
	key   solana.PrivateKey
	guest *guest.Key // nil for none
	gpus  []agent.GPU

	mu      sync.Mutex
	lease   bool
	changed chan struct{}
}

func key(t *testing.T) solana.PrivateKey {
	t.Helper()
	k, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return k
}

func peerOf(t *testing.T, mod ...func(*p2p.Options)) *p2p.Node {
	t.Helper()
	o := p2p.Options{Key: key(t), Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()}
	for _, m := range mod {
		m(&o)
	}
	n, err := p2p.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

// newMachine is a machine whose GPUs have indices 0 and up.
func newMachine(t *testing.T, devices ...format.Device) *machine {
	t.Helper()
	m := &machine{key: key(t), changed: make(chan struct{})}
	m.peer = peerOf(t, func(o *p2p.Options) { o.Key = m.key })
	for i, d := range devices {
		m.gpus = append(m.gpus, agent.GPU{Index: uint8(i), Profile: small, Device: d})
	}
	return m
}

func processors(t *testing.T) *counted {
	t.Helper()
	d, err := processor.New(2)
	require.NoError(t, err)
	return &counted{Device: d}
}

// agent is a process of the machine's, until ctx ends.
func (m *machine) agent(t *testing.T, ctx context.Context) *agent.Server {
	t.Helper()
	s, err := agent.New(agent.Options{
		Node: account, Domain: domain, Signer: m.key, Guest: m.guest,
		Member:   func(solana.PublicKey) bool { return true },
		Instants: onlyInstant{},
		GPUs:     func() ([]agent.GPU, error) { return m.gpus, nil },
		Busy: func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.lease
		},
		Changed: func() <-chan struct{} {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.changed
		},
		PeriodSecs: func() (uint32, bool) { return secs, true },
		OpenFor:    time.Hour,
		Now:        func() time.Time { return instant.Tick(period, 0, secs) },
	})
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Run(ctx) })
	t.Cleanup(wg.Wait)
	return s
}

// start has the machine answer.
func (m *machine) start(t *testing.T) *machine {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := m.agent(t, ctx)
	t.Cleanup(cancel)
	s.Register(m.peer)
	return m
}

func (m *machine) sets(lease bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lease = lease
	close(m.changed)
	m.changed = make(chan struct{})
}

// onlyInstant is a chain whose instant is block(period, 0).
type onlyInstant struct{}

func (onlyInstant) Is(_ context.Context, at instant.Instant) (bool, error) {
	return at.Hash == block(period, 0).Hash, nil
}

// node is the machine as keepers ask it.
func (m *machine) node() Node {
	n := Node{Account: account, Key: m.key.PublicKey()}
	for _, g := range m.gpus {
		n.GPUs = append(n.GPUs, format.Asked{GPU: g.Index, Profile: g.Profile})
	}
	return n
}

// member is a keeper that is connected with the machine.
func (m *machine) member(t *testing.T, mod ...func(*Options)) *Member {
	t.Helper()
	peer := peerOf(t)
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	require.NoError(t, peer.Connect(ctx, m.peer.Self()))
	return newMember(t, Peers{peer}, mod...)
}

func newMember(t *testing.T, n Network, mod ...func(*Options)) *Member {
	t.Helper()
	o := Options{
		Domain: domain, Network: n, Slack: long, Pause: time.Millisecond, Wait: long, Overrun: long,
		Owes: func(solana.PublicKey, instant.Instant) bool { return true },
	}
	for _, m := range mod {
		m(&o)
	}
	k, err := New(o)
	require.NoError(t, err)
	return k
}

// hasty does not wait long for what a test has never come.
func hasty(o *Options) { o.Slack, o.Wait = short, short }

// excused finds on chain what excuses every node.
func excused(o *Options) { o.Owes = func(solana.PublicKey, instant.Instant) bool { return false } }

func (k *Member) asks(t *testing.T, m *machine) Result {
	t.Helper()
	return k.Measure(t.Context(), m.node(), block(period, 0), time.Now())
}

func refusalOf(t *testing.T, r Result) error {
	t.Helper()
	var refused *RefusedError
	require.True(t, errors.As(r.Why, &refused), "%v", r.Why)
	return refused
}

// holds reports whether a proof shows what it says, as anyone can check it.
func holds(t *testing.T, p *Proof, m *machine) {
	t.Helper()
	place := format.Place{Domain: domain, Instant: block(period, 0).Seed, Node: account}
	_, err := p.Signed.Check(place, m.key.PublicKey(), m.node().GPUs)
	require.NoError(t, err)
	c := p.Cell
	root := format.Climb(format.LeafHash(&c.Bytes), c.Leaf, c.Path)
	require.Equal(t, p.Signed.Entries[p.Entry].RoundsRoot, format.Climb(format.RoundHash(c.Round, c.Before, root), c.Round, c.RoundPath))
	require.NotEqual(t, c.Want, c.Bytes[c.Group])
	require.True(t, slices.ContainsFunc(m.gpus, func(g agent.GPU) bool { return g.Index == c.GPU }))
}
