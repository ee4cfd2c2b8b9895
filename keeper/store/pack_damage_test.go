package store

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
)

// No change of packs that could let the keeper sign again goes unseen, even where each entry is sound by itself.
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
		"twice": func(b *bolt.Bucket) error {
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
			return b.Put(k, boltstore.Entry(bucketPacks, k, v[8:len(v)-signedSize]))
		},
		"another result": func(b *bolt.Bucket) error {
			k, v := third(b)
			v[8+57] ^= 1
			return b.Put(k, boltstore.Entry(bucketPacks, k, v[8:]))
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
			require.NoError(t, s.db.Update(func(tx *bolt.Tx) error { return damage(tx.Bucket(bucketPacks)) }))
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
	require.NoError(t, s.db.View(func(tx *bolt.Tx) error {
		k, v := tx.Bucket(bucketPacks).Cursor().First()
		key, pack = bytes.Clone(k), bytes.Clone(v)
		return nil
	}))
	require.Len(t, pack, 8+6*signedSize)
	require.NoError(t, s.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Contains(whole, pack))
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
		// Pages that are free may hold it as well.
		require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(whole, pack, bad), 0o600))
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
		require.ErrorIs(t, eachPacked(key, boltstore.Entry(bucketPacks, key, odd), ignore), ErrCorrupt)
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
			return boltstore.Put(tx, bucketStatements, k, v[8:])
		},
		"packed before": func(tx *bolt.Tx, k, v []byte) error { return boltstore.Put(tx, bucketPacks, k, v[8:]) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "k.db")
			filled(t, path, 20)
			s := open(t, path)
			require.NoError(t, s.db.Update(func(tx *bolt.Tx) error {
				k, v := tx.Bucket(bucketStatements).Cursor().First()
				return damage(tx, bytes.Clone(k), bytes.Clone(v))
			}))
			singles := countEntries(t, s, bucketStatements)
			_, err := s.Pack()
			require.ErrorIs(t, err, ErrCorrupt)
			require.Equal(t, singles, countEntries(t, s, bucketStatements))
		})
	}
}

// The digest does not depend on how much of an entry is hashed at a time.
func TestDigestOfLargeRecords(t *testing.T) {
	for _, n := range []int{0, 300, 420, 421, 422, 423, 424, 425, 500, 5000} {
		value := bytes.Repeat([]byte{7}, n)
		var d digest
		d.add([]byte("bucket"), bytes.Repeat([]byte{1}, keySize), value)
		want := sha256.Sum256(slices.Concat([]byte("bucket"), []byte{0, 0, 0, keySize}, bytes.Repeat([]byte{1}, keySize), value))
		require.Equal(t, digest{count: 1, sum: want}, d)
		d.drop([]byte("bucket"), bytes.Repeat([]byte{1}, keySize), value)
		require.Zero(t, d)
	}
}
