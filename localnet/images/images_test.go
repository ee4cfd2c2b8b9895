package images

import (
	"archive/tar"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"
)

func TestAnImageIsPushed(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	tagged, digested, size, err := Push(t.Context(), host, "team/x", []File{{Path: "bin/a", Content: []byte("program")}, {Path: "bin/b", Target: "a"}})
	require.NoError(t, err)
	require.Equal(t, host+"/team/x:v1", tagged)
	require.Contains(t, digested, host+"/team/x@sha256:")
	require.Positive(t, size)

	ref, err := name.ParseReference(digested)
	require.NoError(t, err)
	img, err := remote.Image(ref)
	require.NoError(t, err)
	config, err := img.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, "linux/amd64", config.OS+"/"+config.Architecture)
	files := map[string]string{}
	for r := tar.NewReader(mutate.Extract(img)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		raw, err := io.ReadAll(r)
		require.NoError(t, err)
		files[h.Name] = h.Linkname + string(raw)
	}
	require.Equal(t, map[string]string{"bin/a": "program", "bin/b": "a"}, files)

	server.Close()
	_, _, _, err = Push(t.Context(), host, "team/x", nil)
	require.Error(t, err)
}

func TestProgramsForImages(t *testing.T) {
	files, err := Program(t.Context(), "cat")
	require.NoError(t, err)
	require.Greater(t, len(files), 1, "with its libraries")
	require.Contains(t, files[len(files)-1].Path, "bin/cat")
	_, err = Program(t.Context(), "no-such-program")
	require.ErrorIs(t, err, ErrMissing)

	dir := t.TempDir()
	t.Setenv("PATH", dir)
	_, err = Busybox("sh")
	require.ErrorIs(t, err, ErrMissing)
	cat, err := os.ReadFile("/bin/cat")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "busybox"), cat, 0o755))
	_, err = Busybox("sh")
	require.ErrorIs(t, err, ErrMissing)
	require.ErrorContains(t, err, "needs libraries")
}
