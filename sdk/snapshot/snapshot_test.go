//go:build linux

package snapshot

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/sdk/messages"
)

func key(fill byte) []byte { return bytes.Repeat([]byte{fill}, messages.BackupKeyBytes) }

func opened(t *testing.T, b messages.Backup) *Bucket {
	t.Helper()
	out, err := Open(b, nil)
	require.NoError(t, err)
	return out
}

func rootOf(t *testing.T, dir string) *os.Root {
	t.Helper()
	r, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func random(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	_, err := rand.Read(b)
	require.NoError(t, err)
	return b
}

// filled is a folder with everything that a snapshot keeps, and what it leaves out.
func filled(t *testing.T) (dir string, large []byte) {
	t.Helper()
	dir, large = t.TempDir(), random(t, 2*chunkBytes+12345)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "deep/er", "em pty"), 0o755))
	for name, content := range map[string][]byte{"large": large, "deep/er/small": []byte("a secret of the customer's"), "none": nil, "deep/same": large} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o640))
	}
	require.NoError(t, os.Symlink("../large", filepath.Join(dir, "deep/link")))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "out")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	holes, err := os.Create(filepath.Join(dir, "holes"))
	require.NoError(t, err)
	_, err = holes.WriteAt([]byte("in the middle"), 64<<20)
	require.NoError(t, err)
	require.NoError(t, holes.Truncate(256<<20))
	require.NoError(t, holes.Close())
	require.NoError(t, os.Chmod(filepath.Join(dir, "none"), 0o4755|fs.ModeSetuid))
	old := time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "large"), old, old))
	require.NoError(t, os.Chmod(filepath.Join(dir, "deep"), 0o555))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "deep"), 0o755) })
	return dir, large
}

// listed describes a folder, so that two can be compared.
func listed(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		require.NoError(t, err)
		if info.Mode()&fs.ModeNamedPipe != 0 {
			return nil
		}
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		st := info.Sys().(*syscall.Stat_t)
		text := fmt.Sprint(info.Mode(), st.Uid, st.Gid)
		switch {
		case info.Mode().IsRegular():
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			text += fmt.Sprint(info.ModTime().UTC(), info.Size(), sha256.Sum256(raw))
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			require.NoError(t, err)
			text += to
		case name != ".":
			text += fmt.Sprint(info.ModTime().UTC())
		}
		out[name] = text
		return nil
	}))
	return out
}

const noLimit = 1 << 40

// A snapshot is what the folder was, and the bucket shows nothing of it: neither contents nor names.
func TestSnapshotsAreRestored(t *testing.T) {
	s := s3test.Start(t, nil)
	dir, _ := filled(t)
	b := opened(t, s.Backup(key(1)))
	require.NoError(t, b.Check(t.Context(), Hash{}))
	hash, err := b.Save(t.Context(), rootOf(t, dir), noLimit)
	require.NoError(t, err)
	for name, content := range s.Objects(t) {
		require.True(t, strings.HasPrefix(name, "team/training/"), name)
		for _, text := range []string{"a secret of the customer's", "small", "in the middle"} {
			require.NotContains(t, name+string(content), text)
		}
	}
	raw := s.Objects(t)["team/training/manifests/"+hash.String()]
	require.Equal(t, hash, Hash(sha256.Sum256(raw)), "what stands on chain is the hash of the object")

	other := opened(t, s.Backup(key(1)))
	require.NoError(t, other.Check(t.Context(), hash))
	target := t.TempDir()
	require.NoError(t, other.Restore(t.Context(), rootOf(t, target), hash))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(target, "deep"), 0o755) })
	want, got := listed(t, dir), listed(t, target)
	delete(want, "pipe")
	delete(want, ".")
	delete(got, ".")
	require.Equal(t, want, got)
	var st syscall.Stat_t
	require.NoError(t, syscall.Stat(filepath.Join(target, "holes"), &st))
	require.Less(t, st.Blocks*512, int64(16<<20), "holes stay holes")
}

// What is there already is not sent again, also by another node; a folder that did not change keeps its name.
func TestSnapshotsSendWhatIsNew(t *testing.T) {
	var puts atomic.Int64
	s := s3test.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && (strings.Contains(r.URL.Path, "/chunks/") || strings.Contains(r.URL.Path, "/manifests/")) {
				puts.Add(1)
			}
			next.ServeHTTP(w, r)
		})
	})
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "large"), random(t, 8*chunkBytes), 0o600))
	b := opened(t, s.Backup(key(1)))
	first, err := b.Save(t.Context(), rootOf(t, dir), noLimit)
	require.NoError(t, err)
	require.EqualValues(t, 9, puts.Swap(0))
	again, err := b.Save(t.Context(), rootOf(t, dir), noLimit)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Zero(t, puts.Load())

	f, err := os.OpenFile(filepath.Join(dir, "large"), os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("changed"), 3*chunkBytes)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	second, err := b.Save(t.Context(), rootOf(t, dir), noLimit)
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	require.EqualValues(t, 2, puts.Swap(0), "one chunk, and the manifest")
	another := opened(t, s.Backup(key(1)))
	_, err = another.Save(t.Context(), rootOf(t, dir), noLimit)
	require.NoError(t, err)
	require.EqualValues(t, 1, puts.Load(), "another node finds what is there")

	target := t.TempDir()
	require.NoError(t, b.Restore(t.Context(), rootOf(t, target), first), "earlier ones stay")
	require.NotEqual(t, listed(t, dir)["large"], listed(t, target)["large"])
}

// Damage, other keys and other hashes are found, whatever was changed in the bucket.
func TestSnapshotsThatWereChanged(t *testing.T) {
	s := s3test.Start(t, nil)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), random(t, chunkBytes), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), random(t, chunkBytes), 0o600))
	b := opened(t, s.Backup(key(1)))
	hash, err := b.Save(t.Context(), rootOf(t, dir), noLimit)
	require.NoError(t, err)
	restore := func(k []byte, h Hash) error {
		return opened(t, s.Backup(k)).Restore(t.Context(), rootOf(t, t.TempDir()), h)
	}
	require.ErrorIs(t, restore(key(2), hash), ErrDamaged)
	require.ErrorIs(t, restore(key(1), Hash{1}), ErrBucket)
	require.ErrorIs(t, opened(t, s.Backup(key(1))).Check(t.Context(), Hash{1}), ErrBucket)
	before := s.Objects(t)
	var chunks []string
	for name, content := range before {
		if strings.HasSuffix(name, "/check") || strings.Contains(name, "/writers/") {
			continue
		}
		changed := bytes.Clone(content)
		changed[len(changed)/2] ^= 1
		s.Put(t, name, changed)
		require.ErrorIs(t, restore(key(1), hash), ErrDamaged, name)
		s.Put(t, name, content[:len(content)-1])
		require.ErrorIs(t, restore(key(1), hash), ErrDamaged, name)
		s.Put(t, name, content)
		if strings.Contains(name, "/chunks/") {
			chunks = append(chunks, name)
		}
	}
	require.Len(t, chunks, 2)
	s.Put(t, chunks[0], before[chunks[1]]) // a good chunk in another's place
	require.ErrorIs(t, restore(key(1), hash), ErrDamaged)
	s.Put(t, chunks[0], before[chunks[0]])
	require.NoError(t, restore(key(1), hash))
}

// A node that had the key may have made any manifest: it leads out of no folder.
func TestHostileManifests(t *testing.T) {
	s := s3test.Start(t, nil)
	b := opened(t, s.Backup(key(1)))
	outside := t.TempDir()
	dir, file, link := fs.ModeDir|0o755, fs.FileMode(0o644), fs.ModeSymlink|0o777
	for name, entries := range map[string][]entry{
		"up":               {{Path: "../x", Mode: file}},
		"absolute":         {{Path: outside + "/x", Mode: file}},
		"through a link":   {{Path: "l", Mode: link, Link: outside}, {Path: "l/x", Mode: file}},
		"over a link":      {{Path: "l", Mode: link, Link: outside + "/x"}, {Path: "l", Mode: file}},
		"folder by a link": {{Path: "l", Mode: link, Link: outside}, {Path: "l/d", Mode: dir}},
		"link by a link":   {{Path: "l", Mode: link, Link: outside}, {Path: "l/k", Mode: link, Link: "x"}},
		"mode of a link":   {{Path: "l", Mode: link, Link: outside}, {Path: "l", Mode: dir}},
		"device":           {{Path: "d", Mode: fs.ModeDevice | 0o666}},
		"twice":            {{Path: "x", Mode: file}, {Path: "x", Mode: file}},
		"the folder":       {{Path: ".", Mode: file}},
		"size":             {{Path: "x", Mode: file, Size: -1}},
		"too many chunks":  {{Path: "x", Mode: file, Size: 1, Chunks: []string{"", ""}}},
		"chunk elsewhere":  {{Path: "x", Mode: file, Size: 1, Chunks: []string{"../manifests/x"}}},
	} {
		raw, err := json.Marshal(manifest{Version: version, Entries: entries})
		require.NoError(t, err)
		sealed, err := b.seal(raw, nameOfList)
		require.NoError(t, err)
		hash := Hash(sha256.Sum256(sealed))
		s.Put(t, "team/training/manifests/"+hash.String(), sealed)
		err = b.Restore(t.Context(), rootOf(t, t.TempDir()), hash)
		require.Error(t, err, name)
		require.NotErrorIs(t, err, ErrBucket, name) // it was read
		left, err := os.ReadDir(outside)
		require.NoError(t, err)
		require.Empty(t, left, name)
	}
}

func TestSnapshotsThatCannotBeMade(t *testing.T) {
	s := s3test.Start(t, nil)
	for name, change := range map[string]func(*messages.Backup){
		"endpoint": func(b *messages.Backup) { b.Endpoint = "ftp://x" },
		"user":     func(b *messages.Backup) { b.Endpoint = "https://me@x" },
		"bucket":   func(b *messages.Backup) { b.Bucket = "a/b" },
		"prefix":   func(b *messages.Backup) { b.Prefix = "../x" },
		"whole":    func(b *messages.Backup) { b.Prefix = "" },
		"secret":   func(b *messages.Backup) { b.SecretKey = "" },
		"key":      func(b *messages.Backup) { b.Key = b.Key[:31] },
		"often":    func(b *messages.Backup) { b.Every = messages.MinBackupSecs - 1 },
	} {
		b := s.Backup(key(1))
		change(&b)
		_, err := Open(b, nil)
		require.ErrorIs(t, err, messages.ErrBackup, name)
	}
	stranger := s.Backup(key(1))
	stranger.SecretKey = "another"
	require.ErrorIs(t, opened(t, stranger).Check(t.Context(), Hash{}), ErrBucket)
	elsewhere := s.Backup(key(1))
	elsewhere.Bucket = "nobodys"
	require.ErrorIs(t, opened(t, elsewhere).Check(t.Context(), Hash{}), ErrBucket)

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x"), nil, 0o600))
	require.NoError(t, os.Truncate(filepath.Join(dir, "x"), 1<<40))
	_, err := opened(t, s.Backup(key(1))).Save(t.Context(), rootOf(t, dir), 1<<30)
	require.ErrorIs(t, err, ErrFolder)
	require.ErrorContains(t, err, "more than the volume")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = opened(t, s.Backup(key(1))).Save(ctx, rootOf(t, dir), noLimit)
	require.True(t, errors.Is(err, context.Canceled) || errors.Is(err, ErrBucket), err)
	require.Equal(t, "(backup) (backup)", fmt.Sprintf("%v %#v", s.Backup(key(1)), s.Backup(key(1))))
}
