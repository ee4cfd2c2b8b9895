package store

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/records"
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

// A manifest's entry that is gone, or has moved, or says something else, is found when the file opens.
func TestDamagedManifests(t *testing.T) {
	for name, damage := range map[string]func(b *bolt.Bucket) error{
		"gone":  func(b *bolt.Bucket) error { return b.Delete(periodKey(6)) },
		"twice": func(b *bolt.Bucket) error { return b.Put(periodKey(7), b.Get(periodKey(6))) },
		"another set": func(b *bolt.Bucket) error {
			return b.Put(periodKey(6), boltstore.Entry(bucketManifests, periodKey(6), other.encode()))
		},
		"shorter": func(b *bolt.Bucket) error {
			return b.Put(periodKey(6), boltstore.Entry(bucketManifests, periodKey(6), one.encode()[:8]))
		},
		"no entry":     func(b *bolt.Bucket) error { return b.Put(periodKey(6), []byte("short")) },
		"not an entry": func(b *bolt.Bucket) error { return b.Put(periodKey(6), one.encode()) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "k.db")
			s := open(t, path)
			require.NoError(t, s.Seal(8))
			require.NoError(t, s.PutManifest(6, one))
			require.NoError(t, s.db.Update(func(tx *bolt.Tx) error { return damage(tx.Bucket(bucketManifests)) }))
			if err := s.PutManifest(6, one); name == "shorter" || name == "no entry" || name == "not an entry" {
				require.ErrorIs(t, err, ErrCorrupt)
			}
			require.NoError(t, s.Close())
			_, err := Open(path, options())
			require.ErrorIs(t, err, ErrCorrupt)
		})
	}
}
