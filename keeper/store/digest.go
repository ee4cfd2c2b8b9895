package store

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// A record's own checksum shows that it was changed, not that it is gone or has moved to another key, and either would
// let the keeper sign a second time. So the file holds a digest of all promises together: how many there are, and the
// exclusive or of the sha256 of each, which takes one step for each record that is added or dropped.

// keyDigest is where the digest is, in the meta bucket.
var keyDigest = []byte("digest")

// promises are the buckets that the digest covers.
var promises = [][]byte{bucketStatements, bucketPacks, bucketManifests, bucketVotes}

func isGuarantee(bucket []byte) bool {
	return slices.ContainsFunc(promises, func(p []byte) bool { return bytes.Equal(p, bucket) })
}

type digest struct {
	count uint64
	sum   [32]byte
}

func (d *digest) toggle(bucket, key, value []byte) {
	var room [512]byte // on the stack: most records are small, and many
	b := append(room[:0], bucket...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(key)))
	b = append(b, key...)
	var sum [32]byte
	if len(b)+len(value) <= len(room) {
		sum = sha256.Sum256(append(b, value...))
	} else {
		h := sha256.New()
		_, _ = h.Write(b) // a hash takes everything
		_, _ = h.Write(value)
		h.Sum(sum[:0])
	}
	subtle.XORBytes(d.sum[:], d.sum[:], sum[:])
}

func (d *digest) add(bucket, key, value []byte)  { d.toggle(bucket, key, value); d.count++ }
func (d *digest) drop(bucket, key, value []byte) { d.toggle(bucket, key, value); d.count-- }

func readDigest(tx *bolt.Tx) (digest, error) {
	v, err := unseal(tx.Bucket(bucketMeta).Get(keyDigest))
	if err == nil && len(v) != 40 {
		err = fmt.Errorf("%w: digest of %d bytes", ErrCorrupt, len(v))
	}
	if err != nil {
		return digest{}, err
	}
	return digest{binary.BigEndian.Uint64(v), [32]byte(v[8:])}, nil
}

func (d *digest) save(tx *bolt.Tx) error {
	return tx.Bucket(bucketMeta).Put(keyDigest, seal(append(number(d.count), d.sum[:]...)))
}

// checkDigest recomputes the digest from the records.
func checkDigest(tx *bolt.Tx) error {
	want, err := readDigest(tx)
	if err != nil {
		return err
	}
	var have digest
	for _, name := range promises {
		b := tx.Bucket(name)
		if b == nil {
			continue // a file of before there was this bucket; were it lost, its records would be missing
		}
		err := b.ForEach(func(k, v []byte) error {
			have.add(name, k, v)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if have != want {
		return fmt.Errorf("%w: %d records of promises are there, %d were written, or they have changed", ErrCorrupt, have.count, want.count)
	}
	return nil
}
