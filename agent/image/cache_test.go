package image

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/internal/imagetest"
)

// noise is a file that no packing makes smaller.
func noise(t *testing.T, path string, bytes int) imagetest.Entry {
	t.Helper()
	raw := make([]byte, bytes)
	_, err := rand.Read(raw)
	require.NoError(t, err)
	return imagetest.File(path, string(raw))
}

// counted counts the layers that a registry hands out, and holds each back until hold is closed, if there is one.
func counted(blobs *atomic.Int64, hold <-chan struct{}) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
				blobs.Add(1)
				if hold != nil {
					<-hold
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

func TestTheCacheRemovesWhatWasNotUsedForLongest(t *testing.T) {
	s := storeWith(t, Options{Limit: 5 << 20})
	registry := imagetest.Start(t, nil)
	var refs []Reference
	for i := range 4 {
		_, digested := registry.Push(t, "team/job", imagetest.Image(t, "amd64", v1.Config{}, imagetest.Layer(t, noise(t, "f", 2<<20-64<<10))))
		refs = append(refs, parsed(t, digested))
		if i == 2 {
			_, err := fetch(t, s, refs[0], 4<<20) // used again: now the second is the oldest
			require.NoError(t, err)
		}
		_, err := fetch(t, s, refs[i], 4<<20)
		require.NoError(t, err)
		u, err := s.Usage()
		require.NoError(t, err)
		require.LessOrEqual(t, u.Bytes, u.Limit)
	}
	_, _, err := s.get("", refs[3])
	require.NoError(t, err)
	require.NoError(t, s.Clean(t.Context()))
	var there []bool
	for _, r := range refs {
		_, ok, err := s.get("", r)
		require.NoError(t, err)
		there = append(there, ok)
	}
	require.Equal(t, []bool{false, false, true, true}, there)
}

// What leases use stays, also where all of it is more than the limit: their shares of the disk have it. Once they are over, the limit holds.
func TestTheCacheKeepsWhatLeasesUse(t *testing.T) {
	var mu sync.Mutex
	used := map[string]bool{}
	s := storeWith(t, Options{Limit: 5 << 20, InUse: func() (map[string]bool, error) {
		mu.Lock()
		defer mu.Unlock()
		return used, nil
	}})
	var blobs atomic.Int64
	registry := imagetest.Start(t, counted(&blobs, nil))
	image := func() Reference {
		_, digested := registry.Push(t, "team/job", imagetest.Image(t, "amd64", v1.Config{}, imagetest.Layer(t, noise(t, "f", 2<<20-64<<10))))
		return parsed(t, digested)
	}
	keep := func(i Image) error {
		mu.Lock()
		defer mu.Unlock()
		for _, l := range i.Layers {
			used[l] = true
		}
		return nil
	}
	for range 3 {
		_, err := s.Pull(t.Context(), image(), PullOptions{Limit: 4 << 20, Keep: keep})
		require.NoError(t, err)
	}
	u, err := s.Usage()
	require.NoError(t, err)
	require.Greater(t, u.InUse, u.Limit)
	for l := range used {
		require.DirExists(t, s.layer(l))
	}
	mu.Lock()
	clear(used) // the leases are over
	mu.Unlock()
	before := blobs.Load()
	_, err = fetch(t, s, image(), 1<<20)
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "2 MiB to fetch, and it may take 1 MiB here")
	require.Equal(t, before+1, blobs.Load(), "of an image that does not fit only the configuration is fetched")
	_, err = fetch(t, s, image(), 4<<20)
	require.NoError(t, err)
	u, err = s.Usage()
	require.NoError(t, err)
	require.LessOrEqual(t, u.Bytes, u.Limit)
}

func TestOnePullAtATimeUnpacksALayer(t *testing.T) {
	s := storeWith(t, Options{})
	var blobs atomic.Int64
	hold := make(chan struct{})
	registry := imagetest.Start(t, counted(&blobs, hold))
	_, digested := registry.Push(t, "team/job", imagetest.Image(t, "amd64", v1.Config{}, imagetest.Layer(t, noise(t, "f", 1<<20)), imagetest.Layer(t, noise(t, "g", 1<<20))))
	r := parsed(t, digested)
	var g errgroup.Group
	for range 5 {
		g.Go(func() error {
			_, err := s.Pull(t.Context(), r, PullOptions{Limit: 4 << 20})
			return err
		})
	}
	require.Eventually(t, func() bool { return blobs.Load() == 5 }, time.Minute, 10*time.Millisecond, "each asks for the configuration")
	close(hold)
	require.NoError(t, g.Wait())
	require.Equal(t, int64(5+2), blobs.Load(), "and one for each of the layers")
	u, err := s.Usage()
	require.NoError(t, err)
	require.Equal(t, 2, u.Layers)
}

// Two pulls together count, also while they unpack: what nobody uses goes for them.
func TestPullsShareTheCache(t *testing.T) {
	s := storeWith(t, Options{Limit: 10 << 20})
	zeros := func(n byte) Reference { // packed it is small, so that only unpacking shows how large it is
		_, digested := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.File("f", string(bytes.Repeat([]byte{n}, 6<<20)))))
		return parsed(t, digested)
	}
	unused, err := fetch(t, s, served(t, "amd64", imagetest.Layer(t, noise(t, "f", 1<<20))), 4<<20)
	require.NoError(t, err)
	first, err := s.begin(t.Context(), zeros(1), PullOptions{Limit: 20 << 20})
	require.NoError(t, err)
	defer first.end()
	require.NoError(t, first.more(t.Context(), 6<<20))
	require.DirExists(t, s.layer(unused.Layers[0]))
	_, err = fetch(t, s, zeros(2), 20<<20)
	require.NoError(t, err)
	require.NoDirExists(t, s.layer(unused.Layers[0]))
}

// A layer that a pull has found stays until its lease has it, whatever else is pulled.
func TestAPullKeepsItsLayers(t *testing.T) {
	s := storeWith(t, Options{Limit: 3 << 20})
	r := served(t, "amd64", imagetest.Layer(t, noise(t, "f", 2<<20-64<<10)))
	other := served(t, "amd64", imagetest.Layer(t, noise(t, "f", 2<<20-64<<10)))
	i, err := s.Pull(t.Context(), r, PullOptions{Limit: 4 << 20, Keep: func(Image) error {
		_, err := fetch(t, s, other, 4<<20)
		return err
	}})
	require.NoError(t, err)
	require.DirExists(t, filepath.Join(s.Layers(), i.Layers[0]))
}

// The default is a share of the disk, and what the disk has not is not promised.
func TestTheCacheKnowsItsDisk(t *testing.T) {
	s := newStore(t)
	var st unix.Statfs_t
	require.NoError(t, unix.Statfs(s.root, &st))
	u, err := s.Usage()
	require.NoError(t, err)
	require.Equal(t, int64(st.Blocks)*st.Bsize/DefaultShare, u.Limit)
	full := storeWith(t, Options{Limit: 1 << 60})
	require.NoError(t, os.MkdirAll(filepath.Join(full.tmp(), "p"), 0o700))
	_, err = full.reserve(t.Context(), "p", int64(st.Blocks)*st.Bsize, 0)
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "MiB free")
	require.ErrorContains(t, err, "leases use the 0 MiB of images that are there")
}
