package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/client/wire"
)

func never(wire.CheckStatement) (solana.Signature, error) {
	return solana.Signature{}, errors.New("signed again")
}

// filled signs statements about eight nodes in periods 5 to 8, seals all but the last, and returns what was signed.
func filled(t *testing.T, path string, each int) map[wire.Period][]Signed {
	t.Helper()
	s := open(t, path)
	out := map[wire.Period][]Signed{}
	for p := wire.Period(5); p < 9; p++ {
		var all []wire.CheckStatement
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
		require.NoError(t, s.Vote(p, wire.Hash{byte(p)}, nil))
	}
	require.NoError(t, s.Seal(7))
	require.NoError(t, s.Close())
	return out
}

func records(t *testing.T, s *Store, bucket []byte) int {
	t.Helper()
	n := 0
	require.NoError(t, s.view(func(tx *bolt.Tx) error {
		n = tx.Bucket(bucket).Stats().KeyN
		return nil
	}))
	return n
}

// holds checks that a store answers everything as if each statement had a record of its own.
func holds(t *testing.T, s *Store, want map[wire.Period][]Signed) {
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
		var others, unheard []wire.CheckStatement
		asked := make([]wire.CheckStatement, 0, 2*len(all))
		for _, x := range all {
			other := x.Statement
			other.Passed = !other.Passed
			for y, want := range map[wire.CheckStatement]bool{x.Statement: true, other: false} {
				known, err := s.Knows(y)
				require.NoError(t, err)
				require.Equal(t, want, known)
			}
			asked, others = append(asked, x.Statement, other), append(others, other)
			other.CheckedAt += 1 << 20
			unheard = append(unheard, other)
		}
		again, refused, err := s.Sign(asked, never)
		require.NoError(t, err)
		require.Equal(t, all, again)
		require.Len(t, refused, len(others))
		for i, r := range refused {
			require.Equal(t, others[i], r.Statement)
			require.ErrorIs(t, r.Err, ErrContradiction)
		}
		if p == 8 {
			continue // it is not sealed
		}
		again, refused, err = s.Sign(unheard, never)
		require.NoError(t, err)
		require.Empty(t, again)
		require.Len(t, refused, len(unheard))
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
		require.Equal(t, 40, records(t, s, bucketStatements), "those of the open period")
		require.Equal(t, 3*((40+size-1)/size), records(t, s, bucketPacks))
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
		for p := range wire.Period(7) {
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

// A file of the layout before, or of a version that stopped while it packed, opens and is packed.
func TestUnpackedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.db")
	want := filled(t, path, 20)
	before := func(schema uint64) {
		s := open(t, path)
		require.NoError(t, s.update(func(tx *bolt.Tx) error {
			return errors.Join(tx.DeleteBucket(bucketPacks), tx.Bucket(bucketMeta).Put(keySchema, seal(number(schema))))
		}))
		require.NoError(t, s.Close())
	}
	before(unpacked)
	s := open(t, path)
	holds(t, s, want)
	n, err := s.Pack()
	require.NoError(t, err)
	require.Equal(t, 60, n)
	require.NoError(t, s.Close())
	s = open(t, path)
	holds(t, s, want)
	require.NoError(t, s.Close())

	// What is promised by packs is missed when they are gone, whatever the file says of its layout.
	before(unpacked)
	_, err = Open(path, options())
	require.ErrorIs(t, err, ErrCorrupt)
}

func TestOtherSchema(t *testing.T) {
	for _, schema := range []uint64{0, 1, Schema + 1} {
		path := filepath.Join(t.TempDir(), "k.db")
		s := open(t, path)
		require.NoError(t, s.update(func(tx *bolt.Tx) error {
			return tx.Bucket(bucketMeta).Put(keySchema, seal(number(schema)))
		}))
		require.NoError(t, s.Close())
		_, err := Open(path, options())
		require.ErrorIs(t, err, ErrSchema)
	}
}

// No change of packs that could let the keeper sign again goes unseen, even where each record is sound by itself.
func TestDamagedPacks(t *testing.T) {
	third := func(b *bolt.Bucket) (key, value []byte) {
		c := b.Cursor()
		c.First()
		c.Next()
		k, v := c.Next()
		return bytes.Clone(k), bytes.Clone(v)
	}
	for name, damage := range map[string]func(b *bolt.Bucket) error{
		"gone": func(b *bolt.Bucket) error {
			k, _ := third(b)
			return b.Delete(k)
		},
		"elsewhere": func(b *bolt.Bucket) error {
			k, v := third(b)
			k[7]++
			return b.Put(k, v)
		},
		"moved": func(b *bolt.Bucket) error {
			k, v := third(b)
			if err := b.Delete(k); err != nil {
				return err
			}
			k[len(k)-1]++
			return b.Put(k, v)
		},
		"shorter": func(b *bolt.Bucket) error {
			k, v := third(b)
			return b.Put(k, seal(v[8:len(v)-signedSize]))
		},
		"another result": func(b *bolt.Bucket) error {
			k, v := third(b)
			v[8+57] ^= 1
			return b.Put(k, seal(v[8:]))
		},
		"nothing": func(b *bolt.Bucket) error {
			k, _ := third(b)
			return b.Put(k, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "k.db")
			filled(t, path, 20)
			s := open(t, path)
			s.pack = 4
			_, err := s.Pack()
			require.NoError(t, err)
			require.NoError(t, s.update(func(tx *bolt.Tx) error { return damage(tx.Bucket(bucketPacks)) }))
			require.NoError(t, s.Close())
			_, err = Open(path, options())
			require.ErrorIs(t, err, ErrCorrupt)
		})
	}
}

// Every byte of a pack counts, in the file and in what is read of it while it is open.
func TestEveryByteOfAPack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.db")
	filled(t, path, 6)
	s := open(t, path)
	_, err := s.Pack()
	require.NoError(t, err)
	var key, pack []byte
	require.NoError(t, s.view(func(tx *bolt.Tx) error {
		k, v := tx.Bucket(bucketPacks).Cursor().First()
		key, pack = bytes.Clone(k), bytes.Clone(v)
		return nil
	}))
	require.Len(t, pack, 8+6*signedSize)
	require.NoError(t, s.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(whole, pack)
	require.Positive(t, at)
	ignore := func([]byte, Signed) {}
	require.NoError(t, eachPacked(key, pack, ignore))
	step := 17 // a prime, so that all fields of a statement have their turn
	if os.Getenv("GANTRY_EXHAUSTIVE") != "" {
		step = 1
	}
	for i := range pack {
		bad := bytes.Clone(pack)
		bad[i] ^= 1 << (i % 8)
		require.ErrorIs(t, eachPacked(key, bad, ignore), ErrCorrupt, "byte %d", i)
		if i%step > 0 {
			continue
		}
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.WriteFile(path, slices.Concat(whole[:at], bad, whole[at+len(bad):]), 0o600))
		_, err := Open(path, options())
		require.ErrorIs(t, err, ErrCorrupt, "byte %d", i)
	}
	for i := range key {
		bad := bytes.Clone(key)
		bad[i] ^= 1
		require.ErrorIs(t, eachPacked(bad, pack, ignore), ErrCorrupt)
	}
	// Sound by its checksum, and nothing that the keeper would have written.
	body := pack[8:]
	swapped := slices.Concat(body[:signedSize], body[2*signedSize:3*signedSize], body[signedSize:2*signedSize])
	for _, odd := range [][]byte{{}, body[:1], body[:signedSize-1], body[:signedSize+1], swapped, slices.Concat(body[:signedSize], body[:signedSize])} {
		require.ErrorIs(t, eachPacked(key, seal(odd), ignore), ErrCorrupt)
	}
}

// Damage that came after the start is found before anything is packed, and nothing is lost by that.
func TestPackRefusesDamage(t *testing.T) {
	for name, damage := range map[string]func(tx *bolt.Tx, k, v []byte) error{
		"checksum": func(tx *bolt.Tx, k, v []byte) error {
			v[len(v)-1] ^= 1
			return tx.Bucket(bucketStatements).Put(k, v)
		},
		"another key": func(tx *bolt.Tx, k, v []byte) error {
			k[len(k)-1] ^= 0x80
			return tx.Bucket(bucketStatements).Put(k, v)
		},
		"packed before": func(tx *bolt.Tx, k, v []byte) error { return tx.Bucket(bucketPacks).Put(k, seal(v[8:])) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "k.db")
			filled(t, path, 20)
			s := open(t, path)
			require.NoError(t, s.update(func(tx *bolt.Tx) error {
				k, v := tx.Bucket(bucketStatements).Cursor().First()
				return damage(tx, bytes.Clone(k), bytes.Clone(v))
			}))
			singles := records(t, s, bucketStatements)
			_, err := s.Pack()
			require.ErrorIs(t, err, ErrCorrupt)
			require.Equal(t, singles, records(t, s, bucketStatements))
		})
	}
}

// The digest does not depend on how much of a record is hashed at a time.
func TestDigestOfLargeRecords(t *testing.T) {
	for _, n := range []int{0, 300, 420, 421, 422, 423, 424, 425, 500, 5000} {
		value := bytes.Repeat([]byte{7}, n)
		var d digest
		d.add([]byte("bucket"), bytes.Repeat([]byte{1}, keySize), value)
		want := sha256.Sum256(slices.Concat([]byte("bucket"), []byte{0, 0, 0, keySize}, bytes.Repeat([]byte{1}, keySize), value))
		require.Equal(t, digest{1, want}, d)
		d.drop([]byte("bucket"), bytes.Repeat([]byte{1}, keySize), value)
		require.Zero(t, d)
	}
}
