package image

import (
	"archive/tar"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
)

// served is an image of these layers in a registry of this machine.
func served(t *testing.T, arch string, layers ...v1.Layer) Reference {
	t.Helper()
	_, digested := imagetest.Serve(t, arch, v1.Config{Entrypoint: []string{"/bin/job"}}, layers...)
	r, err := Parse(digested)
	require.NoError(t, err)
	return r
}

func newStore(t *testing.T) *Store {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: unpacking images needs root: run the tests as root")
	}
	s, err := Open(t.TempDir())
	require.NoError(t, err)
	return s
}

func TestOnlyReferencesWithADigest(t *testing.T) {
	for _, bad := range []string{"", "debian", "debian:13", "debian@sha256:12", "Debian@sha256:" + strings.Repeat("a", 64)} {
		_, err := Parse(bad)
		require.ErrorIs(t, err, ErrReference, bad)
	}
}

func TestPullUnpacksEachLayerOnce(t *testing.T) {
	s := newStore(t)
	r := served(t, "amd64", imagetest.Layer(t, imagetest.File("bin/job", "first"), imagetest.File("gone", "x")), imagetest.Layer(t, imagetest.File("bin/job", "second"), imagetest.File(".wh.gone", "")))
	i, err := s.Pull(t.Context(), r, 1<<20)
	require.NoError(t, err)
	require.Equal(t, []string{"/bin/job"}, i.Config.Entrypoint)
	require.Len(t, i.Layers, 2)
	raw, err := os.ReadFile(filepath.Join(s.Layers(), i.Layers[1], "bin/job"))
	require.NoError(t, err)
	require.Equal(t, "second", string(raw))
	info, err := os.Lstat(filepath.Join(s.Layers(), i.Layers[1], "gone"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeCharDevice, "a removed file is one that an overlay hides")
	again, err := s.Pull(t.Context(), r, 0)
	require.NoError(t, err)
	require.Equal(t, i, again, "nothing is fetched, so no limit is met")
	left, err := os.ReadDir(s.tmp())
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestPullRefusesWhatIsTooLarge(t *testing.T) {
	s := newStore(t)
	r := served(t, "amd64", imagetest.Layer(t, imagetest.File("bin/job", strings.Repeat("0", 1<<20))))
	_, err := s.Pull(t.Context(), r, 1<<20-1)
	require.ErrorIs(t, err, ErrTooLarge)
	_, ok, err := s.Get(r)
	require.NoError(t, err)
	require.False(t, ok)
}

func TestPullRefusesOtherPlatforms(t *testing.T) {
	s := newStore(t)
	_, err := s.Pull(t.Context(), served(t, "riscv64", imagetest.Layer(t, imagetest.File("bin/job", ""))), 1<<20)
	require.ErrorIs(t, err, ErrUnusable)
	require.ErrorContains(t, err, "riscv64")
}

func TestPullOfAMissingImage(t *testing.T) {
	s := newStore(t)
	r := served(t, "amd64", imagetest.Layer(t, imagetest.File("bin/job", "")))
	other, err := Parse(strings.Replace(r.String(), "team/job", "team/other", 1))
	require.NoError(t, err)
	_, err = s.Pull(t.Context(), other, 1<<20)
	require.ErrorIs(t, err, ErrUnusable)
	require.ErrorContains(t, err, "not there, or not for everyone")
}

// Paths that climb, links that leave, and device nodes: nothing is written outside the layer.
func TestHostileLayersStayInside(t *testing.T) {
	s := newStore(t)
	outside := filepath.Join(t.TempDir(), "outside")
	link := imagetest.Entry{Header: tar.Header{Name: "out", Linkname: filepath.Dir(outside), Typeflag: tar.TypeSymlink, Mode: 0o777}}
	r := served(t, "amd64", imagetest.Layer(t, link, imagetest.File("out/outside", "x"), imagetest.File("../../../outside", "y"), imagetest.File("/abs", "z")))
	_, err := s.Pull(t.Context(), r, 1<<20)
	require.NoFileExists(t, outside)
	require.NoFileExists(t, filepath.Join(s.root, "outside"))
	if err != nil {
		require.ErrorIs(t, err, ErrUnusable)
	}
}

func TestAPullThatWasKilledLeavesNothingInTheWay(t *testing.T) {
	s := newStore(t)
	img, err := random.Layer(1<<16, "application/vnd.oci.image.layer.v1.tar+gzip")
	require.NoError(t, err)
	r := served(t, "amd64", img)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Pull(ctx, r, 1<<20)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, os.MkdirAll(filepath.Join(s.tmp(), "half"), 0o755))
	_, err = s.Pull(t.Context(), r, 1<<20)
	require.NoError(t, err)
}
