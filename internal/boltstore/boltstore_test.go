package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"
)

var bucket = []byte("numbers")

func config() Config {
	return Config{
		Name: "test store", Schema: 3, Owner: []byte("me"), Buckets: [][]byte{bucket},
		DescribeOwner: func(o []byte) string { return string(o) },
		OtherSchema:   "schema advice", OtherOwner: "owner advice", OtherProcess: "process advice",
	}
}

func open(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(path, config())
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func key(i int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(i)) }

// filled writes n numbers and their squares and returns the file's content.
func filled(t *testing.T, path string, n int) []byte {
	t.Helper()
	db := open(t, path)
	for i := range n {
		require.NoError(t, db.Update(func(tx *bolt.Tx) error { return PutJSON(tx, bucket, key(i), i*i) }))
	}
	require.NoError(t, db.Close())
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return raw
}

func TestEntries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "x.db")
	filled(t, path, 20)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	all, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, all, 1, "nothing is left of the creation")
	db := open(t, path)
	require.NoError(t, db.View(func(tx *bolt.Tx) error {
		var n int
		require.NoError(t, GetJSON(tx, bucket, key(7), &n))
		require.Equal(t, 49, n)
		require.ErrorIs(t, GetJSON(tx, bucket, key(20), &n), ErrNotFound)
		_, err := Get(tx, bucket, key(20))
		require.ErrorIs(t, err, ErrNotFound)
		return nil
	}))
	odd := func(k, entry []byte) (bool, error) {
		var n int
		err := ValueJSON(bucket, k, entry, &n)
		return n%2 == 1, err
	}
	for _, c := range []struct {
		del  func(k, entry []byte) (bool, error)
		want int
	}{{odd, 5}, {nil, 5}, {nil, 0}} {
		require.NoError(t, db.Update(func(tx *bolt.Tx) error {
			n, err := DeleteBelow(tx.Bucket(bucket), key(10), c.del)
			require.Equal(t, c.want, n)
			return err
		}))
	}
}

// An entry is good under its own key in its own bucket only.
func TestEntryHasItsPlace(t *testing.T) {
	for _, size := range []int{0, 1, 100, 490, 500, 5000} {
		value := bytes.Repeat([]byte{7}, size)
		entry := Entry(bucket, key(1), value)
		got, err := Value(bucket, key(1), entry)
		require.NoError(t, err)
		require.True(t, bytes.Equal(value, got))
		_, err = Value(bucket, key(2), entry)
		require.ErrorIs(t, err, ErrCorrupt)
		_, err = Value([]byte("others"), key(1), entry)
		require.ErrorIs(t, err, ErrCorrupt)
		entry[len(entry)-1] ^= 1
		_, err = Value(bucket, key(1), entry)
		require.ErrorIs(t, err, ErrCorrupt)
	}
	_, err := Value(bucket, key(1), []byte("short"))
	require.ErrorIs(t, err, ErrCorrupt)
}

func TestOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	filled(t, path, 3)
	c := config()
	c.Schema = 4
	_, err := Open(path, c)
	require.ErrorIs(t, err, ErrSchema)
	require.EqualError(t, err, "test store "+path+": file has another schema: it has 3, this version reads 4; schema advice")
	c = config()
	c.Owner = []byte("you")
	_, err = Open(path, c)
	require.ErrorIs(t, err, ErrOwner)
	require.EqualError(t, err, "test store "+path+": file belongs to another owner: it is of me, this is you; owner advice")
	c = config()
	c.Check = func(*bolt.Tx) error { return errors.New("no") }
	_, err = Open(path, c)
	require.ErrorContains(t, err, "no")
	c = config()
	c.Buckets = append(c.Buckets, []byte("more"))
	_, err = Open(path, c)
	require.ErrorIs(t, err, ErrCorrupt, "a bucket is missing")

	db := open(t, path)
	c = config()
	c.LockTimeout = 30 * time.Millisecond
	_, err = Open(path, c)
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorContains(t, err, "process advice")
	require.NoError(t, db.Close())

	foreign := filepath.Join(t.TempDir(), "foreign.db")
	other, err := bolt.Open(foreign, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, other.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("x")); return err }))
	require.NoError(t, other.Close())
	_, err = Open(foreign, config())
	require.ErrorIs(t, err, ErrSchema)
}

// What is not written completely is not there: neither a file nor an entry.
func TestFailedWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	c := config()
	c.Fill = func(*bolt.Tx) error { return errors.New("no") }
	_, err := Open(path, c)
	require.ErrorContains(t, err, "no")
	all, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Empty(t, all)

	db := open(t, path)
	require.Error(t, db.Update(func(tx *bolt.Tx) error {
		return errors.Join(PutJSON(tx, bucket, key(1), 1), errors.New("no"))
	}))
	require.NoError(t, db.View(func(tx *bolt.Tx) error {
		require.ErrorIs(t, GetJSON(tx, bucket, key(1), new(int)), ErrNotFound)
		return nil
	}))
	require.ErrorIs(t, db.View(func(*bolt.Tx) error { panic("as bbolt does") }), ErrCorrupt)
}

// Many processes create and use the same file, one at a time: none reads what another has half written.
func TestManyProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	const many = 30
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			c := config()
			c.LockTimeout = time.Minute
			db, err := Open(path, c) // each with a lock of its own
			if err == nil {
				err = errors.Join(db.Update(func(tx *bolt.Tx) error { return PutJSON(tx, bucket, key(i), i) }), db.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	db := open(t, path)
	require.NoError(t, db.View(func(tx *bolt.Tx) error {
		require.Equal(t, many, tx.Bucket(bucket).Stats().KeyN)
		return nil
	}))
}

// Whatever bytes of the file change, it does not open, or it opens and holds what was written.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	const n = 60
	whole := filled(t, filepath.Join(dir, "x.db"), n)
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d, %d bytes", seed, len(whole))
	page := os.Getpagesize()
	refused, tries := 0, 400
	if os.Getenv("GANTRY_EXHAUSTIVE") != "" {
		tries = 20_000
	}
	for i := range tries {
		bad := bytes.Clone(whole)
		switch at := rnd.IntN(len(bad)); rnd.IntN(4) {
		case 0:
			bad[at] ^= 1 << rnd.IntN(8)
		case 1:
			for j := at; j < min(len(bad), at+1+rnd.IntN(600)); j++ {
				bad[j] = byte(rnd.Uint32())
			}
		case 2:
			clear(bad[at/page*page : (at/page+1)*page])
		case 3:
			bad = bad[:at]
		}
		path := filepath.Join(dir, fmt.Sprint(i, ".db")) // where bbolt panics on opening, its lock on the old one stays
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		db, err := Open(path, config())
		if err != nil {
			refused++
			require.True(t, errors.Is(err, ErrCorrupt) || errors.Is(err, ErrSchema) || errors.Is(err, ErrOwner), "damage %d: %v", i, err)
		} else {
			require.NoError(t, db.View(func(tx *bolt.Tx) error {
				for j := range n {
					var have int
					require.NoError(t, GetJSON(tx, bucket, key(j), &have), "damage %d", i)
					require.Equal(t, j*j, have)
				}
				return nil
			}))
			require.NoError(t, db.Close())
		}
		require.NoError(t, os.Remove(path))
	}
	t.Logf("%d of %d refused", refused, tries)
	require.Greater(t, refused, tries/10) // many pages are free
}

// bbolt would go on with the older of its two meta pages, and undo the last transaction.
func TestDamagedMetaPage(t *testing.T) {
	for page := range 2 {
		path := filepath.Join(t.TempDir(), "x.db")
		raw := filled(t, path, 3)
		raw[page*os.Getpagesize()+pageHeader+40] ^= 1
		require.NoError(t, os.WriteFile(path, raw, 0o600))
		_, err := Open(path, config())
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "meta page")
	}
}
