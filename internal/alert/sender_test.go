package alert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/boltstore"
)

// box collects what a target gets, and fails while it is told to.
type box struct {
	mu    sync.Mutex
	got   []string
	fails atomic.Bool
}

func (b *box) target(id string) Target {
	return Target{ID: id, Name: "test://" + id, send: func(_ context.Context, n Notice) error {
		if b.fails.Load() {
			return errors.New("not now")
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.got = append(b.got, n.Subject)
		return nil
	}}
}

func (b *box) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.got)
}

// memory keeps the state of a sender.
type memory struct{ raw []byte }

func (m *memory) Load() ([]byte, error) { return m.raw, nil }
func (m *memory) Save(raw []byte) error { m.raw = bytes.Clone(raw); return nil }

// hands is a clock that a test sets.
type hands struct{ at atomic.Int64 }

func (h *hands) now() time.Time        { return time.Unix(0, h.at.Load()) }
func (h *hands) move(by time.Duration) { h.at.Add(int64(by)) }

func begun() *hands {
	h := &hands{}
	h.at.Store(time.Unix(1_700_000_000, 0).UnixNano())
	return h
}

// running is a sender that sends until stop.
func running(t *testing.T, o Options) (s *Sender, stop func()) {
	t.Helper()
	if o.Memory == nil {
		o.Memory = &memory{}
	}
	o.Source, o.Retry = "test", time.Millisecond
	s, err := New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
	t.Cleanup(stop)
	return s, stop
}

func (b *box) waits(t *testing.T, want ...string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(b.all()) >= len(want) }, time.Minute, time.Millisecond, "%v", want)
	time.Sleep(20 * time.Millisecond)
	require.Equal(t, want, b.all())
}

func about(key string) Notice { return Notice{Key: key, Subject: key, Severity: Warning} }

// A condition is told once, also by the next process, and again when it came back.
func TestOnceOverARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	open := func() *boltstore.DB {
		db, err := boltstore.Open(path, boltstore.Config{Name: "x", Schema: 1, Owner: []byte("o"), DescribeOwner: func([]byte) string { return "o" }, NoSync: true})
		require.NoError(t, err)
		return db
	}
	b, clock := &box{}, begun()
	db := open()
	s, stop := running(t, Options{Targets: []Target{b.target("a")}, Memory: db.Kept("notices"), Now: clock.now})
	for range 3 {
		s.Standing("node", []Notice{about("fault"), about("fault")})
		s.Event(about("lease-ended"))
	}
	b.waits(t, "fault", "lease-ended")
	stop()
	require.NoError(t, db.Close())

	db = open()
	defer func() { require.NoError(t, db.Close()) }()
	s, stop = running(t, Options{Targets: []Target{b.target("a")}, Memory: db.Kept("notices"), Now: clock.now})
	defer stop()
	s.Standing("node", []Notice{about("fault")})
	s.Event(about("lease-ended"))
	s.Standing("other", []Notice{about("fault")})
	b.waits(t, "fault", "lease-ended", "fault")
	s.Standing("node", nil)
	clock.move(calm - time.Second)
	s.Standing("node", []Notice{about("fault")}) // it was away for a moment
	s.Standing("node", nil)
	clock.move(calm)
	s.Standing("node", nil)
	b.waits(t, "fault", "lease-ended", "fault")
	s.Standing("node", []Notice{about("fault")})
	b.waits(t, "fault", "lease-ended", "fault", "fault")
	require.Equal(t, uint64(2), s.Counts().Sent)
}

// A notice that was not delivered before the process ended is sent by the next one.
func TestUndeliveredSurvivesARestart(t *testing.T) {
	b, m := &box{}, &memory{}
	b.fails.Store(true)
	s, stop := running(t, Options{Targets: []Target{b.target("a")}, Memory: m})
	s.Event(about("one"))
	require.Eventually(t, func() bool { return s.Counts().Failed > 3 }, time.Minute, time.Millisecond)
	stop()
	b.fails.Store(false)
	_, stop = running(t, Options{Targets: []Target{b.target("a")}, Memory: m})
	defer stop()
	b.waits(t, "one")
}

// A condition that must last is told only then, and one that ends before it was told is forgotten.
func TestAfter(t *testing.T) {
	b, clock := &box{}, begun()
	s, _ := running(t, Options{Targets: []Target{b.target("a")}, Now: clock.now})
	n := about("no-leases")
	n.After = 10 * time.Minute
	s.Standing("node", []Notice{n})
	clock.move(9 * time.Minute)
	s.Standing("node", nil)
	s.Standing("node", []Notice{n})
	clock.move(9 * time.Minute)
	s.Standing("node", []Notice{n})
	b.waits(t)
	clock.move(time.Minute)
	s.Standing("node", []Notice{n})
	b.waits(t, "no-leases")
}

// A target gets so many notices an hour, the urgent ones first; a condition that ended meanwhile is left out.
func TestRate(t *testing.T) {
	b, clock := &box{}, begun()
	s, err := New(Options{Targets: []Target{b.target("a")}, Memory: &memory{}, Source: "test", PerHour: 3, Now: clock.now})
	require.NoError(t, err)
	for i := range 5 {
		s.Event(about(fmt.Sprint(i)))
	}
	urgent := about("urgent")
	urgent.Severity = Critical
	s.Event(urgent)
	s.Standing("g", []Notice{about("brief")})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	b.waits(t, "urgent", "0", "1")
	s.Standing("g", nil)
	clock.move(time.Hour)
	s.Event(about("5")) // wakes the target
	b.waits(t, "urgent", "0", "1", "2", "3", "4")
	cancel()
	<-done
}

// A target that hangs blocks neither the daemon nor another target, and the queue is bounded.
func TestAHangingServerBlocksNobody(t *testing.T) {
	b := &box{}
	var log bytes.Buffer
	s, stop := running(t, Options{Targets: []Target{target(t, "http://"+hanging(t)), b.target("b")}, PerHour: 1000, Log: zerolog.New(zerolog.SyncWriter(&log))})
	begun := time.Now()
	for i := range 2 * queueSize {
		s.Event(about(fmt.Sprint(i)))
		require.Eventually(t, func() bool { return len(b.all()) > i }, time.Minute, time.Millisecond)
	}
	require.Less(t, time.Since(begun), 10*time.Second)
	stop()
	require.Equal(t, uint64(queueSize), s.Counts().Dropped, "of those for the one that hangs")
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("too many notices wait")))
}

// A failure is logged once, and so is its end.
func TestFailuresAreLoggedOnce(t *testing.T) {
	server, asked, _ := answering(t, http.StatusInternalServerError)
	var log bytes.Buffer
	b := &box{}
	b.fails.Store(true)
	s, stop := running(t, Options{Targets: []Target{target(t, server.URL+"/secret"), b.target("b")}, Log: zerolog.New(zerolog.SyncWriter(&log))})
	s.Event(about("one"))
	for range 4 {
		<-asked
	}
	b.fails.Store(false)
	b.waits(t, "one")
	stop()
	require.Equal(t, 2, bytes.Count(log.Bytes(), []byte("cannot be delivered")), log.String())
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("delivered again")), log.String())
	require.NotContains(t, log.String(), "secret")
}

func TestOptions(t *testing.T) {
	_, err := New(Options{})
	require.ErrorContains(t, err, "Targets")
	b := &box{}
	s, _ := running(t, Options{Targets: []Target{b.target("a")}, Memory: &memory{raw: []byte(`{"known":{"event/x":{"told":true}},"queue":7}`)}})
	s.Event(about("x")) // what another version wrote keeps nobody from being told
	b.waits(t, "x")
}

func TestEventsAreForgotten(t *testing.T) {
	clock := begun()
	s := state{Known: map[string]known{"node/x": {Since: clock.now(), Told: true}}}
	for i := range maxKnown + 10 {
		s.Known[fmt.Sprintf("event/%d", i)] = known{Since: clock.now().Add(time.Duration(i) * time.Second), Told: true}
	}
	s.prune(clock.now())
	require.Len(t, s.Known, maxKnown+1)
	require.NotContains(t, s.Known, "event/9")
	s.prune(clock.now().Add(keepKnown + time.Hour))
	require.Len(t, s.Known, 1)
}
