package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/sdk/records"
)

func never(records.CheckStatement) (solana.Signature, error) {
	return solana.Signature{}, errors.New("signed again")
}

// filled signs statements about eight nodes in periods 5 to 8, seals all but the last, and returns what was signed.
func filled(t *testing.T, path string, each int) map[records.Period][]Signed {
	t.Helper()
	s := open(t, path)
	out := map[records.Period][]Signed{}
	for p := records.Period(5); p < 9; p++ {
		var all []records.CheckStatement
		for i := range each {
			all = append(all, st(byte(1+i%8), p, int64(i), i%3 == 0))
		}
		signed, refused, err := s.Sign(all, sign)
		require.NoError(t, err)
		require.Empty(t, refused)
		slices.SortFunc(signed, func(a, b Signed) int {
			return bytes.Compare(statementKey(a.Statement), statementKey(b.Statement))
		})
		out[p] = signed
		require.NoError(t, s.Vote(p, records.Hash{byte(p)}, nil))
	}
	require.NoError(t, s.Seal(7))
	require.NoError(t, s.Close())
	return out
}

func countEntries(t *testing.T, s *Store, bucket []byte) int {
	t.Helper()
	n := 0
	require.NoError(t, s.db.View(func(tx *bolt.Tx) error {
		n = tx.Bucket(bucket).Stats().KeyN
		return nil
	}))
	return n
}

// holds checks that a store answers everything as if each statement had an entry of its own.
func holds(t *testing.T, s *Store, want map[records.Period][]Signed) {
	t.Helper()
	for p, all := range want {
		have, err := s.Statements(p)
		require.NoError(t, err)
		require.Equal(t, all, have)
		for node := range byte(10) {
			about, err := s.StatementsAbout(p, solana.PublicKey{node})
			require.NoError(t, err)
			var expect []Signed
			for _, x := range all {
				if x.Statement.Node == (solana.PublicKey{node}) {
					expect = append(expect, x)
				}
			}
			require.Equal(t, expect, about)
		}
		var others, later []records.CheckStatement
		asked := make([]records.CheckStatement, 0, 2*len(all))
		for _, x := range all {
			other := x.Statement
			other.Passed = !other.Passed
			for y, want := range map[records.CheckStatement]bool{x.Statement: true, other: false} {
				known, err := s.Knows(y)
				require.NoError(t, err)
				require.Equal(t, want, known)
			}
			asked, others = append(asked, x.Statement, other), append(others, other)
			other.CheckedAt += 1 << 20
			later = append(later, other)
		}
		again, refused, err := s.Sign(asked, never)
		require.NoError(t, err)
		require.Equal(t, all, again)
		require.Len(t, refused, len(others))
		for i, r := range refused {
			require.Equal(t, others[i], r.Statement)
			require.ErrorIs(t, r.Err, ErrConflict)
		}
		if p == 8 {
			continue // it is not sealed
		}
		again, refused, err = s.Sign(later, never)
		require.NoError(t, err)
		require.Empty(t, again)
		require.Len(t, refused, len(later))
		for _, r := range refused {
			require.ErrorIs(t, r.Err, ErrSealed)
		}
	}
}

func TestPackedIsAsBefore(t *testing.T) {
	for _, size := range []int{1, 7, packSize} {
		path := filepath.Join(t.TempDir(), "k.db")
		want := filled(t, path, 40)
		s := open(t, path)
		s.pack = size
		holds(t, s, want)
		n, err := s.Pack()
		require.NoError(t, err)
		require.Equal(t, 120, n)
		require.Equal(t, 40, countEntries(t, s, bucketStatements), "those of the open period")
		require.Equal(t, 3*((40+size-1)/size), countEntries(t, s, bucketPacks))
		holds(t, s, want)
		n, err = s.Pack()
		require.NoError(t, err)
		require.Zero(t, n)
		require.NoError(t, s.Close())

		s = open(t, path)
		holds(t, s, want)
		_, err = s.Prune(7)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		s = open(t, path)
		for p := range records.Period(7) {
			have, err := s.Statements(p)
			require.NoError(t, err)
			require.Empty(t, have)
			delete(want, p)
		}
		require.Len(t, want, 2)
		holds(t, s, want)
		require.NoError(t, s.Close())
	}
}

func TestOtherSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.db")
	s := open(t, path)
	require.NoError(t, s.db.Update(func(tx *bolt.Tx) error {
		n := binary.BigEndian.AppendUint64(nil, Schema+1)
		sum := sha256.Sum256(n)
		return tx.Bucket(bucketMeta).Put([]byte("schema"), slices.Concat(sum[:8], n))
	}))
	require.NoError(t, s.Close())
	_, err := Open(path, options())
	require.ErrorIs(t, err, ErrSchema)
	require.ErrorContains(t, err, "it has 2, this version reads 1")
}
