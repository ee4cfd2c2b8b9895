// Package imagetest serves container images to tests from a registry on this machine.
package imagetest

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
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
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	require.NoError(t, err)
	return l
}

// Serve puts an image into a registry that lives as long as the test, and returns its names: by tag and by digest.
func Serve(t testing.TB, arch string, config v1.Config, layers ...v1.Layer) (tagged, digested string) {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, layers...)
	require.NoError(t, err)
	file, err := img.ConfigFile()
	require.NoError(t, err)
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", arch, config
	img, err = mutate.ConfigFile(img, file)
	require.NoError(t, err)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	repository := strings.TrimPrefix(server.URL, "http://") + "/team/job"
	ref, err := name.ParseReference(repository + ":v1")
	require.NoError(t, err)
	require.NoError(t, remote.Write(ref, img))
	digest, err := img.Digest()
	require.NoError(t, err)
	return repository + ":v1", repository + "@" + digest.String()
}
