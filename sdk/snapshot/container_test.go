//go:build linux

package snapshot

import (
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/sdk/messages"
)

var suspended = Container{
	Image: "registry.test/job@sha256:00", Command: []string{"serve"}, Env: map[string]string{"TOKEN": "secret-of-the-job"}, Runsc: "1",
	Volume: messages.Volume{Name: "data", MiB: 16, Path: "/data"}, Memory: 1 << 20,
}

// A suspended container has its state, the layer above its image and its volume, each in a folder of its own. What the layer
// hides of the image stays hidden.
func TestContainersAreKept(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: the marks of an overlay are root's: run the tests as root")
	}
	s := s3test.Start(t, nil)
	state, files, volume := t.TempDir(), t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(state, "pages.img"), random(t, chunkBytes+5), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(volume, "x"), []byte("in the volume"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(files, "etc/hides"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(files, "etc/x"), []byte("above the image"), 0o640))
	require.NoError(t, os.Chown(filepath.Join(files, "etc/x"), 1000, 1001))
	require.NoError(t, syscall.Mknod(filepath.Join(files, "etc/gone"), syscall.S_IFCHR, 0))
	require.NoError(t, syscall.Mknod(filepath.Join(files, "etc/device"), syscall.S_IFCHR|0o666, 0x103))
	require.NoError(t, syscall.Mkfifo(filepath.Join(files, "pipe"), 0o620))
	require.NoError(t, os.Chmod(filepath.Join(files, "pipe"), 0o620))
	if err := unix.Setxattr(filepath.Join(files, "etc/hides"), opaque, []byte(opaqueYes), 0); err != nil {
		t.Skipf("SKIPPED: the temporary folder's file system keeps no attributes of an overlay: %v", err)
	}
	b := opened(t, s.Backup(key(1)))
	hash, err := b.SaveContainer(t.Context(), suspended, Part{PartState, rootOf(t, state), noLimit}, Part{PartFiles, rootOf(t, files), noLimit}, Part{PartVolume, rootOf(t, volume), noLimit})
	require.NoError(t, err)
	for name, content := range s.Objects(t) {
		require.NotContains(t, name+string(content), "secret-of-the-job")
	}

	saved, err := opened(t, s.Backup(key(1))).Find(t.Context(), hash)
	require.NoError(t, err)
	require.Equal(t, &suspended, saved.Container())
	require.EqualValues(t, chunkBytes+5, saved.Bytes(PartState))
	targets := map[string]string{PartState: t.TempDir(), PartFiles: t.TempDir(), PartVolume: t.TempDir()}
	for part, dir := range targets {
		require.NoError(t, saved.Restore(t.Context(), part, rootOf(t, dir)))
	}
	for part, dir := range map[string]string{PartState: state, PartVolume: volume} {
		require.Equal(t, listed(t, dir), listed(t, targets[part]))
	}
	want, got := listed(t, files), listed(t, targets[PartFiles])
	require.Contains(t, want, "etc/device")
	delete(want, "etc/device")
	require.Equal(t, want["etc/x"], got["etc/x"])
	require.Len(t, got, len(want))
	var st syscall.Stat_t
	require.NoError(t, syscall.Lstat(filepath.Join(targets[PartFiles], "etc/gone"), &st))
	require.Zero(t, st.Rdev)
	require.EqualValues(t, syscall.S_IFCHR, st.Mode&syscall.S_IFMT)
	require.NoError(t, syscall.Lstat(filepath.Join(targets[PartFiles], "pipe"), &st))
	require.EqualValues(t, syscall.S_IFIFO|0o620, st.Mode)
	value := make([]byte, 8)
	n, err := unix.Getxattr(filepath.Join(targets[PartFiles], "etc/hides"), opaque, value)
	require.NoError(t, err)
	require.Equal(t, opaqueYes, string(value[:n]))

	target := t.TempDir()
	require.NoError(t, b.Restore(t.Context(), rootOf(t, target), hash), "its volume alone")
	require.Equal(t, listed(t, volume), listed(t, target))
}

// Marks of an overlay and pipes belong to a layer. What a hostile node writes into a manifest leads out of no part.
func TestHostileContainers(t *testing.T) {
	s := s3test.Start(t, nil)
	b := opened(t, s.Backup(key(1)))
	put := func(m manifest) Hash {
		raw, err := json.Marshal(m)
		require.NoError(t, err)
		sealed, err := b.seal(raw, nameOfList)
		require.NoError(t, err)
		hash := Hash(sha256.Sum256(sealed))
		s.Put(t, "team/training/manifests/"+hash.String(), sealed)
		return hash
	}
	whiteout := fs.ModeDevice | fs.ModeCharDevice
	for name, e := range map[string]entry{
		"a device in the volume":    {Path: "volume/x", Mode: whiteout},
		"a pipe in the volume":      {Path: "volume/x", Mode: fs.ModeNamedPipe},
		"an opaque folder there":    {Path: "volume/x", Mode: fs.ModeDir, Opaque: true},
		"out of the part":           {Path: "volume/../files/x", Mode: 0o600},
		"another kind of device":    {Path: "volume/x", Mode: fs.ModeDevice},
		"a socket":                  {Path: "volume/x", Mode: fs.ModeSocket},
		"the part itself is a file": {Path: "volume", Mode: 0o600},
	} {
		found, err := b.Find(t.Context(), put(manifest{Version: version, Container: &suspended, Entries: []entry{e}}))
		require.NoError(t, err)
		dir := t.TempDir()
		require.ErrorIs(t, found.Restore(t.Context(), PartVolume, rootOf(t, dir)), ErrDamaged, name)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left, name)
	}
	huge := entry{Path: "state/x", Mode: 0o600, Size: math.MaxInt64}
	found, err := b.Find(t.Context(), put(manifest{Version: version, Container: &suspended, Entries: []entry{huge, huge}}))
	require.NoError(t, err)
	require.EqualValues(t, math.MaxInt64, found.Bytes(PartState))
	for _, m := range []manifest{{Container: &suspended}, {Version: version + 1, Container: &suspended}, {Version: version + 1}} {
		_, err := b.Find(t.Context(), put(m))
		require.ErrorIs(t, err, ErrDamaged)
	}
}
