//go:build linux

package snapshot

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/s3test"
)

const day = 24 * time.Hour

// folder is a job's volume in tests.
type folder struct {
	t    *testing.T
	dir  string
	root *os.Root
}

func newFolder(t *testing.T) folder {
	t.Helper()
	dir := t.TempDir()
	return folder{t, dir, rootOf(t, dir)}
}

// write replaces a file by one chunk that the text makes.
func (f folder) write(name, text string) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600))
}

func (f folder) save(b *Bucket) Hash {
	f.t.Helper()
	h, err := b.Save(f.t.Context(), f.root, noLimit)
	require.NoError(f.t, err)
	return h
}

// restored reads what a snapshot has in some files; nil where it cannot be restored.
func restored(t *testing.T, s *s3test.Server, h Hash, names ...string) (texts []string) {
	t.Helper()
	b, f := opened(t, s.Backup(key(1))), newFolder(t)
	if err := b.Restore(t.Context(), f.root, h); err != nil {
		return nil
	}
	require.NoError(t, b.Over(t.Context()))
	for _, name := range names {
		raw, err := os.ReadFile(filepath.Join(f.dir, name))
		require.NoError(t, err)
		texts = append(texts, string(raw))
	}
	return texts
}

func count(t *testing.T, s *s3test.Server, folder string) (n int) {
	t.Helper()
	for name := range s.Objects(t) {
		if strings.Contains(name, "/"+folder+"/") {
			n++
		}
	}
	return n
}

func pruned(t *testing.T, s *s3test.Server, o PruneOptions) Pruned {
	t.Helper()
	if o.Grace == 0 {
		o.Grace = MinGrace
	}
	p, err := opened(t, s.Backup(key(1))).Prune(t.Context(), o)
	require.NoError(t, err)
	return p
}

// Old snapshots go, and of their parts those that no other has. What stays can be restored.
func TestPruneRemovesWhatNoSnapshotNames(t *testing.T) {
	s, f := s3test.Start(t, nil), newFolder(t)
	b := opened(t, s.Backup(key(1)))
	f.write("same", "in all of them")
	var made []Hash
	for i := range 6 {
		f.write("new", fmt.Sprintf("version %d", i))
		made = append(made, f.save(b))
		s.Advance(day)
	}
	require.NoError(t, b.Over(t.Context()))
	require.Equal(t, Pruned{Kept: 6}, pruned(t, s, PruneOptions{Keep: 6}))
	require.Equal(t, Pruned{Kept: 6}, pruned(t, s, PruneOptions{Keep: 1, Grace: 10 * day}), "all of them are younger")

	o := PruneOptions{Keep: 2, Named: made[1:2], Dry: true}
	want := pruned(t, s, o)
	require.Equal(t, 3, want.Snapshots)
	require.Equal(t, 3, want.Chunks)
	require.Positive(t, want.Bytes)
	require.Equal(t, 6, count(t, s, "manifests"), "a dry run removes nothing")
	require.Equal(t, 7, count(t, s, "chunks"))
	o.Dry = false
	require.Equal(t, want, pruned(t, s, o))
	require.Equal(t, 3, count(t, s, "manifests"))
	require.Equal(t, 4, count(t, s, "chunks"))
	require.Zero(t, count(t, s, "writers"), "of writers that are over nothing stays")
	for i, h := range made {
		texts := restored(t, s, h, "same", "new")
		if i == 1 || i >= 4 {
			require.Equal(t, []string{"in all of them", fmt.Sprintf("version %d", i)}, texts)
		} else {
			require.Nil(t, texts)
		}
	}
	require.Equal(t, Pruned{Kept: 3}, pruned(t, s, o), "there is nothing more to remove")
	for _, o := range []PruneOptions{{Keep: 0, Grace: MinGrace}, {Keep: 1, Grace: MinGrace - 1}} {
		_, err := b.Prune(t.Context(), o)
		require.Error(t, err)
	}
}

// A writer goes on from its last snapshot however old it is and however many others have made; contents that come back
// after their chunk was removed are sent again.
func TestPruneLeavesWhatAWriterGoesOnFrom(t *testing.T) {
	s, f, g := s3test.Start(t, nil), newFolder(t), newFolder(t)
	b, other := opened(t, s.Backup(key(1))), opened(t, s.Backup(key(1)))
	f.write("base", "unchanged")
	f.write("x", "first")
	first := f.save(b)
	f.write("x", "second")
	second := f.save(b)
	for i := range 5 {
		s.Advance(10 * day)
		g.write("y", fmt.Sprint(i))
		g.save(other)
	}
	p := pruned(t, s, PruneOptions{Keep: 1})
	require.Equal(t, 2, p.Kept, "the newest, and the last of the other writer")
	require.Nil(t, restored(t, s, first, "x"))
	require.Equal(t, []string{"unchanged", "second"}, restored(t, s, second, "base", "x"))
	f.write("x", "first")
	third := f.save(b)
	s.Advance(2 * day)
	require.Equal(t, 2, pruned(t, s, PruneOptions{Keep: 1}).Kept)
	require.Equal(t, []string{"unchanged", "first"}, restored(t, s, third, "base", "x"))
	s.Advance(markTime)
	require.Equal(t, 1, pruned(t, s, PruneOptions{Keep: 1}).Kept, "a writer that was killed counts for a year")
}

// Whenever within a restore and the saves that follow another program prunes, or within a prune a lease begins with a
// snapshot that is about to be removed: a snapshot that was made is whole.
func TestPruneBesideAWriter(t *testing.T) {
	for name, outer := range map[string]func(*beside, *Bucket){"a prune within a lease": (*beside).lease, "a lease within a prune": (*beside).prune} {
		t.Run(name, func(t *testing.T) {
			for at := int64(1); ; at++ {
				var asked atomic.Int64
				w := &beside{t: t}
				w.s = s3test.Start(t, func(next http.Handler) http.Handler {
					return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
						if r.Header.Get("X-Outer") != "" && asked.Add(1) == at {
							within := opened(t, w.s.Backup(key(1)))
							if name == "a lease within a prune" {
								w.lease(within)
							} else {
								w.prune(within)
							}
						}
						next.ServeHTTP(rw, r)
					})
				})
				w.fill()
				b, err := Open(w.s.Backup(key(1)), outerTransport{})
				require.NoError(t, err)
				outer(w, b)
				w.whole(at)
				w.s.Advance(30 * day)
				w.prune(opened(t, w.s.Backup(key(1))))
				w.whole(at)
				if asked.Load() < at {
					require.Greater(t, at, int64(8))
					return
				}
			}
		})
	}
}

// beside is a lease that begins with an old snapshot, and a prune to which this is one too many.
type beside struct {
	t    *testing.T
	s    *s3test.Server
	from Hash
	made []Hash // by the lease; the last is what it goes on from
}

// fill makes two snapshots of writers that are over.
func (w *beside) fill() {
	f := newFolder(w.t)
	for _, text := range []string{"unchanged", "another"} {
		b := opened(w.t, w.s.Backup(key(1)))
		f.write("base", text)
		h := f.save(b)
		if w.from == (Hash{}) {
			w.from = h
		}
		require.NoError(w.t, b.Over(w.t.Context()))
		w.s.Advance(30 * day)
	}
}

func (w *beside) lease(b *Bucket) {
	f := newFolder(w.t)
	if b.Restore(w.t.Context(), f.root, w.from) != nil {
		return // it is removed already: the lease does not start
	}
	f.write("more", "of this lease")
	w.made = append(w.made, f.save(b))
}

func (w *beside) prune(b *Bucket) {
	if _, err := b.Prune(w.t.Context(), PruneOptions{Keep: 1, Grace: MinGrace}); err != nil {
		require.ErrorIs(w.t, err, ErrBucket) // it has met the lease
	}
}

func (w *beside) whole(at int64) {
	w.t.Helper()
	for _, h := range w.made {
		require.Equal(w.t, []string{"unchanged", "of this lease"}, restored(w.t, w.s, h, "base", "more"), "at request %d", at)
	}
}

// outerTransport marks the requests within which something else happens.
type outerTransport struct{}

func (outerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Outer", "yes")
	return http.DefaultTransport.RoundTrip(r)
}

// A Prune that is killed, after any request, leaves what stays whole; another one completes it.
func TestPruneIsCutOff(t *testing.T) {
	for after := int64(0); ; after++ {
		var asked atomic.Int64
		asked.Store(-1 << 40)
		s := s3test.Start(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) > after {
					w.WriteHeader(http.StatusForbidden)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		f := newFolder(t)
		b := opened(t, s.Backup(key(1)))
		f.write("same", "always")
		var last Hash
		for i := range 4 {
			f.write("new", fmt.Sprint(i))
			last = f.save(b)
			s.Advance(2 * day)
		}
		asked.Store(0)
		_, err := opened(t, s.Backup(key(1))).Prune(t.Context(), PruneOptions{Keep: 1, Grace: MinGrace})
		asked.Store(-1 << 40)
		require.Equal(t, []string{"always", "3"}, restored(t, s, last, "same", "new"), "cut off after %d requests", after)
		pruned(t, s, PruneOptions{Keep: 1})
		require.Equal(t, []string{"always", "3"}, restored(t, s, last, "same", "new"))
		require.Equal(t, 1, count(t, s, "manifests"))
		require.Equal(t, 2, count(t, s, "chunks"))
		if err == nil {
			require.Greater(t, after, int64(5))
			return
		}
		require.ErrorIs(t, err, ErrBucket)
	}
}

// Where Prune cannot know what the snapshots that stay have, it removes nothing.
func TestPruneRemovesNothingThatItCannotJudge(t *testing.T) {
	s, f := s3test.Start(t, nil), newFolder(t)
	b := opened(t, s.Backup(key(1)))
	var last Hash
	for i := range 3 {
		f.write("x", fmt.Sprint(i))
		last = f.save(b)
		s.Advance(2 * day)
	}
	before := s.Objects(t)
	refused := func(k byte, want error) {
		t.Helper()
		_, err := opened(t, s.Backup(key(k))).Prune(t.Context(), PruneOptions{Keep: 1, Grace: MinGrace})
		require.ErrorIs(t, err, want)
		require.Len(t, s.Objects(t), len(before))
	}
	refused(2, ErrDamaged)
	name := "team/training/manifests/" + last.String()
	s.Put(t, name, before[name][1:])
	refused(1, ErrDamaged)
	s.Put(t, name, before[name])

	missing := opened(t, s.Backup(key(1)))
	require.NoError(t, missing.mark(t.Context(), Hash{1}, false))
	before = s.Objects(t)
	refused(1, ErrBucket)
	require.Error(t, missing.Restore(t.Context(), newFolder(t).root, Hash{1}))
	pruned(t, s, PruneOptions{Keep: 1})
	require.Equal(t, 1, count(t, s, "manifests"), "a restore that has failed goes on from nothing")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Prune(ctx, PruneOptions{Keep: 1, Grace: MinGrace})
	require.Error(t, err)
}

// A snapshot of which a part may be too old when its list is written is not finished, and the next one goes on from there.
func TestASaveThatTakesTooLong(t *testing.T) {
	var slow func(*http.Request)
	s := s3test.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if slow != nil && r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/chunks/") {
				slow(r)
			}
			next.ServeHTTP(w, r)
		})
	})
	f := newFolder(t)
	b := opened(t, s.Backup(key(1)))
	f.write("x", "text")
	slow = func(*http.Request) { s.Advance(saveTime + time.Minute) }
	_, err := b.Save(t.Context(), f.root, noLimit)
	require.ErrorIs(t, err, ErrBucket)
	require.Zero(t, count(t, s, "manifests"))
	slow = nil
	require.Equal(t, []string{"text"}, restored(t, s, f.save(b), "x"))
}
