package registry_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/registry"
)

// An image and an index of images are read again from a registry that was started anew, byte for byte.
func TestImagesOutlastTheProcess(t *testing.T) {
	dir := t.TempDir()
	image, err := random.Image(1<<16, 3)
	require.NoError(t, err)
	index, err := random.Index(1<<10, 2, 2)
	require.NoError(t, err)

	at := serve(t, dir)
	require.NoError(t, remote.Write(ref(t, at, "team/job:1"), image))
	require.NoError(t, remote.WriteIndex(ref(t, at, "team/several:1"), index))
	require.NoError(t, remote.Write(ref(t, at, "team/job:1"), image), "a second push changes nothing")

	at = serve(t, dir)
	got, err := remote.Image(ref(t, at, "team/job:1"))
	require.NoError(t, err)
	want, err := image.Digest()
	require.NoError(t, err)
	digest, err := got.Digest()
	require.NoError(t, err)
	require.Equal(t, want, digest)
	layers, err := got.Layers()
	require.NoError(t, err)
	require.Len(t, layers, 3)
	for _, l := range layers {
		rc, err := l.Uncompressed() // its hash is checked as it is read
		require.NoError(t, err)
		require.NoError(t, rc.Close())
	}
	_, err = remote.Index(ref(t, at, "team/several:1"))
	require.NoError(t, err)
	_, err = remote.Image(ref(t, at, "team/other:1"))
	require.ErrorContains(t, err, "NAME_UNKNOWN")
}

// A manifest that was cut on disk is an error at the start, and not a registry without the image.
func TestAManifestThatWasCut(t *testing.T) {
	dir := t.TempDir()
	image, err := random.Image(10, 1)
	require.NoError(t, err)
	require.NoError(t, remote.Write(ref(t, serve(t, dir), "job:1"), image))
	file := filepath.Join(dir, "manifests", "0.json")
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, raw[:len(raw)/2], 0o600))
	_, err = registry.New(dir)
	require.ErrorContains(t, err, "manifest 0")
}

func serve(t *testing.T, dir string) string {
	t.Helper()
	h, err := registry.New(dir)
	require.NoError(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func ref(t *testing.T, host, image string) name.Reference {
	t.Helper()
	r, err := name.ParseReference(host + "/" + image)
	require.NoError(t, err)
	return r
}
