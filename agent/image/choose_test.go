package image

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
)

// list puts a list of images for variants of a processor into a registry.
func list(t *testing.T, variants ...string) Reference {
	t.Helper()
	index := v1.ImageIndex(empty.Index)
	for _, variant := range variants {
		img := imagetest.Image(t, "amd64", v1.Config{Env: []string{"FOR=" + variant}}, imagetest.Layer(t, imagetest.File("bin/job", variant)))
		add := mutate.IndexAddendum{Add: img}
		add.Descriptor.Platform = &v1.Platform{OS: "linux", Architecture: "amd64"}
		if variant != "base" {
			add.Descriptor.Platform.Variant = variant
		}
		index = mutate.AppendManifests(index, add)
	}
	digest, err := index.Digest()
	require.NoError(t, err)
	at, err := name.NewDigest(imagetest.Start(t, nil).Host + "/team/list@" + digest.String())
	require.NoError(t, err)
	require.NoError(t, remote.WriteIndex(at, index))
	return parsed(t, at.String())
}

// A machine runs the variant of a list that its processor has, and never one that it has not.
func TestTheVariantForTheProcessor(t *testing.T) {
	r := list(t, "v4", "v3", "base")
	for level, want := range map[int]string{1: "base", 2: "base", 3: "v3", 4: "v4"} {
		got, err := newStore(t).Pull(t.Context(), r, PullOptions{Limit: 1 << 30, Level: level})
		require.NoError(t, err)
		require.Equal(t, []string{"FOR=" + want}, got.Config.Env, level)
	}
	r = list(t, "v4")
	_, err := newStore(t).Pull(t.Context(), r, PullOptions{Limit: 1 << 30, Level: 3})
	require.ErrorIs(t, err, ErrUnusable)
	require.ErrorContains(t, err, "this machine's processor")
}

// flooded is a registry that answers questions of a kind so many times that it is asked too often.
type flooded struct {
	times, asked atomic.Int32
	after        string
	method, part string
}

func (f *flooded) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == f.method && strings.Contains(r.URL.Path, f.part) && f.asked.Add(1) <= f.times.Load() {
			w.Header().Set("Retry-After", f.after)
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// A registry that asks for a second is given it, for manifests and for layers. One that is asked too often does not close an image that
// is here and was there for everyone.
func TestARegistryThatIsAskedTooOften(t *testing.T) {
	img := imagetest.Image(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.File("bin/job", "x")))
	for _, part := range []string{"/manifests/", "/blobs/"} {
		f := &flooded{after: "1", method: http.MethodGet, part: part}
		_, digested := imagetest.Start(t, f.wrap).Push(t, "team/job", img)
		f.asked.Store(0)
		f.times.Store(1)
		began := time.Now()
		s := newStore(t)
		_, err := fetch(t, s, parsed(t, digested), 1<<30)
		require.NoError(t, err, part)
		require.GreaterOrEqual(t, time.Since(began), time.Second)
		require.GreaterOrEqual(t, f.asked.Load(), int32(2))

		f.method, f.part, f.after = http.MethodHead, "/manifests/", "3600"
		f.times.Store(1 << 20)
		began = time.Now()
		_, err = fetch(t, s, parsed(t, digested), 1<<30)
		require.NoError(t, err, "it is here")
		require.Less(t, time.Since(began), time.Minute)
	}
}
