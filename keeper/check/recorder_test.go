package check

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/signing"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// recorderFixture is a recorder whose clock stands where a test puts it.
type recorderFixture struct {
	*Recorder
	mu   sync.Mutex
	at   time.Time
	out  []records.CheckStatement
	seal []records.Period
}

func newRecorderFixture(t *testing.T, path string, at int64, secs ...uint32) *recorderFixture {
	secs = append(secs, 60)
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	s, err := store.Open(path, store.Options{Keeper: key.PublicKey(), Domain: records.Domain{1}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	b := &recorderFixture{at: time.Unix(at, 0)}
	b.Recorder, err = NewRecorder(RecorderOptions{
		View: view.New(view.Options{}), Store: signing.New(s, key, records.Domain{1}), Self: key.PublicKey(), Domain: records.Domain{1}, Secs: secs[0], Doubt: 15 * time.Second,
		Publish: func(all []statement.Signed) {
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, x := range all {
				require.NoError(t, x.Verify(records.Domain{1}, records.Wallets))
				b.out = append(b.out, x.Statement)
			}
		},
		Sealed:  func(p records.Period) { b.seal = append(b.seal, p) },
		Damaged: func(err error) { t.Errorf("damaged: %v", err) },
		Log:     zerolog.Nop(),
		Now:     func() time.Time { return b.at },
	})
	require.NoError(t, err)
	n, _ := sampleNode()
	b.o.View.Put(n.Address, n)
	return b
}

// restart replaces the recorder by one that knows what the store keeps.
func (b *recorderFixture) restart(t *testing.T) {
	again, err := NewRecorder(b.o)
	require.NoError(t, err)
	b.Recorder = again
}

func (b *recorderFixture) lease(change func(*market.Lease)) solana.PublicKey {
	l := &market.Lease{Meta: market.Meta{Address: solana.PublicKey{7}}}
	l.Lease.Node, l.Lease.Status, l.StartedAt, l.FundedUntil = solana.PublicKey{1}, uint8(market.LeaseRunning), 605, 10_000
	if change != nil {
		change(l)
	}
	b.o.View.Put(l.Address, l)
	return l.Address
}

// check records a liveness check at a second and returns the statements.
func (b *recorderFixture) check(t *testing.T, at int64, passed bool, leases ...solana.PublicKey) []records.CheckStatement {
	b.at, b.out = time.Unix(at, 0), nil
	f := Finding{Node: solana.PublicKey{1}, Kind: records.CheckLiveness, Passed: passed, At: b.at, Latency: 3 * time.Millisecond}
	if passed {
		f.Liveness = &messages.Liveness{}
		for _, l := range leases {
			f.Liveness.Leases = append(f.Liveness.Leases, messages.LeaseStatus{Lease: l, State: messages.LeaseRunning})
		}
	}
	require.NoError(t, b.recordInOrder([]Finding{f}))
	return b.out
}

func covered(all []records.CheckStatement) (node, lease [2]uint32) {
	for _, s := range all {
		i := 0
		if !s.Passed {
			i = 1
		}
		if s.Lease.IsZero() {
			node[i] += s.CoveredSeconds
		} else {
			lease[i] += s.CoveredSeconds
		}
	}
	return node, lease
}

func TestAPeriodOfStatements(t *testing.T) {
	b := newRecorderFixture(t, filepath.Join(t.TempDir(), "k.db"), 600)
	lease := b.lease(nil)
	var all []records.CheckStatement
	all = append(all, b.check(t, 610, true, lease)...)
	all = append(all, b.check(t, 625, true, lease)...)
	require.Empty(t, all, "what passes can wait")
	require.Empty(t, b.check(t, 630, true), "the first time that a live node leaves out a lease, no statement is made")
	all = append(all, b.check(t, 640, true)...)
	all = append(all, b.check(t, 650, false)...)
	node, leased := covered(all)
	require.Equal(t, [2]uint32{40, 10}, node)
	require.Equal(t, [2]uint32{20, 15}, leased, "5 before its start are nobody's; what failed again can wait")

	b.at, b.out = time.Unix(660, 0).Add(2*sealAfter), nil
	require.NoError(t, b.sealDue())
	require.Equal(t, []records.Period{10}, b.seal)
	all = append(all, b.out...)
	node, leased = covered(all)
	require.Equal(t, [2]uint32{40, 20}, node, "all of the period")
	require.Equal(t, [2]uint32{20, 35}, leased)
	for _, s := range all {
		require.EqualValues(t, 10, s.Period)
		require.LessOrEqual(t, s.CheckedAt, int64(660))
	}
	require.NoError(t, b.sealDue(), "nothing is sealed twice")
	require.Len(t, b.seal, 1)
}

// A finding of the next period that is there before the seal leaves the rest of the old one covered.
func TestFindingsAroundThePeriodsEnd(t *testing.T) {
	b := newRecorderFixture(t, filepath.Join(t.TempDir(), "k.db"), 600)
	var all []records.CheckStatement
	for at := int64(615); at <= 660; at += 15 {
		all = append(all, b.check(t, at, true)...)
	}
	b.at, b.out = time.Unix(660, 0).Add(2*sealAfter), nil
	require.NoError(t, b.sealDue())
	all = append(all, b.out...)
	sums := map[records.Period]uint32{}
	for _, s := range all {
		sums[s.Period] += s.CoveredSeconds
	}
	require.Equal(t, map[records.Period]uint32{10: 60}, sums)
	// A late one, of the sealed period, counts for the running one.
	late := b.check(t, 659, false)
	require.NotEmpty(t, late)
	for _, s := range late {
		require.EqualValues(t, 11, s.Period)
	}
}

func TestALeaseEndsWithinThePeriod(t *testing.T) {
	b := newRecorderFixture(t, filepath.Join(t.TempDir(), "k.db"), 600)
	lease := b.lease(nil)
	all := b.check(t, 620, true, lease)
	b.lease(func(l *market.Lease) { l.Lease.Status, l.EndedAt = uint8(market.LeaseEnded), 633 })
	all = append(all, b.check(t, 640, true)...)
	b.at, b.out = time.Unix(661, 0), nil
	require.NoError(t, b.sealDue())
	_, leased := covered(append(all, b.out...))
	require.Equal(t, [2]uint32{28, 0}, leased, "from its start to its end, no more")
}

// A report speaks of addresses. The machine is away, its lease ends by what an earlier report says, and a new one has its
// address in the same period.
func TestANewLeaseHasNothingOfTheOneBeforeIt(t *testing.T) {
	for name, next := range map[string]func(t *testing.T, b *recorderFixture, lease solana.PublicKey) []records.CheckStatement{
		"that is up": func(t *testing.T, b *recorderFixture, lease solana.PublicKey) []records.CheckStatement {
			return append(b.check(t, 705, true, lease), b.check(t, 716, true, lease)...)
		},
		"whose answer is lost": func(t *testing.T, b *recorderFixture, lease solana.PublicKey) []records.CheckStatement {
			b.out = nil
			f := Finding{Node: solana.PublicKey{1}, Kind: records.CheckLiveness, Unknown: true, At: time.Unix(702, 0)}
			require.NoError(t, b.recordInOrder([]Finding{f}))
			lost := b.out
			return append(lost, b.check(t, 716, true, lease)...)
		},
		"that nobody checked": func(*testing.T, *recorderFixture, solana.PublicKey) []records.CheckStatement { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			b := newRecorderFixture(t, filepath.Join(t.TempDir(), "k.db"), 600)
			lease := b.lease(nil)
			b.check(t, 615, true, lease)
			require.NotEmpty(t, b.check(t, 630, false))
			b.check(t, 645, false)
			b.at = time.Unix(661, 0)
			require.NoError(t, b.sealDue())
			require.Empty(t, b.check(t, 675, false), "it is still down")
			require.Empty(t, b.check(t, 690, false))

			b.lease(func(l *market.Lease) { l.StartedAt = 700 })
			all := next(t, b, lease)
			b.at, b.out = time.Unix(721, 0), nil
			require.NoError(t, b.sealDue())
			_, leased := covered(append(all, b.out...))
			require.LessOrEqual(t, leased[0], uint32(20), "no time before its start")
			require.Zero(t, leased[1], "no downtime of the former lease")
		})
	}
}

func TestARestartCoversNothingTwice(t *testing.T) {
	b := newRecorderFixture(t, filepath.Join(t.TempDir(), "k.db"), 600)
	all := append(b.check(t, 620, true), b.check(t, 630, false)...)
	restart := func() { b.restart(t) }
	restart()
	all = append(all, b.check(t, 640, true)...)
	restart() // the passed check is forgotten, and its time with it
	all = append(all, b.check(t, 650, true)...)
	b.at, b.out = time.Unix(661, 0), nil
	require.NoError(t, b.sealDue())
	node, _ := covered(append(all, b.out...))
	require.Equal(t, [2]uint32{50, 10}, node)
}

func TestASecondIsSpokenForOnce(t *testing.T) {
	b := newRecorderFixture(t, filepath.Join(t.TempDir(), "k.db"), 600)
	b.check(t, 630, true)
	out := b.check(t, 630, false)
	require.Len(t, out, 1, "two answers for one second: the first stands")
	require.True(t, out[0].Passed)
	b.restart(t)
	require.Empty(t, b.check(t, 630, false), "also after a restart")
}

// A check that another keeper's failed check led to speaks for no time.
func TestAPointCheckCoversNothing(t *testing.T) {
	b := newRecorderFixture(t, filepath.Join(t.TempDir(), "k.db"), 600)
	for i, passed := range []bool{true, false} {
		b.out = nil
		f := Finding{Node: solana.PublicKey{1}, Kind: records.CheckLiveness, Passed: passed, At: time.Unix(620+int64(i), 0), Point: true}
		require.NoError(t, b.recordInOrder([]Finding{f}))
		require.Len(t, b.out, 1)
		require.Equal(t, passed, b.out[0].Passed)
		require.Zero(t, b.out[0].CoveredSeconds)
	}
	b.at, b.out = time.Unix(661, 0), nil
	require.NoError(t, b.sealDue())
	require.Empty(t, b.out)
}

func TestOtherFindings(t *testing.T) {
	b := newRecorderFixture(t, filepath.Join(t.TempDir(), "k.db"), 600)
	work := Finding{Node: solana.PublicKey{1}, Kind: records.CheckWork, Passed: true, At: time.Unix(661, 0), Period: 10, Figures: records.Figures{First: 9, Second: 4}, Detail: [32]byte{5}}
	require.NoError(t, b.record([]Finding{work}))
	require.Len(t, b.out, 1)
	require.EqualValues(t, 660, b.out[0].CheckedAt, "answers that cross the end belong to the period of the question")
	require.Equal(t, records.Figures{First: 9, Second: 4}, b.out[0].Figures)
	b.out, work.Period = nil, 9
	require.NoError(t, b.record([]Finding{work}))
	require.Empty(t, b.out, "too late")
	asleep, _ := sampleNode()
	asleep.Node.Status = uint8(market.NodeHibernated)
	b.o.View.Put(asleep.Address, asleep)
	require.Empty(t, b.check(t, 630, false), "nobody asks a node that sleeps")
}

// damagedStore cannot be trusted.
type damagedStore struct{ Store }

func (damagedStore) SignStatements([]records.CheckStatement) ([]store.Signed, []store.Refusal, error) {
	return nil, nil, store.ErrCorrupt
}

func TestDamageStopsTheRecorder(t *testing.T) {
	b := newRecorderFixture(t, filepath.Join(t.TempDir(), "k.db"), 600)
	b.o.Store = damagedStore{b.o.Store}
	told := make(chan error, 1)
	b.o.Damaged = func(err error) { told <- err }
	done := make(chan error, 1)
	go func() { done <- b.Run(t.Context()) }()
	b.Add(t.Context(), Finding{Node: solana.PublicKey{1}, Kind: records.CheckLiveness, At: b.at})
	select {
	case err := <-done:
		require.ErrorIs(t, err, store.ErrCorrupt)
		require.ErrorIs(t, <-told, store.ErrCorrupt)
	case <-time.After(5 * time.Second):
		t.Fatal("it goes on")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.Add(ctx, Finding{})
	require.True(t, errors.Is(ctx.Err(), context.Canceled))
}
