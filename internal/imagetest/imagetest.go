// Package imagetest serves container images to tests from a registry on this machine.
package imagetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/require"
)

// Entry is one file of a layer. Its header's size may be more than the content: then the rest is a hole.
type Entry struct {
	tar.Header
	Content string
}

// File is an executable file of root's.
func File(path, content string) Entry {
	return Entry{Header: tar.Header{Name: path, Mode: 0o755, Typeflag: tar.TypeReg, Size: int64(len(content))}, Content: content}
}

// Layer packs files.
func Layer(t testing.TB, entries ...Entry) v1.Layer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		require.NoError(t, w.WriteHeader(&e.Header))
		_, err := io.WriteString(w, e.Content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }, tarball.WithCompressionLevel(gzip.BestSpeed))
	require.NoError(t, err)
	return l
}

// Image is one of these layers, for a processor.
func Image(t testing.TB, arch string, config v1.Config, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, layers...)
	require.NoError(t, err)
	file, err := img.ConfigFile()
	require.NoError(t, err)
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", arch, config
	img, err = mutate.ConfigFile(img, file)
	require.NoError(t, err)
	return img
}

// Registry of this machine.
type Registry struct{ Host string }

// Start starts a registry that lives as long as the test. Requests pass through wrap, if it is not nil.
func Start(t testing.TB, wrap func(http.Handler) http.Handler) Registry {
	t.Helper()
	h := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if wrap != nil {
		h = wrap(h)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return Registry{Host: strings.TrimPrefix(server.URL, "http://")}
}

// Push puts an image into a repository, and returns its names: by tag and by digest.
func (r Registry) Push(t testing.TB, repository string, img v1.Image, o ...remote.Option) (tagged, digested string) {
	t.Helper()
	at := r.Host + "/" + repository
	ref, err := name.ParseReference(at + ":v1")
	require.NoError(t, err)
	require.NoError(t, remote.Write(ref, img, o...))
	digest, err := img.Digest()
	require.NoError(t, err)
	return at + ":v1", at + "@" + digest.String()
}

// Serve puts an image into a registry that lives as long as the test, and returns its names: by tag and by digest.
func Serve(t testing.TB, arch string, config v1.Config, layers ...v1.Layer) (tagged, digested string) {
	t.Helper()
	return Start(t, nil).Push(t, "team/job", Image(t, arch, config, layers...))
}
