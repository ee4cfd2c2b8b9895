package store

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/sdk/records"
)

// Where a file may not grow, nothing is promised that is not kept, the error names the reason, and the file is sound.
func TestFileLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.db")
	w := newPeers()
	w.run(t, path, 1, true, 3*time.Second, childLimit+"=65536")
	require.NotEmpty(t, w.failed, "the limit was not reached")
	require.Contains(t, w.failed[len(w.failed)-1], syscall.EFBIG.Error())
	failed := len(w.failed)
	w.run(t, path, 2, true, 500*time.Millisecond, childLimit+"=65536")
	require.Greater(t, len(w.failed), failed, "a second life is not better off")
	w.failed = nil
	w.run(t, path, 3, true, 500*time.Millisecond) // room again
	require.Empty(t, w.failed)
	s, err := Open(path, options())
	require.NoError(t, err)
	for _, x := range w.signed {
		known, err := s.Knows(x)
		require.NoError(t, err)
		require.True(t, known)
	}
	require.NoError(t, s.Close())
	t.Logf("%d failures at the limit, %d statements", failed, len(w.signed))
}

// The same on a file system that is full, which needs root to make one.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=512k", "gantry-test", dir).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: a small file system cannot be mounted here (root and Linux are needed): %v: %s", err, out)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	path, ballast := filepath.Join(dir, "k.db"), filepath.Join(dir, "ballast")
	s := open(t, path)
	require.NoError(t, os.WriteFile(ballast, make([]byte, 256<<10), 0o600))
	done := map[records.CheckStatement]bool{}
	var full error
	for i := int64(0); full == nil && i < 20_000; i++ {
		x := []records.CheckStatement{st(1, 5, i, true), st(2, 6, i, false)}
		signed, _, err := s.Sign(x, sign)
		full = err
		for _, y := range signed {
			require.NoError(t, err)
			done[y.Statement] = true
		}
	}
	require.ErrorIs(t, full, syscall.ENOSPC)
	require.False(t, IsDamage(full), "no room is no damage")
	require.Error(t, s.Vote(7, records.Hash{1}, make([]byte, 64<<10)))
	require.NoError(t, s.Close())
	s = open(t, path) // which writes little
	require.ErrorIs(t, sealAndPack(s, 6), syscall.ENOSPC, "no room for packs")
	for x := range done {
		known, err := s.Knows(x)
		require.NoError(t, err)
		require.True(t, known)
	}
	require.NoError(t, os.Remove(ballast))
	signed, _, err := s.Sign([]records.CheckStatement{st(1, 7, 1, true)}, sign)
	require.NoError(t, err, "goes on once there is room")
	require.Len(t, signed, 1)
	require.NoError(t, s.Vote(7, records.Hash{2}, nil), "the vote that did not fit was not given")
	require.NoError(t, sealAndPack(s, 6))
	require.Equal(t, 1, countEntries(t, s, bucketStatements))
	require.NoError(t, s.Close())
	s = open(t, path)
	for x := range done {
		known, err := s.Knows(x)
		require.NoError(t, err)
		require.True(t, known)
	}
	t.Logf("%d statements until the disk was full", len(done))
	require.NoError(t, s.Close())
}

func sealAndPack(s *Store, p records.Period) error {
	if err := s.Seal(p); err != nil {
		return err
	}
	_, err := s.Pack()
	return err
}

// dump is everything that a store promises; what was voted for and announced of the statements comes as roots.
func dump(t *testing.T, s *Store) (out []Signed, roots []string) {
	for p := records.Period(5); p < 50; p++ {
		have, err := s.Statements(p)
		require.NoError(t, err)
		out = append(out, have...)
		if root, err := s.Voted(p); err == nil {
			roots = append(roots, string(root[:]))
		} else {
			require.ErrorIs(t, err, ErrNotFound)
		}
		require.NoError(t, s.db.View(func(tx *bolt.Tx) error {
			roots = append(roots, string(tx.Bucket(bucketManifests).Get(periodKey(p))))
			return nil
		}))
	}
	return out, roots
}

func damages() int {
	if os.Getenv("GANTRY_EXHAUSTIVE") != "" {
		return 20_000
	}
	return 150
}

// Whatever bytes of the file change, it does not open, or it opens and every promise is in it.
func TestRandomDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.db")
	s := open(t, path)
	for p := records.Period(5); p < 25; p++ {
		var all []records.CheckStatement
		for i := range int64(20) {
			all = append(all, st(byte(i+1), p, i, i%3 == 0))
		}
		_, _, err := s.Sign(all, sign)
		require.NoError(t, err)
		require.NoError(t, s.Vote(p, records.Hash{byte(p)}, make([]byte, 500)))
	}
	_, err := s.Prune(8)
	require.NoError(t, err)
	s.pack = 7
	require.NoError(t, sealAndPack(s, 18))
	for p := records.Period(8); p < 18; p++ {
		require.NoError(t, s.PutManifest(p, SetRef{Count: 20, Size: uint32(p), Digest: [32]byte{9}}))
	}
	require.NoError(t, s.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	s = open(t, path)
	statements, roots := dump(t, s)
	require.NoError(t, s.Close())

	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 3))
	t.Logf("seed %d, %d bytes", seed, len(whole))
	refused := 0
	for i := range damages() {
		broken := append([]byte(nil), whole...)
		switch rnd.IntN(5) {
		case 0: // one bit
			broken[rnd.IntN(len(broken))] ^= 1 << rnd.IntN(8)
		case 1: // a stretch of nonsense
			at := rnd.IntN(len(broken))
			for j := at; j < min(len(broken), at+1+rnd.IntN(600)); j++ {
				broken[j] = byte(rnd.Uint32())
			}
		case 2: // a page is gone
			at := rnd.IntN(len(broken)/4096) * 4096
			clear(broken[at : at+4096])
		case 3: // two pages change places
			a, b := rnd.IntN(len(broken)/4096)*4096, rnd.IntN(len(broken)/4096)*4096
			for j := range 4096 {
				broken[a+j], broken[b+j] = broken[b+j], broken[a+j]
			}
		case 4: // cut short
			broken = broken[:rnd.IntN(len(broken))]
		}
		// A new file each time: where bbolt panics on opening, its lock on the old one stays until the process ends.
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.WriteFile(path, broken, 0o600))
		s, err := Open(path, options())
		if err != nil {
			refused++
			require.False(t, strings.Contains(err.Error(), "runtime error: invalid memory") && !IsDamage(err), "%v", err)
			continue
		}
		have, voted := dump(t, s)
		require.Equal(t, statements, have, "damage %d", i)
		require.Equal(t, roots, voted, "damage %d", i)
		require.NoError(t, s.Close())
	}
	t.Logf("%d damages: %d refused, %d without effect on any promise", damages(), refused, damages()-refused)
	require.Greater(t, refused, damages()/4)
}

// The newer meta page is what bbolt would do without: the file would be as it was one promise ago.
func TestDamagedMetaPage(t *testing.T) {
	for page := range 2 {
		path := filepath.Join(t.TempDir(), "k.db")
		s := open(t, path)
		for i := range int64(3) {
			_, _, err := s.Sign([]records.CheckStatement{st(1, 5, i, true)}, sign)
			require.NoError(t, err)
		}
		require.NoError(t, s.Close())
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		raw[page*os.Getpagesize()+16+40] ^= 1 // the number of pages
		require.NoError(t, os.WriteFile(path, raw, 0o600))
		_, err = Open(path, options())
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "meta page")
	}
}

func TestFrozen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.db")
	s := open(t, path)
	old := []records.CheckStatement{st(1, 5, 1, true)}
	_, _, err := s.Sign(old, sign)
	require.NoError(t, err)
	require.NoError(t, s.Frozen())
	require.NoError(t, s.Freeze("another process signs"))
	require.NoError(t, s.Freeze("for another reason"))
	require.ErrorContains(t, s.Frozen(), "another process signs")
	_, _, err = s.Sign(old, sign)
	require.ErrorIs(t, err, ErrFrozen)
	require.ErrorIs(t, s.Vote(6, records.Hash{1}, nil), ErrFrozen)
	require.True(t, IsDamage(err))
	require.NoError(t, s.Close())
	_, err = Open(path, options())
	require.ErrorIs(t, err, ErrFrozen)
}

func TestKnowsAndLastVote(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "k.db"))
	_, ok, err := s.LastVote()
	require.NoError(t, err)
	require.False(t, ok)
	mine := st(1, 6, 1, true)
	_, _, err = s.Sign([]records.CheckStatement{mine}, sign)
	require.NoError(t, err)
	for x, want := range map[records.CheckStatement]bool{
		mine: true, st(1, 6, 1, false): false, st(2, 6, 1, true): false, st(2, 4, 1, true): true,
	} {
		known, err := s.Knows(x)
		require.NoError(t, err)
		require.Equal(t, want, known, "%+v", x)
	}
	require.NoError(t, s.Vote(9, records.Hash{1}, nil))
	require.NoError(t, s.Vote(7, records.Hash{1}, nil))
	p, ok, err := s.LastVote()
	require.NoError(t, err)
	require.True(t, ok)
	require.EqualValues(t, 9, p)
	require.ErrorIs(t, s.Vote(4, records.Hash{1}, nil), ErrEarly)
}
