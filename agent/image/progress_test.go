package image

import (
	"context"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
)

// layersOf are layers of so many bytes that no packing makes smaller.
func layersOf(t *testing.T, sizes ...int) []v1.Layer {
	t.Helper()
	out := make([]v1.Layer, len(sizes))
	for i, size := range sizes {
		out[i] = imagetest.Layer(t, noise(t, "f", size))
	}
	return out
}

func digests(t *testing.T, layers []v1.Layer) []string {
	t.Helper()
	out := make([]string, len(layers))
	for i, l := range layers {
		h, err := l.Digest()
		require.NoError(t, err)
		out[i] = h.String()
	}
	return out
}

func total(t *testing.T, layers []v1.Layer) (sum int64) {
	t.Helper()
	for _, l := range layers {
		size, err := l.Size()
		require.NoError(t, err)
		sum += size
	}
	return sum
}

// pulled pulls an image and returns what was reported.
func pulled(t *testing.T, s *Store, r Reference) ([]Progress, error) {
	t.Helper()
	var all []Progress
	_, err := s.Pull(t.Context(), r, PullOptions{Limit: 1 << 30, Report: func(p Progress) { all = append(all, p) }})
	return all, err
}

// grows checks that figures of a pull only grow, and stay within what they are part of.
func grows(t *testing.T, all []Progress) {
	t.Helper()
	order := map[Phase]int{Asking: 0, Fetching: 1, Unpacking: 2, Ready: 3}
	for i, p := range all {
		require.LessOrEqual(t, p.Done, p.Total)
		require.LessOrEqual(t, p.Unpacked, p.Done, "what is unpacked was fetched")
		require.LessOrEqual(t, p.LayersDone, p.Layers)
		require.GreaterOrEqual(t, p.Rate, int64(0))
		if i == 0 {
			continue
		}
		before := all[i-1]
		require.GreaterOrEqual(t, order[p.Phase], order[before.Phase])
		require.GreaterOrEqual(t, p.Done, before.Done)
		require.GreaterOrEqual(t, p.Unpacked, before.Unpacked)
		require.GreaterOrEqual(t, p.LayersDone, before.LayersDone)
	}
}

func TestFiguresOfAPullGrowToTheWhole(t *testing.T) {
	s := newStore(t)
	layers := layersOf(t, 300<<10, 200<<10, 500<<10, 100<<10)
	registry := imagetest.Start(t, imagetest.Slow(8<<20))
	_, digested := registry.Push(t, "team/job", imagetest.Image(t, "amd64", v1.Config{}, layers...))
	all, err := pulled(t, s, parsed(t, digested))
	require.NoError(t, err)
	grows(t, all)
	whole := total(t, layers)
	require.Equal(t, Progress{Phase: Ready, Total: whole, Done: whole, Unpacked: whole, Layers: 4, LayersDone: 4}, all[len(all)-1])

	// The whole image is in the cache.
	all, err = pulled(t, s, parsed(t, digested))
	require.NoError(t, err)
	require.Equal(t, Progress{Phase: Ready, Total: whole, Done: whole, Unpacked: whole, Layers: 4, LayersDone: 4}, all[len(all)-1])

	// Its lower layers are, and the upper one is held back: they count as done before it comes.
	more := append(layers[:3:3], layersOf(t, 50<<10)...)
	hold := make(chan struct{})
	upper := digests(t, more)[3]
	registry = imagetest.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, upper) {
				<-hold
			}
			next.ServeHTTP(w, r)
		})
	})
	_, digested = registry.Push(t, "team/job", imagetest.Image(t, "amd64", v1.Config{}, more...))
	cached := total(t, more[:3])
	all = nil
	release := sync.OnceFunc(func() { close(hold) })
	_, err = s.Pull(t.Context(), parsed(t, digested), PullOptions{Limit: 1 << 30, Report: func(p Progress) {
		all = append(all, p)
		if p.LayersDone == 3 {
			release()
		}
	}})
	require.NoError(t, err)
	grows(t, all)
	held := all[slices.IndexFunc(all, func(p Progress) bool { return p.LayersDone == 3 })]
	require.Equal(t, []int64{cached, cached}, []int64{held.Done, held.Unpacked})
	require.Equal(t, Fetching, held.Phase)
	require.Equal(t, total(t, more), all[len(all)-1].Done)
}

// A layer that cannot be fetched is named, and the figures stay where they were.
func TestALayerThatIsMissingIsTheError(t *testing.T) {
	layers := layersOf(t, 100<<10, 100<<10, 100<<10, 100<<10)
	missing := digests(t, layers)[2]
	registry := imagetest.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, missing) {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	_, digested := registry.Push(t, "team/job", imagetest.Image(t, "amd64", v1.Config{}, layers...))
	s := newStore(t)
	all, err := pulled(t, s, parsed(t, digested))
	require.ErrorIs(t, err, ErrUnusable)
	require.ErrorContains(t, err, missing)
	grows(t, all)
	last := all[len(all)-1]
	require.Equal(t, Fetching, last.Phase)
	require.Equal(t, 2, last.LayersDone)
	require.Less(t, last.Done, last.Total)
	u, err := s.Usage()
	require.NoError(t, err)
	require.Equal(t, 2, u.Layers, "what came before it stays for the next try")
	require.Zero(t, u.Pulling)
	left, err := os.ReadDir(s.tmp())
	require.NoError(t, err)
	require.Empty(t, left)
}

// Three layers come at a time, and no fourth before one of them is unpacked.
func TestThreeLayersAreFetchedAtATime(t *testing.T) {
	layers := layersOf(t, 20<<10, 20<<10, 20<<10, 20<<10, 20<<10, 20<<10, 20<<10)
	first := digests(t, layers)
	var mu sync.Mutex
	at, most, asked := 0, 0, 0
	three, hold := make(chan struct{}), make(chan struct{})
	registry := imagetest.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			of := false
			for _, d := range first {
				of = of || strings.HasSuffix(r.URL.Path, d)
			}
			if r.Method != http.MethodGet || !of {
				next.ServeHTTP(w, r)
				return
			}
			mu.Lock()
			at, asked = at+1, asked+1
			most = max(most, at)
			if asked == 3 {
				close(three)
			}
			mu.Unlock()
			<-hold
			mu.Lock()
			at--
			mu.Unlock()
			next.ServeHTTP(w, r)
		})
	})
	_, digested := registry.Push(t, "team/job", imagetest.Image(t, "amd64", v1.Config{}, layers...))
	go func() { <-three; close(hold) }()
	s := newStore(t)
	i, err := fetch(t, s, parsed(t, digested), 1<<20)
	require.NoError(t, err)
	require.Len(t, i.Layers, 7)
	require.Equal(t, []int{3, 7}, []int{most, asked})
}

// In a cache that has room for the image and for nothing beside it, layers come one at a time.
func TestATightCacheTakesLayersOneAtATime(t *testing.T) {
	s := storeWith(t, Options{Limit: 6<<20 + 256<<10})
	layers := layersOf(t, 2<<20-64<<10, 2<<20-64<<10, 2<<20-64<<10)
	_, digested := imagetest.Serve(t, "amd64", v1.Config{}, layers...)
	i, err := fetch(t, s, parsed(t, digested), 7<<20)
	require.NoError(t, err)
	require.Len(t, i.Layers, 3)
	u, err := s.Usage()
	require.NoError(t, err)
	require.Zero(t, u.Pulling)
}

// A pull that is ended while layers come leaves no file and no room taken.
func TestAPullThatIsEndedWhileLayersCome(t *testing.T) {
	s := newStore(t)
	layers := layersOf(t, 64<<10, 64<<10, 64<<10, 64<<10)
	last := digests(t, layers)[0]
	ctx, cancel := context.WithCancel(t.Context())
	registry := imagetest.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, last) {
				cancel()
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	_, digested := registry.Push(t, "team/job", imagetest.Image(t, "amd64", v1.Config{}, layers...))
	_, err := s.Pull(ctx, parsed(t, digested), PullOptions{Limit: 1 << 30})
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(s.tmp())
	require.NoError(t, err)
	require.Empty(t, left)
}

// A blob is no longer than its manifest says.
func TestABlobHasItsSize(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/blob")
	require.NoError(t, err)
	defer f.Close()
	b := newBlob(f, 4)
	_, err = b.Write([]byte("abc"))
	require.NoError(t, err)
	_, err = b.Write([]byte("de"))
	require.ErrorIs(t, err, ErrTooLarge)
	b.end(err)
	got := make([]byte, 8)
	n, err := b.Read(got)
	require.NoError(t, err)
	require.Equal(t, "abc", string(got[:n]))
	_, err = b.Read(got)
	require.ErrorIs(t, err, ErrTooLarge)
	b.end(nil)
	_, err = b.Read(got)
	require.ErrorIs(t, err, io.EOF)
}

// The rate is that of the last seconds, and a pull in which nothing moves says for how long.
func TestTheRateIsOfTheLastSeconds(t *testing.T) {
	m, begin := newMeter(), time.Unix(1_790_000_000, 0)
	m.layers(1_000)
	l := &part{m: m, size: 1_000}
	at := func(seconds int, bytes int) Progress {
		if bytes > 0 {
			l.fetched(bytes)
			m.moved = begin.Add(time.Duration(seconds) * time.Second)
		}
		return m.now(begin.Add(time.Duration(seconds) * time.Second))
	}
	require.Equal(t, int64(0), at(0, 0).Rate)
	require.Equal(t, int64(100), at(1, 100).Rate)
	require.Equal(t, int64(100), at(2, 100).Rate)
	require.Equal(t, int64(100), at(5, 300).Rate)
	require.Equal(t, Progress{Phase: Fetching, Total: 1000, Done: 500, Layers: 1, Rate: 0, Still: 30 * time.Second}, at(35, 0))
	require.Equal(t, Progress{Phase: Unpacking, Total: 1000, Done: 1000, Layers: 1}, at(36, 5_000))
}
