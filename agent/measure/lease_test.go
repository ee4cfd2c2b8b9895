package measure

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

var (
	leased, other      = solana.PublicKey{7}, solana.PublicKey{8}
	customer, stranger = solana.PublicKey{5}, solana.PublicKey{6}
)

// leases are those of a test's chain: leased is of the node's second GPU, and other of its first.
type leases struct {
	mu    sync.Mutex
	over  bool // of leased
	until time.Time
	job   bool
	ended chan solana.PublicKey
}

func newLeases() *leases { return &leases{ended: make(chan solana.PublicKey, 100)} }

func (l *leases) Customer(k solana.PublicKey) bool { return k == customer }

func (l *leases) Tenancy(_ context.Context, key, lease solana.PublicKey) (Tenancy, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := Tenancy{GPUs: 1 << 3, Until: l.until, Job: l.job}
	switch {
	case key != customer:
		return t, p2p.Refuse(p2p.CodeRefused, "the lease is of another customer")
	case lease == other:
		t.GPUs = 1
	}
	return t, nil
}

func (l *leases) Held(lease solana.PublicKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return lease == other || !l.over
}

func (l *leases) Ended(lease solana.PublicKey) { l.ended <- lease }

func (l *leases) sets(change func(*leases)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// newLeased is a fixture whose GPUs are leased.
func newLeased(t *testing.T, mod ...func(*Options)) (*fixture, *leases) {
	t.Helper()
	l := newLeases()
	f := newFixture(t, right1, append([]func(*Options){func(o *Options) { o.Leases = l }}, mod...)...)
	f.sets(true)
	return f, l
}

// measures has a customer join.
func (f *fixture) measures(t *testing.T, lease solana.PublicKey, nonce byte, mod ...func(*messages.LeaseMeasureRequest)) seen {
	t.Helper()
	req := messages.LeaseMeasureRequest{Version: messages.Version, Lease: lease, Nonce: [32]byte{nonce}}
	for _, m := range mod {
		m(&req)
	}
	s := seen{make(chan messages.MeasureItem), make(chan error, 1)}
	go func() {
		s.err <- f.JoinLease(t.Context(), customer, req, func(m messages.MeasureItem) error {
			select {
			case s.items <- m:
				return nil
			case <-t.Context().Done():
				return t.Context().Err()
			}
		})
	}()
	return s
}

func (f *fixture) draws(t *testing.T, nonce byte, mod ...func(*messages.LeaseMeasureOpenRequest)) messages.MeasureOpening {
	t.Helper()
	req := messages.LeaseMeasureOpenRequest{Version: messages.Version, Lease: leased, Nonce: [32]byte{nonce}, GPU: 3}
	for _, m := range mod {
		m(&req)
	}
	resp, err := f.OpenLease(t.Context(), customer, req)
	require.NoError(t, err)
	return resp
}

func done(r *messages.LeaseMeasureOpenRequest) { r.Done = true }

// A customer measures the GPUs of its lease and no others, in spite of the lease; they are free when it has its answers.
func TestALeaseIsMeasured(t *testing.T) {
	f, l := newLeased(t)
	s := f.measures(t, leased, 1)
	f.devices[1].rounds <- root(1, 0)
	require.EqualValues(t, 3, s.next(t).Roots.GPU)
	require.True(t, f.Measured(leased))
	require.False(t, f.Measured(other))
	require.NoError(t, f.Free(t.Context(), other), "another lease does not wait for it")
	require.Equal(t, messages.MeasureOver, f.draws(t, 1).Refused, "nothing is committed")
	close(f.devices[1].rounds)
	_, last, _ := s.all(t)
	require.NotNil(t, last.Commitment)
	require.Zero(t, f.devices[0].runs.Load())
	require.NotEmpty(t, f.draws(t, 1).Answer)
	require.Equal(t, messages.MeasureOver, f.draws(t, 2).Refused, "another nonce")
	require.Zero(t, f.draws(t, 1, done))
	require.Zero(t, f.devices[1].open.Load(), "its memory is free when the customer is answered")
	require.Equal(t, leased, <-l.ended)
	require.False(t, f.Measured(leased))
	require.NoError(t, f.Free(t.Context(), leased))
	require.Equal(t, messages.MeasureOver, f.draws(t, 1).Refused)
	_, last, _ = f.measures(t, leased, 1).all(t)
	require.Equal(t, messages.MeasureOver, last.Refused)
}

// No stranger has a lease measured, nor keepers under its name.
func TestOnlyTheCustomerMeasuresALease(t *testing.T) {
	f, _ := newLeased(t)
	none := func(messages.MeasureItem) error { return nil }
	for _, key := range []solana.PublicKey{stranger, f.keepers[0]} {
		require.Error(t, f.JoinLease(t.Context(), key, messages.LeaseMeasureRequest{Version: messages.Version, Lease: leased}, none))
		_, err := f.OpenLease(t.Context(), key, messages.LeaseMeasureOpenRequest{Version: messages.Version, Lease: leased, Done: true})
		require.Error(t, err)
	}
	require.Error(t, f.JoinLease(t.Context(), customer, messages.LeaseMeasureRequest{Version: messages.Version + 1, Lease: leased}, none))
}

// What ends the measurement of a lease: the lease's end, the time of its start, the customer's next, and that it wants no
// more. Its GPU computes for ever.
func TestWhatEndsALeasesMeasurement(t *testing.T) {
	for name, c := range map[string]struct {
		mod func(*leases, *fixture)
		end func(*testing.T, *leases, *fixture)
	}{
		"the lease is over": {func(*leases, *fixture) {}, func(_ *testing.T, l *leases, f *fixture) {
			l.sets(func(l *leases) { l.over = true })
			f.sets(true)
		}},
		"the lease starts": {
			func(l *leases, f *fixture) { l.until = f.o.Now().Add(200 * time.Millisecond) },
			func(*testing.T, *leases, *fixture) {},
		},
		"the customer's next": {func(*leases, *fixture) {}, func(t *testing.T, _ *leases, f *fixture) {
			s := f.measures(t, leased, 2)
			require.Eventually(t, func() bool { return f.devices[1].runs.Load() == 2 }, waitLimit, time.Millisecond)
			f.devices[1].rounds <- root(1, 0)
			close(f.devices[1].rounds)
			_, last, _ := s.all(t)
			require.NotNil(t, last.Commitment)
			f.draws(t, 2, done)
		}},
		"no more": {func(*leases, *fixture) {}, func(t *testing.T, _ *leases, f *fixture) { f.draws(t, 1, done) }},
	} {
		t.Run(name, func(t *testing.T) {
			f, l := newLeased(t)
			c.mod(l, f)
			s := f.measures(t, leased, 1)
			f.devices[1].rounds <- root(1, 0)
			require.NotNil(t, s.next(t).Roots)
			c.end(t, l, f)
			_, last, _ := s.all(t)
			require.Equal(t, messages.MeasureOver, last.Refused)
			require.Equal(t, leased, <-l.ended)
			require.NoError(t, f.Free(t.Context(), leased))
		})
	}
}

// A customer that never says that it has its answers keeps the memory for a while only.
func TestALeasesOpeningsEnd(t *testing.T) {
	f, l := newLeased(t, func(o *Options) { o.OpenFor = time.Millisecond })
	s := f.measures(t, leased, 1)
	go func() {
		f.devices[1].rounds <- root(1, 0)
		close(f.devices[1].rounds)
	}()
	_, last, _ := s.all(t)
	require.NotNil(t, last.Commitment)
	require.Equal(t, leased, <-l.ended)
	require.Zero(t, f.devices[1].open.Load())
}

// A job that has the GPUs is left alone until its customer says otherwise.
func TestAJobIsLeftAlone(t *testing.T) {
	f, l := newLeased(t)
	l.sets(func(l *leases) { l.job = true })
	_, last, _ := f.measures(t, leased, 1).all(t)
	require.Equal(t, messages.MeasureJob, last.Refused)
	s := f.measures(t, leased, 1, func(r *messages.LeaseMeasureRequest) { r.Beside = true })
	f.devices[1].rounds <- root(1, 0)
	require.NotNil(t, s.next(t).Roots)
	f.draws(t, 1, done)
	s.all(t)
}

// Two customers do not measure at once: each would see less of what it pays for.
func TestOneLeaseIsMeasuredAtATime(t *testing.T) {
	f, _ := newLeased(t)
	s := f.measures(t, leased, 1)
	f.devices[1].rounds <- root(1, 0)
	require.NotNil(t, s.next(t).Roots)
	_, last, _ := f.measures(t, other, 1).all(t)
	require.Equal(t, messages.MeasureTooMany, last.Refused)
	f.draws(t, 1, done)
	s.all(t)
	s = f.measures(t, other, 1)
	f.devices[0].rounds <- root(0, 0)
	require.NotNil(t, s.next(t).Roots)
	require.NoError(t, f.Free(t.Context(), leased))
}

// A lease that begins ends the node's own measurement, and then its customer measures.
func TestALeaseEndsTheNodesMeasurement(t *testing.T) {
	f, _ := newLeased(t)
	f.sets(false)
	own := f.joins(t.Context(), 0, block(period, 0))
	f.rounds(0, 1)
	require.NotNil(t, own.next(t).Roots)
	f.sets(true)
	_, last, _ := own.all(t)
	require.Equal(t, messages.MeasureLease, last.Refused)
	s := f.measures(t, leased, 1)
	f.devices[1].rounds <- root(1, 0)
	require.NotNil(t, s.next(t).Roots)
	require.Equal(t, messages.MeasureLease, f.refused(t, 1, block(period, 0)))
	f.draws(t, 1, done)
	s.all(t)
}
