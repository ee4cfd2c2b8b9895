package volumes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

// chain says what tests want of orders.
type chain map[string]Standing

func (c chain) standing(_ context.Context, order string) (Standing, error) {
	if s, ok := c[order]; ok {
		return s, nil
	}
	return Standing{Ended: -1}, nil
}

// computer is a store of a customer on one computer, with the key of that computer.
func computer(s *s3test.Server, c chain, key byte) *Store {
	price, _ := ParsePrice("0.5 USD")
	return New(Options{
		Folder: "team", Cluster: "cluster", Wallet: "wallet", Standing: c.standing, Price: price,
		Open: func(folder string) (messages.Backup, error) {
			of := sha256.Sum256(append([]byte{key}, folder...))
			b := s.Backup(of[:])
			b.Prefix = folder
			return b, nil
		},
	})
}

// machine writes snapshots of a lease.
type machine struct {
	*snapshot.Bucket
	root *os.Root
}

func machineOf(t *testing.T, s *Store, lease string, from snapshot.Hash) machine {
	t.Helper()
	b, err := s.open("data")
	require.NoError(t, err)
	b.For(lease)
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { root.Close() })
	if from != (snapshot.Hash{}) {
		require.NoError(t, b.Restore(t.Context(), root, from))
	}
	return machine{b, root}
}

func (m machine) save(t *testing.T, content string) snapshot.Hash {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(m.root.Name(), "x"), []byte(content), 0o600))
	h, err := m.Save(t.Context(), m.root, 1<<20)
	require.NoError(t, err)
	return h
}

var data = messages.Volume{Name: "data", MiB: 16, Path: "/data"}

const live = "lease L, which is running"

// A second lease begins with what the first has left, on another computer too. While the first may write, nobody else has the volume.
func TestAVolumeGoesFromLeaseToLease(t *testing.T) {
	bucket := s3test.Start(t, nil)
	c := chain{}
	one, other := computer(bucket, c, 1), computer(bucket, c, 1)
	ctx := t.Context()

	_, err := one.Find(ctx, messages.Volume{Name: "data"}, snapshot.Hash{}, false)
	require.ErrorIs(t, err, ErrSize, "a new one without a size")
	_, err = one.Show(ctx, "data")
	require.ErrorIs(t, err, ErrNone)
	found, err := one.Find(ctx, messages.Volume{Name: "data", MiB: 16}, snapshot.Hash{}, false)
	require.NoError(t, err)
	require.Equal(t, Found{Volume: data, New: true}, found)

	found, err = one.Claim(ctx, "order1", data, snapshot.Hash{})
	require.NoError(t, err)
	require.Zero(t, found.From)
	_, err = other.Claim(ctx, "order2", data, snapshot.Hash{})
	require.ErrorIs(t, err, ErrInUse, "the order may come")
	bucket.Advance(2 * placeTime)
	_, err = other.Find(ctx, data, snapshot.Hash{}, false)
	require.NoError(t, err, "it never came")
	found, err = one.Claim(ctx, "order1", data, snapshot.Hash{})
	require.NoError(t, err, "it comes now")

	c["order1"] = Standing{Live: live, Lease: "L"}
	require.NoError(t, one.Assign(ctx, "data", "order1", "lease1", snapshot.Hash{}))
	m := machineOf(t, one, "lease1", found.From)
	m.save(t, "first")
	_, err = other.Claim(ctx, "order2", data, snapshot.Hash{})
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorContains(t, err, live)
	_, err = other.Delete(ctx, "data")
	require.ErrorIs(t, err, ErrInUse)
	last := m.save(t, "second")
	info, err := other.Show(ctx, "data")
	require.NoError(t, err)
	require.Equal(t, live, info.UsedBy.Says)
	require.Equal(t, 2, info.Snapshots)
	require.Equal(t, int64(len("second")), info.Newest.Bytes)
	require.Equal(t, last.String(), info.Newest.Hash)
	require.NotEmpty(t, info.Cost)
	require.Equal(t, "USD", info.Currency)

	// The lease has ended: its last snapshot is waited for.
	c["order1"] = Standing{Ended: time.Second}
	claimed := make(chan Found, 1)
	go func() {
		f, err := other.Claim(ctx, "order2", messages.Volume{Name: "data", MiB: 16, Path: "/mnt"}, snapshot.Hash{})
		if err == nil {
			claimed <- f
		}
		close(claimed)
	}()
	select {
	case <-claimed:
		t.Fatal("the last snapshot was not waited for")
	case <-time.After(2 * look):
	}
	last = m.save(t, "third")
	require.NoError(t, m.Over(ctx))
	found, ok := <-claimed
	require.True(t, ok)
	require.Equal(t, last, found.From)
	require.Empty(t, found.Lost)
	c["order2"] = Standing{Live: live}
	require.NoError(t, other.Assign(ctx, "data", "order2", "lease2", snapshot.Hash{}))
	n := machineOf(t, other, "lease2", found.From)
	raw, err := n.root.ReadFile("x")
	require.NoError(t, err)
	require.Equal(t, "third", string(raw))

	// A machine that everybody thought lost comes back: what it writes counts no more.
	newest := n.save(t, "fourth")
	bucket.Advance(time.Minute)
	m.save(t, "of a ghost")
	info, err = one.Show(ctx, "data")
	require.NoError(t, err)
	require.Equal(t, newest.String(), info.Newest.Hash)
	require.Equal(t, "/mnt", info.Path)

	// The second machine is lost: the volume is as its last snapshot, and the next customer is told.
	c["order2"] = Standing{Ended: 2 * LastSnapshotTime}
	found, err = one.Claim(ctx, "order3", data, snapshot.Hash{})
	require.NoError(t, err)
	require.Equal(t, newest, found.From)
	require.Equal(t, "lease2", found.Lost)
	require.NoError(t, one.Release(ctx, "data", "order3"))
	all, err := other.List(ctx)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Nil(t, all[0].UsedBy, "nothing came of the order")
	require.Equal(t, newest.String(), all[0].Newest.Hash)

	_, err = one.Find(ctx, messages.Volume{Name: "data"}, snapshot.Hash{}, false)
	require.NoError(t, err, "its size is known")
	_, err = other.Delete(ctx, "data")
	require.NoError(t, err)
	for name := range bucket.Objects(t) {
		require.NotContains(t, name, "/data/", "all of it is gone")
	}
	_, err = other.Delete(ctx, "data")
	require.ErrorIs(t, err, ErrNone)
}

// A claim that another order has taken over says nothing any more, whenever it is written again: it neither hides what the other has
// written, nor gives its order the volume.
func TestAClaimThatWasTakenOver(t *testing.T) {
	bucket := s3test.Start(t, nil)
	c := chain{}
	one, other := computer(bucket, c, 1), computer(bucket, c, 1)
	ctx := t.Context()
	_, err := one.Claim(ctx, "order1", data, snapshot.Hash{})
	require.NoError(t, err)
	name := one.Folder("data") + "/claims/order1"
	late := bucket.Objects(t)[name]
	require.NotEmpty(t, late)
	bucket.Advance(2 * placeTime)
	_, err = other.Claim(ctx, "order2", data, snapshot.Hash{})
	require.NoError(t, err)
	c["order2"] = Standing{Live: live}
	require.NoError(t, other.Assign(ctx, "data", "order2", "lease2", snapshot.Hash{}))
	m := machineOf(t, other, "lease2", snapshot.Hash{})
	newest := m.save(t, "of the other")

	bucket.Advance(time.Minute)
	bucket.Put(t, name, late)
	require.ErrorIs(t, one.Assign(ctx, "data", "order1", "lease1", snapshot.Hash{}), ErrInUse)
	_, err = one.Claim(ctx, "order1", data, snapshot.Hash{})
	require.ErrorIs(t, err, ErrInUse)
	require.NoError(t, one.Release(ctx, "data", "order1"))
	bucket.Put(t, name, late)
	require.NoError(t, m.Over(ctx))
	c["order2"] = Standing{Ended: 2 * LastSnapshotTime}
	bucket.Advance(2 * placeTime)
	info, err := one.Show(ctx, "data")
	require.NoError(t, err)
	require.Equal(t, newest.String(), info.Newest.Hash)
	found, err := one.Claim(ctx, "order1", data, snapshot.Hash{})
	require.NoError(t, err)
	require.Equal(t, newest, found.From)
	require.NoError(t, one.Assign(ctx, "data", "order1", "lease1", snapshot.Hash{}))
}

// A computer sleeps after it has looked and before it has decided. Meanwhile its claim has become old, and another has the volume.
func TestAComputerThatSleptWhileItClaimed(t *testing.T) {
	var bucket *s3test.Server
	var writes atomic.Int32
	asleep := func() {}
	bucket = s3test.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/claims/order1") && writes.Add(1) == 2 {
				asleep()
			}
			next.ServeHTTP(w, r)
		})
	})
	c := chain{}
	one, other := computer(bucket, c, 1), computer(bucket, c, 1)
	ctx := t.Context()
	var newest snapshot.Hash
	asleep = func() {
		bucket.Advance(2 * placeTime)
		_, err := other.Claim(ctx, "order2", data, snapshot.Hash{})
		require.NoError(t, err)
		require.NoError(t, other.Assign(ctx, "data", "order2", "lease2", snapshot.Hash{}))
		newest = machineOf(t, other, "lease2", snapshot.Hash{}).save(t, "of the other")
	}
	_, err := one.Claim(ctx, "order1", data, snapshot.Hash{})
	require.ErrorIs(t, err, ErrInUse)
	c["order2"] = Standing{Ended: 2 * LastSnapshotTime}
	found, err := one.Find(ctx, data, snapshot.Hash{}, false)
	require.NoError(t, err)
	require.Equal(t, newest, found.From)
}

// A mark that another client removes between the list and the look is one that counts no more.
func TestAMarkThatGoesMeanwhile(t *testing.T) {
	var gone atomic.Bool
	bucket := s3test.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if gone.Load() && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/writers/") {
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte("<Error><Code>NoSuchKey</Code></Error>"))
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s := computer(bucket, chain{}, 1)
	ctx := t.Context()
	_, err := s.Claim(ctx, "order1", data, snapshot.Hash{})
	require.NoError(t, err)
	require.NoError(t, s.Assign(ctx, "data", "order1", "lease1", snapshot.Hash{}))
	machineOf(t, s, "lease1", snapshot.Hash{}).save(t, "x")
	gone.Store(true)
	_, err = s.Show(ctx, "data")
	require.NoError(t, err)
	b, err := s.open("data")
	require.NoError(t, err)
	_, err = b.Prune(ctx, snapshot.PruneOptions{Keep: 1, Grace: snapshot.MinGrace})
	require.NoError(t, err)
}

// Whoever deletes a volume stops when others may have it again.
func TestADeletionThatIsLateStops(t *testing.T) {
	bucket := s3test.Start(t, nil)
	s := computer(bucket, chain{}, 1)
	ctx := t.Context()
	m := machineOf(t, s, "lease1", snapshot.Hash{})
	m.save(t, "x")
	require.NoError(t, m.PutClaim(ctx, snapshot.Claim{Order: erasing}))
	before := bucket.Objects(t)
	late := errors.New("late")
	require.ErrorIs(t, m.Erase(ctx, erasing, func(context.Context) error { return late }), late)
	require.Equal(t, before, bucket.Objects(t))
	require.NoError(t, m.Erase(ctx, erasing, func(context.Context) error { return nil }))
	require.Empty(t, bucket.Objects(t))
}

// A deletion that was cut off, as a request over HTTP is that takes too long, is repeated at once. A bucket that stalls holds nobody longer
// than the caller wants.
func TestADeletionIsRepeatedAtOnce(t *testing.T) {
	var stalls atomic.Value
	stalls.Store(http.MethodPost) // that of a removal of many objects
	stalled := make(chan struct{}, 1)
	bucket := s3test.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == stalls.Load() || r.Method == http.MethodDelete && stalls.Load() == http.MethodPut {
				_, _ = io.Copy(io.Discard, r.Body)
				select {
				case stalled <- struct{}{}:
				default:
				}
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s := computer(bucket, chain{}, 1)
	machineOf(t, s, "lease1", snapshot.Hash{}).save(t, "x")
	erase := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := s.Delete(ctx, "data")
		erase <- err
	}()
	<-stalled
	cancel()
	require.ErrorIs(t, <-erase, context.Canceled)
	stalls.Store("")
	_, err := s.Delete(t.Context(), "data")
	require.NoError(t, err)

	stalls.Store(http.MethodPut)
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = s.Claim(ctx, "order1", data, snapshot.Hash{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// Of clients that claim at once at most one has the volume.
func TestOneOfManyHasTheVolume(t *testing.T) {
	bucket := s3test.Start(t, nil)
	ctx := t.Context()
	const clients = 6
	type result struct{ err error }
	results := make(chan result, clients)
	for i := range clients {
		s := computer(bucket, chain{}, 1)
		go func() {
			_, err := s.Claim(ctx, "order"+string(rune('a'+i)), data, snapshot.Hash{})
			results <- result{err}
		}()
	}
	got := 0
	for range clients {
		if r := <-results; r.err == nil {
			got++
		} else {
			require.ErrorIs(t, r.err, ErrInUse)
		}
	}
	require.LessOrEqual(t, got, 1)
}

// What prune removes is never what the next lease begins with.
func TestPruneKeepsTheNewest(t *testing.T) {
	bucket := s3test.Start(t, nil)
	s := computer(bucket, chain{}, 1)
	ctx := t.Context()
	_, err := s.Claim(ctx, "order1", data, snapshot.Hash{})
	require.NoError(t, err)
	require.NoError(t, s.Assign(ctx, "data", "order1", "lease1", snapshot.Hash{}))
	m := machineOf(t, s, "lease1", snapshot.Hash{})
	m.save(t, "old")
	newest := m.save(t, "newest")
	require.NoError(t, m.Over(ctx))
	ghost := machineOf(t, s, "another", snapshot.Hash{})
	bucket.Advance(time.Minute)
	ghost.save(t, "of a ghost")
	require.NoError(t, ghost.Over(ctx))
	bucket.Advance(72 * time.Hour)
	b, err := s.open("data")
	require.NoError(t, err)
	_, err = b.Prune(ctx, snapshot.PruneOptions{Keep: 1, Grace: 48 * time.Hour})
	require.NoError(t, err)
	found, err := s.Find(ctx, data, snapshot.Hash{}, false)
	require.NoError(t, err)
	require.Equal(t, newest, found.From)
	machineOf(t, s, "lease2", found.From)
}

// A volume that is taken while old snapshots are removed keeps the one with which its next lease begins.
func TestPruneWhileAVolumeIsTaken(t *testing.T) {
	armed, take := atomic.Bool{}, func() {}
	bucket := s3test.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Query().Get("prefix"), "/writers/") && armed.CompareAndSwap(true, false) {
				take()
			}
			next.ServeHTTP(w, r)
		})
	})
	s, ctx := computer(bucket, chain{}, 1), t.Context()
	_, err := s.Claim(ctx, "order1", data, snapshot.Hash{})
	require.NoError(t, err)
	require.NoError(t, s.Assign(ctx, "data", "order1", "lease1", snapshot.Hash{}))
	m := machineOf(t, s, "lease1", snapshot.Hash{})
	newest := m.save(t, "newest")
	require.NoError(t, m.Over(ctx))
	bucket.Advance(time.Minute)
	machineOf(t, s, "another", snapshot.Hash{}).save(t, "of a ghost")
	bucket.Advance(72 * time.Hour)
	b, err := s.open("data")
	require.NoError(t, err)
	take = func() {
		found, err := s.Claim(ctx, "order2", data, snapshot.Hash{})
		require.NoError(t, err)
		require.Equal(t, newest, found.From)
	}
	armed.Store(true)
	_, err = b.Prune(ctx, snapshot.PruneOptions{Keep: 1, Grace: 48 * time.Hour})
	require.NoError(t, err)
	require.False(t, armed.Load())
	machineOf(t, s, "lease2", newest)
}

// A machine that names a snapshot which it never made locks nothing: the volume and all others are listed, an older snapshot can be
// chosen, and it can be deleted.
func TestAMachineThatNamesNoSnapshot(t *testing.T) {
	bucket := s3test.Start(t, nil)
	c := chain{}
	s, ctx := computer(bucket, c, 1), t.Context()
	_, err := s.Claim(ctx, "order1", data, snapshot.Hash{})
	require.NoError(t, err)
	require.NoError(t, s.Assign(ctx, "data", "order1", "lease1", snapshot.Hash{}))
	good := machineOf(t, s, "lease1", snapshot.Hash{}).save(t, "good")
	bucket.Advance(time.Second)
	bucket.Put(t, s.Folder("data")+"/writers/liar", []byte(`{"snapshot":"`+snapshot.Hash{9}.String()+`","lease":"lease1"}`))
	c["order1"] = Standing{Ended: time.Second}
	all, err := s.List(ctx)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.NotNil(t, all[0].UsedBy, "its last snapshot may come")
	c["order1"] = Standing{Ended: 2 * LastSnapshotTime}
	_, err = s.Find(ctx, data, snapshot.Hash{}, false)
	require.ErrorIs(t, err, ErrLost)
	_, err = s.Claim(ctx, "order2", data, snapshot.Hash{})
	require.ErrorIs(t, err, ErrLost)
	found, err := s.Claim(ctx, "order3", data, good)
	require.NoError(t, err)
	require.Equal(t, good, found.From)
	require.NoError(t, s.Release(ctx, "data", "order3"))
	_, err = s.Delete(ctx, "data")
	require.NoError(t, err)
}

// A volume of another key is shown as one, and neither used nor deleted.
func TestAVolumeOfAnotherKey(t *testing.T) {
	bucket := s3test.Start(t, nil)
	mine, other := computer(bucket, chain{}, 1), computer(bucket, chain{}, 2)
	ctx := t.Context()
	_, err := mine.Claim(ctx, "order1", data, snapshot.Hash{})
	require.NoError(t, err)
	before := bucket.Objects(t)
	_, err = other.Claim(ctx, "order2", data, snapshot.Hash{})
	require.ErrorIs(t, err, snapshot.ErrDamaged)
	_, err = other.Delete(ctx, "data")
	require.ErrorIs(t, err, snapshot.ErrDamaged)
	all, err := other.List(ctx)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.NotEmpty(t, all[0].Unreadable)
	for name, raw := range before {
		require.True(t, bytes.Equal(raw, bucket.Objects(t)[name]), name)
	}
}

// A volume that is too small for its files is refused before anything is bought.
func TestASizeThatIsTooSmall(t *testing.T) {
	bucket := s3test.Start(t, nil)
	s := computer(bucket, chain{}, 1)
	ctx := t.Context()
	_, err := s.Claim(ctx, "order1", messages.Volume{Name: "data", MiB: 64, Path: "/data"}, snapshot.Hash{})
	require.NoError(t, err)
	require.NoError(t, s.Assign(ctx, "data", "order1", "lease1", snapshot.Hash{}))
	m := machineOf(t, s, "lease1", snapshot.Hash{})
	require.NoError(t, os.WriteFile(filepath.Join(m.root.Name(), "large"), nil, 0o600))
	require.NoError(t, os.Truncate(filepath.Join(m.root.Name(), "large"), 20<<20))
	_, err = m.Save(ctx, m.root, 1<<30)
	require.NoError(t, err)
	require.NoError(t, m.Over(ctx))
	_, err = s.Find(ctx, data, snapshot.Hash{}, false)
	require.ErrorIs(t, err, ErrSize)
	require.ErrorContains(t, err, "20 MiB")
}

func TestTextsOfVolumes(t *testing.T) {
	for text, want := range map[string]messages.Volume{
		"data": {Name: "data"}, "data:50GiB": {Name: "data", MiB: 50 << 10}, "data:/mnt": {Name: "data", Path: "/mnt"}, "data:1TiB:/mnt/x": {Name: "data", MiB: 1 << 20, Path: "/mnt/x"},
	} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "Data", "data:", "data:1GB", "data:0GiB", "data:1GiB:", "data:1GiB:/proc", "data:/", "a/b", "data:1GiB:here"} {
		_, err := Parse(text)
		require.ErrorIs(t, err, messages.ErrVolume, text)
	}
}

func TestPrices(t *testing.T) {
	p, err := ParsePrice("0.5 USD")
	require.NoError(t, err)
	require.Equal(t, "1.0000", p.of(2<<30))
	none, err := ParsePrice("")
	require.NoError(t, err)
	require.Empty(t, none.of(1<<30))
	for _, text := range []string{"free", "-1", "0", "0.02 US D", "NaN", "1e9"} {
		_, err := ParsePrice(text)
		require.Error(t, err, text)
	}
}
