package runtime

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

func backupKey() []byte { return bytes.Repeat([]byte{7}, messages.BackupKeyBytes) }

func hashOf(t testing.TB, text string) (out [32]byte) {
	t.Helper()
	n, err := hex.Decode(out[:], []byte(text))
	require.NoError(t, err)
	require.Equal(t, len(out), n)
	return out
}

// What a job leaves in its volume is in the customer's bucket, and the next job goes on from it. The bucket's credentials
// are in no file.
func TestVolumesAreKept(t *testing.T) {
	p, reference := withVolumes(t)
	s := s3test.Start(t, nil)
	spec := withVolume(t, "first", reference, 32, "put=/mnt/data/x,kept ", "exit")
	b := s.Backup(backupKey())
	spec.Backup = &b
	st, out := ran(t, p, spec)
	require.Equal(t, 9, st.Exit.Code, out)
	require.Contains(t, strings.Join(st.Limits, "\n"), "snapshots of the volume: at the end of the job")
	require.NotNil(t, st.Snapshot)
	require.Empty(t, st.Snapshot.Error)
	secret := [][]byte{[]byte(s3test.SecretKey), b.Key, []byte(hex.EncodeToString(b.Key))}
	require.Empty(t, plaintext(t, append(secret, spec.VolumeKey.texts(t)...), p.root, p.sandbox.Images))
	d, err := p.dir("first")
	require.NoError(t, err)
	require.NoFileExists(t, d.volumeFile())

	next := withVolume(t, "second", reference, 32, "get=/mnt/data/x", "put=/mnt/data/y,more", "list=/mnt/data")
	from := b
	from.From = hashOf(t, st.Snapshot.Hash)
	next.Backup = &from
	st, out = ran(t, p, next)
	require.Contains(t, out, `got /mnt/data/x "kept kept " <nil>`, "%v", st.Exit)
	require.Contains(t, out, "listed /mnt/data 2 <nil>")
	require.NotEqual(t, hex.EncodeToString(from.From[:]), st.Snapshot.Hash)

	missing := withVolume(t, "third", reference, 32, "who")
	missing.Backup = &from
	missing.Backup.From = [32]byte{1}
	st, _ = ran(t, p, missing)
	require.Equal(t, ReasonStartFailed, st.Exit.Reason)
	require.Contains(t, st.Exit.Message, "restore snapshot 0100")
	nothingAttached(t, p)
}

// A snapshot at an interval is of one instant, whatever the job writes meanwhile; the job goes on after it.
func TestVolumesAreKeptOfOneInstant(t *testing.T) {
	p, reference := withVolumes(t)
	t.Parallel()
	s := s3test.Start(t, nil)
	spec := withVolume(t, "l", reference, 32, "count=/mnt/data")
	b := s.Backup(backupKey())
	b.Every = messages.MinBackupSecs
	spec.Backup = &b
	_, err := p.Start(background(t), spec)
	require.NoError(t, err)
	var made *Snapshot
	require.Eventually(t, func() bool {
		st, err := p.Status(background(t), "l")
		made = st.Snapshot
		return err == nil && made != nil
	}, 3*time.Minute, 100*time.Millisecond)
	require.Empty(t, made.Error)
	before := strings.Count(printed(t, p, "l"), "counted")
	require.Eventually(t, func() bool { return strings.Count(printed(t, p, "l"), "counted") > before+1 }, time.Minute, 50*time.Millisecond, "it goes on")

	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	bucket, err := snapshot.Open(b, nil)
	require.NoError(t, err)
	require.NoError(t, bucket.Restore(t.Context(), root, hashOf(t, made.Hash)))
	number := func(name string) int {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		if len(raw) == 0 {
			return -1 // it was being written
		}
		n, err := strconv.Atoi(string(raw))
		require.NoError(t, err)
		return n
	}
	if a, c := number("a"), number("b"); a >= 0 && c >= 0 {
		require.Contains(t, []int{0, 1}, a-c, "a is written before b")
	}

	// A job that is killed, and one whose supervisor is, leave the last snapshot behind.
	st, err := p.Stop(background(t), "l", 0)
	require.NoError(t, err)
	require.NotEqual(t, made.Hash, st.Snapshot.Hash, "and one more at the end")
	nothingAttached(t, p)
}

// A bucket that is silent keeps no job frozen beyond its end, and no volume beyond its time.
func TestVolumesWhoseBucketIsGone(t *testing.T) {
	p, reference := withVolumes(t)
	t.Parallel() // it waits for the bucket's time
	spec := withVolume(t, "l", reference, 32, "put=/mnt/data/x,y", "exit")
	s := s3test.Start(t, nil)
	b := s.Backup(backupKey())
	b.Endpoint = "http://127.0.0.1:1"
	spec.Backup = &b
	st, out := ran(t, p, spec)
	require.Equal(t, 9, st.Exit.Code, out)
	require.NotEmpty(t, st.Snapshot.Error)
	require.Empty(t, st.Snapshot.Hash)
	nothingAttached(t, p)

	bad := withVolume(t, "bad", reference, 32, "who")
	bad.Backup = &messages.Backup{}
	require.ErrorIs(t, p.Check(bad), ErrSpec)
	bad.Volume, bad.VolumeKey, bad.Backup = nil, nil, &b
	require.ErrorIs(t, p.Check(bad), ErrSpec)
}

// A supervisor that is killed while it restores leaves nothing.
func TestRestoresAreEnded(t *testing.T) {
	p, reference := withVolumes(t)
	s := s3test.Start(t, nil)
	first := withVolume(t, "first", reference, 32, "put=/mnt/data/x,y", "exit")
	b := s.Backup(backupKey())
	first.Backup = &b
	st, _ := ran(t, p, first)
	slow := s3test.Stall(t)
	spec := withVolume(t, "l", reference, 32, "who")
	from := b
	from.Endpoint, from.From = slow.URL, hashOf(t, st.Snapshot.Hash)
	spec.Backup = &from
	d, err := p.dir("l")
	require.NoError(t, err)
	started := make(chan error, 1)
	go func() { _, err := p.Start(background(t), spec); started <- err }()
	<-slow.Asked
	var r runRecord
	_, err = readJSON(d.run(), &r)
	require.NoError(t, err)
	require.NoError(t, r.Supervisor.Signal(syscall.SIGTERM))
	require.NoError(t, <-started)
	st, err = p.Wait(background(t), "l")
	require.NoError(t, err)
	require.Equal(t, ReasonStartFailed, st.Exit.Reason)
	require.NoFileExists(t, d.volumeFile())
	nothingAttached(t, p)
}
