package measure

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	secs   = 3600
	period = records.Period(500_000)
)

var (
	domain  = records.Domain{9}
	account = solana.PublicKey{1}
	small   = format.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1, Resident: 1, WalkMs: 1, Lanes: 1}
)

// device ends a round for each root that it is given, and the chain when there will be no more.
type device struct {
	rounds chan format.Hash
	fails  chan error // ends the chain with an error
	runs   atomic.Int32
	open   atomic.Int32 // runs whose memory was not given back
	// opening is called while a run is opened.
	opening func(context.Context) error
}

func newDevice() *device {
	return &device{rounds: make(chan format.Hash), fails: make(chan error, 1), opening: func(context.Context) error { return nil }}
}

func (d *device) Run(ctx context.Context, _ format.Task, ended func(uint32, format.Hash)) (format.Run, error) {
	d.runs.Add(1)
	r := &made{device: d}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-d.fails:
			return nil, err
		case root, more := <-d.rounds:
			if !more {
				d.open.Add(1)
				return r, nil
			}
			ended(uint32(len(r.roots)), root)
			r.roots = append(r.roots, root)
		}
	}
}

// made is a run of which openings have no paths: nobody verifies them here.
type made struct {
	*device
	roots []format.Hash
}

func (m *made) Result() format.Result { return format.Result{Roots: m.roots, Walks: 1} }

func (m *made) Leaves(ctx context.Context, at []format.LeafAt) ([]format.LeafOpening, error) {
	return make([]format.LeafOpening, len(at)), m.opening(ctx)
}

func (m *made) Walks(_ context.Context, at []format.WalkAt) ([]format.WalkOpening, error) {
	return make([]format.WalkOpening, len(at)), nil
}

func (m *made) Close() error {
	m.open.Add(-1)
	return nil
}

// instants says what a test lets it say.
type instants func(context.Context, instant.Instant) (bool, error)

func (f instants) Is(ctx context.Context, at instant.Instant) (bool, error) { return f(ctx, at) }

// fixture is a node with two GPUs and some keepers.
type fixture struct {
	*Server
	o       Options
	key     solana.PrivateKey
	devices []*device
	keepers []solana.PublicKey

	mu      sync.Mutex
	lease   bool
	changed chan struct{}
	now     time.Time
}

func right1(context.Context, instant.Instant) (bool, error) { return true, nil }

func newFixture(t *testing.T, is instants, mod ...func(*Options)) *fixture {
	t.Helper()
	f := &fixture{changed: make(chan struct{}), devices: []*device{newDevice(), newDevice()}, now: instant.Tick(period, 0, secs)}
	for i := range 100 {
		f.keepers = append(f.keepers, solana.PublicKey{2, byte(i)})
	}
	var err error
	f.key, err = solana.NewRandomPrivateKey()
	require.NoError(t, err)
	f.o = Options{
		Node: account, Domain: domain, Signer: f.key, Instants: is,
		Member: func(k solana.PublicKey) bool { return k[0] == 2 },
		GPUs: func() ([]GPU, error) {
			return []GPU{{Index: 0, Profile: small, Device: f.devices[0]}, {Index: 3, Profile: small, Device: f.devices[1]}}, nil
		},
		Busy: func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.lease
		},
		Changed: func() <-chan struct{} {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.changed
		},
		PeriodSecs: func() (uint32, bool) { return secs, true },
		OpenFor:    time.Hour,
		Now: func() time.Time {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.now
		},
	}
	for _, m := range mod {
		m(&f.o)
	}
	f.Server, err = New(f.o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = f.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		for _, d := range f.devices {
			require.Zero(t, d.open.Load(), "memory of a run was not given back")
		}
	})
	return f
}

// sets has a lease begin or end.
func (f *fixture) sets(lease bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lease = lease
	close(f.changed)
	f.changed = make(chan struct{})
}

// rounds has both GPUs make so many rounds.
func (f *fixture) rounds(from, n int) {
	for i := range n {
		for g, d := range f.devices {
			d.rounds <- root(g, from+i)
		}
	}
}

// end has both GPUs end their chains.
func (f *fixture) end() {
	for _, d := range f.devices {
		close(d.rounds)
	}
}

func root(gpu, round int) format.Hash {
	return sha256.Sum256(binary.LittleEndian.AppendUint64([]byte{byte(gpu)}, uint64(round)))
}

// block is the n-th block that could be the instant of a period at its first tick.
func block(p records.Period, n int) messages.MeasureRequest {
	for i := uint64(0); ; i++ {
		hash := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte("block"), i))
		if _, here := instant.Draw(domain, p, 0, 77, hash, time.Time{}); !here {
			continue
		}
		if n--; n < 0 {
			return messages.MeasureRequest{Version: messages.Version, Node: account, Period: uint64(p), Slot: 77, BlockHash: hash}
		}
	}
}

// seen is what a keeper was sent, until the stream ended.
type seen struct {
	items chan messages.MeasureItem
	err   chan error
}

// joins has a keeper join. Its items have to be taken for the stream to go on.
func (f *fixture) joins(ctx context.Context, keeper int, req messages.MeasureRequest) seen {
	s := seen{make(chan messages.MeasureItem), make(chan error, 1)}
	go func() {
		s.err <- f.Join(ctx, f.keepers[keeper], req, func(m messages.MeasureItem) error {
			select {
			case s.items <- m:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return s
}

// waitLimit is how long a test waits for what must come.
const waitLimit = 30 * time.Second

func (s seen) next(t *testing.T) messages.MeasureItem {
	t.Helper()
	select {
	case m := <-s.items:
		return m
	case err := <-s.err:
		t.Fatalf("the stream ended: %v", err)
	case <-time.After(waitLimit):
		t.Fatal("nothing came")
	}
	return messages.MeasureItem{}
}

// all takes the rest of the stream: roots by GPU, and what ended it.
func (s seen) all(t *testing.T) (map[uint8][]format.Hash, messages.MeasureItem, int) {
	t.Helper()
	roots, items := map[uint8][]format.Hash{}, 0
	for {
		m := s.next(t)
		items++
		if m.Ready != nil {
			continue
		}
		if m.Roots == nil {
			require.NoError(t, <-s.err)
			return roots, m, items
		}
		require.Equal(t, int(m.Roots.First), len(roots[m.Roots.GPU]), "no round is left out")
		require.NotEmpty(t, m.Roots.Roots)
		for b := m.Roots.Roots; len(b) > 0; b = b[32:] {
			roots[m.Roots.GPU] = append(roots[m.Roots.GPU], format.Hash(b))
		}
	}
}

// refused is why a keeper is told nothing.
func (f *fixture) refused(t *testing.T, keeper int, req messages.MeasureRequest) messages.MeasureRefusal {
	t.Helper()
	_, last, _ := f.joins(t.Context(), keeper, req).all(t)
	require.Nil(t, last.Commitment)
	return last.Refused
}

func (f *fixture) opens(t *testing.T, keeper int, gpu, challenge byte) messages.MeasureOpening {
	t.Helper()
	resp, err := f.Open(t.Context(), f.keepers[keeper], messages.MeasureOpenRequest{
		Version: messages.Version, Node: account, Period: uint64(period), GPU: gpu, Challenge: [32]byte{challenge},
	})
	require.NoError(t, err)
	return resp
}

func TestOptionsAreComplete(t *testing.T) {
	f := newFixture(t, right1)
	options.Without(f.o, []string{"Guest", "Leases", "Turn", "OpenFor", "Now", "Log"}, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
}

var errBroken = errors.New("broken")
