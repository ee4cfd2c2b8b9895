package store

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/client/records"
)

var one, other = SetRef{Count: 3, Size: 90, Digest: [32]byte{1}}, SetRef{Count: 2, Size: 60, Digest: [32]byte{2}}

func TestNeverTwoManifests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.db")
	s := open(t, path)
	require.ErrorIs(t, s.PutManifest(6, one), ErrOpen)
	require.NoError(t, s.Seal(8))
	require.ErrorIs(t, s.PutManifest(4, one), ErrEarly)
	require.NoError(t, s.PutManifest(6, one))
	again := func() {
		require.NoError(t, s.PutManifest(6, one))
		for _, x := range []SetRef{
			other, {Count: 4, Size: 90, Digest: [32]byte{1}}, {Count: 3, Size: 91, Digest: [32]byte{1}}, {Count: 3, Size: 90, Digest: [32]byte{3}}, {},
		} {
			require.ErrorIs(t, s.PutManifest(6, x), ErrManifest)
		}
	}
	again()
	require.NoError(t, s.Close())
	s = open(t, path)
	again()
	require.NoError(t, s.Freeze("a test"))
	require.ErrorIs(t, s.PutManifest(6, one), ErrFrozen)
	require.ErrorIs(t, s.PutManifest(6, other), ErrFrozen)
	require.ErrorIs(t, s.PutManifest(7, one), ErrFrozen)
}

// What was dropped is not known any more, so nothing is signed in its place: no statement, no manifest and no vote.
func TestNothingIsSignedForWhatWasPruned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.db")
	s := open(t, path)
	for p := records.Period(5); p < 9; p++ {
		_, _, err := s.Sign([]records.CheckStatement{st(1, p, int64(p), true)}, sign)
		require.NoError(t, err)
	}
	require.NoError(t, s.Seal(7))
	require.NoError(t, s.PutManifest(5, one))
	require.NoError(t, s.PutManifest(7, one))
	require.NoError(t, s.Vote(6, records.Hash{1}, nil))
	check := func() {
		require.EqualValues(t, 7, s.FirstPeriod())
		for p := records.Period(5); p < 7; p++ {
			require.ErrorIs(t, s.PutManifest(p, other), ErrEarly)
			require.ErrorIs(t, s.Vote(p, records.Hash{2}, nil), ErrEarly)
			_, refused, err := s.Sign([]records.CheckStatement{st(1, p, int64(p), false)}, sign)
			require.NoError(t, err)
			require.Len(t, refused, 1)
			require.ErrorIs(t, refused[0].Err, ErrEarly)
			known, err := s.Knows(st(1, p, int64(p), false))
			require.NoError(t, err)
			require.True(t, known, "it may have been signed")
		}
		require.NoError(t, s.PutManifest(7, one))
		require.ErrorIs(t, s.PutManifest(7, other), ErrManifest)
		known, err := s.Knows(st(1, 7, 7, false))
		require.NoError(t, err)
		require.False(t, known)
	}
	n, err := s.Prune(7)
	require.NoError(t, err)
	require.Equal(t, 5, n, "two statements, a manifest, a vote and its proposal")
	check()
	_, err = s.Prune(6)
	require.NoError(t, err, "less than before changes nothing")
	check()
	require.NoError(t, s.Close())
	s = open(t, path)
	check()
}

// asUnlisted makes a file what the version before would have written.
func asUnlisted(t *testing.T, path string) {
	s := open(t, path)
	require.NoError(t, s.update(func(tx *bolt.Tx) error {
		all, err := readDigest(tx)
		if err != nil {
			return err
		}
		err = tx.Bucket(bucketManifests).ForEach(func(k, v []byte) error {
			all.drop(bucketManifests, k, v)
			return nil
		})
		return errors.Join(err, tx.DeleteBucket(bucketManifests), all.save(tx),
			tx.Bucket(bucketMeta).Put(keyFirst, seal(number(5))), tx.Bucket(bucketMeta).Put(keySchema, seal(number(unlisted))))
	}))
	require.NoError(t, s.Close())
}

// A file of the version before opens and goes on. It does not say what was pruned from it; what it has is signed for.
func TestFileWithoutManifests(t *testing.T) {
	for name, c := range map[string]struct {
		pruned, first records.Period
	}{
		"whole":             {0, 5},
		"pruned in part":    {7, 7},
		"pruned of all":     {9, 9},
		"pruned beforehand": {5, 5},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "k.db")
			s := open(t, path)
			for p := records.Period(5); p < 9; p++ {
				_, _, err := s.Sign([]records.CheckStatement{st(1, p, int64(p), true)}, sign)
				require.NoError(t, err)
			}
			require.NoError(t, s.Seal(8))
			_, err := s.Prune(c.pruned)
			require.NoError(t, err)
			require.NoError(t, s.Close())
			asUnlisted(t, path)
			s = open(t, path)
			require.Equal(t, c.first, s.FirstPeriod())
			for p := records.Period(5); p < 9; p++ {
				if err := s.PutManifest(p, one); p < c.first {
					require.ErrorIs(t, err, ErrEarly)
				} else {
					require.NoError(t, err)
				}
			}
			require.ErrorIs(t, s.PutManifest(9, one), ErrOpen)
			require.NoError(t, s.Close())
			s = open(t, path)
			require.Equal(t, c.first, s.FirstPeriod())
			if c.first < 9 {
				require.ErrorIs(t, s.PutManifest(8, other), ErrManifest)
			}
			_, err = s.Pack()
			require.NoError(t, err)
			require.NoError(t, s.Close())
		})
	}
}

// A manifest's record that is gone, or has moved, or says something else, is found when the file opens.
func TestDamagedManifests(t *testing.T) {
	for name, damage := range map[string]func(b *bolt.Bucket) error{
		"gone":         func(b *bolt.Bucket) error { return b.Delete(periodKey(6)) },
		"elsewhere":    func(b *bolt.Bucket) error { return b.Put(periodKey(7), b.Get(periodKey(6))) },
		"another set":  func(b *bolt.Bucket) error { return b.Put(periodKey(6), seal(other.encode())) },
		"shorter":      func(b *bolt.Bucket) error { return b.Put(periodKey(6), seal(one.encode()[:8])) },
		"no record":    func(b *bolt.Bucket) error { return b.Put(periodKey(6), []byte("short")) },
		"not a record": func(b *bolt.Bucket) error { return b.Put(periodKey(6), one.encode()) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "k.db")
			s := open(t, path)
			require.NoError(t, s.Seal(8))
			require.NoError(t, s.PutManifest(6, one))
			require.NoError(t, s.update(func(tx *bolt.Tx) error { return damage(tx.Bucket(bucketManifests)) }))
			if err := s.PutManifest(6, one); name == "shorter" || name == "no record" || name == "not a record" {
				require.ErrorIs(t, err, ErrCorrupt)
			}
			require.NoError(t, s.Close())
			_, err := Open(path, options())
			require.ErrorIs(t, err, ErrCorrupt)
		})
	}
}
