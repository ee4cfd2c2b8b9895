package store

import (
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
)

// An entry's own checksum shows that it was changed, not that it is gone, which would let the keeper sign a second
// time. So the file holds a digest of all promises together: how many there are, and the exclusive or of the sha256 of
// each, which takes one step for each entry that is added or dropped.

// keyDigest is where the digest is, in the meta bucket.
var keyDigest = []byte("digest")

// promises are the buckets that the digest covers.
var promises = [][]byte{bucketStatements, bucketPacks, bucketManifests, bucketVotes, bucketRounds}

func isPromise(bucket []byte) bool {
	return slices.ContainsFunc(promises, func(p []byte) bool { return bytes.Equal(p, bucket) })
}

type digest struct {
	count uint64
	sum   [32]byte
	// sequence grows with each write, so that who has seen the file notices when it finds an older copy in its place.
	sequence uint64
}

const digestSize = 8 + 32 + 8

func (d *digest) toggle(bucket, key, entry []byte) {
	sum := boltstore.Sum(bucket, key, entry)
	subtle.XORBytes(d.sum[:], d.sum[:], sum[:])
}

func (d *digest) add(bucket, key, value []byte)  { d.toggle(bucket, key, value); d.count++ }
func (d *digest) drop(bucket, key, entry []byte) { d.toggle(bucket, key, entry); d.count-- }

func readDigest(tx *bolt.Tx) (digest, error) {
	v, err := boltstore.Get(tx, bucketMeta, keyDigest)
	if errors.Is(err, ErrNotFound) || (err == nil && len(v) != digestSize) {
		err = boltstore.Damaged("digest of %d bytes", len(v))
	}
	if err != nil {
		return digest{}, err
	}
	return digest{binary.BigEndian.Uint64(v), [32]byte(v[8:40]), binary.BigEndian.Uint64(v[40:])}, nil
}

func (d *digest) save(tx *bolt.Tx) error {
	d.sequence++
	return boltstore.Put(tx, bucketMeta, keyDigest, append(append(number(d.count), d.sum[:]...), number(d.sequence)...))
}

// bump notes a write of something that the digest does not cover.
func bump(tx *bolt.Tx) error {
	all, err := readDigest(tx)
	if err != nil {
		return err
	}
	return all.save(tx)
}

// checkDigest recomputes the digest from the entries.
func checkDigest(tx *bolt.Tx) error {
	want, err := readDigest(tx)
	if err != nil {
		return err
	}
	var have digest
	for _, name := range promises {
		err := tx.Bucket(name).ForEach(func(k, v []byte) error {
			have.add(name, k, v)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if have.count != want.count || have.sum != want.sum {
		return boltstore.Damaged("%d promises are there, %d were written, or they have changed", have.count, want.count)
	}
	return nil
}

// putPromise writes a promise in place of the one with its key, and the digest with it.
func putPromise(tx *bolt.Tx, bucket, key, value []byte) error {
	all, err := readDigest(tx)
	if err != nil {
		return err
	}
	b := tx.Bucket(bucket)
	if old := b.Get(key); old != nil {
		all.drop(bucket, key, old)
	}
	entry := boltstore.Entry(bucket, key, value)
	all.add(bucket, key, entry)
	return errors.Join(b.Put(key, entry), all.save(tx))
}
