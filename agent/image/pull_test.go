package image

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
)

func TestOnlyReferencesWithADigest(t *testing.T) {
	for _, bad := range []string{"", "debian", "debian:13", "debian@sha256:12", "Debian@sha256:" + strings.Repeat("a", 64)} {
		_, err := Parse(bad)
		require.ErrorIs(t, err, ErrReference, bad)
	}
}

func TestPullUnpacksEachLayerOnce(t *testing.T) {
	s := newStore(t)
	r := served(t, "amd64", imagetest.Layer(t, imagetest.File("bin/job", "first"), imagetest.File("gone", "x")), imagetest.Layer(t, imagetest.File("bin/job", "second"), imagetest.File(".wh.gone", "")))
	i, err := fetch(t, s, r, 1<<20)
	require.NoError(t, err)
	require.Equal(t, []string{"/bin/job"}, i.Config.Entrypoint)
	require.Len(t, i.Layers, 2)
	raw, err := os.ReadFile(filepath.Join(s.Layers(), i.Layers[1], "bin/job"))
	require.NoError(t, err)
	require.Equal(t, "second", string(raw))
	info, err := os.Lstat(filepath.Join(s.Layers(), i.Layers[1], "gone"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeCharDevice, "a removed file is one that an overlay hides")
	again, err := fetch(t, s, r, 1<<20)
	require.NoError(t, err)
	require.Equal(t, i, again)
	_, err = fetch(t, s, r, 1<<10)
	require.ErrorIs(t, err, ErrTooLarge, "the limit is the lease's, also for what other leases have fetched")
	bytes, err := s.Bytes(i)
	require.NoError(t, err)
	u, err := s.Usage()
	require.NoError(t, err)
	require.Equal(t, u.Bytes, bytes)
	left, err := os.ReadDir(s.tmp())
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestPullRefusesWhatIsTooLarge(t *testing.T) {
	s := newStore(t)
	r := served(t, "amd64", imagetest.Layer(t, imagetest.File("bin/job", strings.Repeat("0", 1<<20))))
	_, err := fetch(t, s, r, 1<<20-1)
	require.ErrorIs(t, err, ErrTooLarge)
	u, err := s.Usage()
	require.NoError(t, err)
	require.Zero(t, u.Layers)
	require.Zero(t, u.Pulling)
}

func TestPullRefusesOtherPlatforms(t *testing.T) {
	s := newStore(t)
	_, err := fetch(t, s, served(t, "riscv64", imagetest.Layer(t, imagetest.File("bin/job", ""))), 1<<20)
	require.ErrorIs(t, err, ErrUnusable)
	require.ErrorContains(t, err, "riscv64")
}

func TestPullOfAMissingImage(t *testing.T) {
	s := newStore(t)
	r := served(t, "amd64", imagetest.Layer(t, imagetest.File("bin/job", "")))
	_, err := fetch(t, s, parsed(t, strings.Replace(r.String(), "team/job", "team/other", 1)), 1<<20)
	require.ErrorIs(t, err, ErrUnusable)
	require.ErrorContains(t, err, "not there, or not for everyone")
}

func TestAPullThatWasEndedLeavesNothing(t *testing.T) {
	s := newStore(t)
	img, err := random.Layer(1<<16, "application/vnd.oci.image.layer.v1.tar+gzip")
	require.NoError(t, err)
	r := served(t, "amd64", img)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Pull(ctx, r, PullOptions{Limit: 1 << 20})
	require.ErrorIs(t, err, context.Canceled)
	// As after a kill: a folder, its part of the cache, and a layer that nobody knows.
	require.NoError(t, os.MkdirAll(filepath.Join(s.tmp(), "half", "layer"), 0o755))
	require.NoError(t, write(s.reserved("half"), size{Bytes: 1 << 40}))
	require.NoError(t, os.MkdirAll(s.layer("unknown"), 0o755))
	require.NoError(t, write(s.sizeOf("absent"), size{Bytes: 1 << 40}))
	_, err = fetch(t, s, r, 1<<20)
	require.NoError(t, err)
	u, err := s.Usage()
	require.NoError(t, err)
	require.Equal(t, 1, u.Layers)
	require.Zero(t, u.Pulling)
	require.NoDirExists(t, s.layer("unknown"))
}
