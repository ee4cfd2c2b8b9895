package store

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/records"
)

// A keeper of a large market signs tens of thousands of statements a period and keeps them for a day. An entry each has
// a key of 81 bytes, a checksum and a place in a page of its own, all of which every start reads. A sealed period takes
// no more statements, so those it has are packed: a pack is an entry of up to packSize statements with their
// signatures, one after another in the order of their keys, all of one period, under the key of the first.

// packSize keeps a pack at some 50 KB: few entries, and little to read for the statements about one node.
const packSize = 256

// Pack packs the statements of all sealed periods that are not packed yet, a period at a time, and returns how many.
// What is promised stays the same at every moment, whatever is killed meanwhile and whether there is room on the disk
// or not.
func (s *Store) Pack() (int, error) {
	n := 0
	for {
		var p records.Period
		var due bool
		err := s.db.View(func(tx *bolt.Tx) (err error) {
			p, due, err = unpackedPeriod(tx)
			return err
		})
		if err != nil || !due {
			return n, err
		}
		packed := 0
		err = s.db.Update(func(tx *bolt.Tx) (err error) {
			packed, err = packPeriod(tx, p, s.pack)
			return err
		})
		if err != nil {
			return n, fmt.Errorf("pack period %d: %w", p, err)
		}
		n += packed
	}
}

// unpackedPeriod returns the first sealed period with statements that are not packed.
func unpackedPeriod(tx *bolt.Tx) (records.Period, bool, error) {
	sealed, err := sealedUntil(tx)
	k, _ := tx.Bucket(bucketStatements).Cursor().First()
	if err != nil || k == nil {
		return 0, false, err
	}
	p := periodOf(k)
	return p, p < sealed, nil
}

// packPeriod replaces the entries of a sealed period's statements with packs of up to size.
func packPeriod(tx *bolt.Tx, p records.Period, size int) (int, error) {
	single, packs := tx.Bucket(bucketStatements), tx.Bucket(bucketPacks)
	prefix := periodKey(p)
	if k, _ := packs.Cursor().Seek(prefix); bytes.HasPrefix(k, prefix) {
		return 0, boltstore.Damaged("a period has packs, and statements that were signed after it was sealed")
	}
	all, err := readDigest(tx)
	if err != nil {
		return 0, err
	}
	var keys [][]byte
	var body []byte
	flush := func(first []byte) error {
		entry := boltstore.Entry(bucketPacks, first, body)
		all.add(bucketPacks, first, entry)
		body = body[:0]
		return packs.Put(first, entry)
	}
	c := single.Cursor()
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
		have, err := decodeSigned(k, v)
		if err != nil {
			return 0, err
		}
		if !bytes.Equal(k, statementKey(have.Statement)) {
			return 0, boltstore.Damaged("a statement is kept as another")
		}
		all.drop(bucketStatements, k, v)
		keys = append(keys, bytes.Clone(k))
		if body = append(body, v[boltstore.ChecksumSize:]...); len(keys)%size == 0 {
			if err := flush(keys[len(keys)-size]); err != nil {
				return 0, err
			}
		}
	}
	if rest := len(keys) % size; rest > 0 {
		if err := flush(keys[len(keys)-rest]); err != nil {
			return 0, err
		}
	}
	for _, k := range keys {
		if err := single.Delete(k); err != nil {
			return 0, err
		}
	}
	return len(keys), all.save(tx)
}

// packed returns the packed statements whose keys begin with prefix, which is at least a period.
func packed(tx *bolt.Tx, prefix []byte) ([]Signed, error) {
	var out []Signed
	c := tx.Bucket(bucketPacks).Cursor()
	k, v := c.Seek(prefix)
	if !bytes.Equal(k, prefix) { // they may begin within the pack before
		if k == nil {
			k, v = c.Last()
		} else {
			k, v = c.Prev()
		}
		if !bytes.HasPrefix(k, prefix[:8]) {
			k, v = c.Seek(prefix)
		}
	}
	for ; k != nil && (bytes.HasPrefix(k, prefix) || bytes.Compare(k, prefix) < 0); k, v = c.Next() {
		err := eachPacked(k, v, func(key []byte, s Signed) {
			if bytes.HasPrefix(key, prefix) {
				out = append(out, s)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// eachPacked reads a pack; f must not keep the key.
func eachPacked(first, entry []byte, f func(key []byte, s Signed)) error {
	body, err := boltstore.Value(bucketPacks, first, entry)
	if err != nil {
		return err
	}
	if len(body) == 0 || len(body)%signedSize != 0 {
		return boltstore.Damaged("pack of %d bytes", len(body))
	}
	last, key := make([]byte, 0, keySize), make([]byte, 0, keySize)
	for ; len(body) > 0; body = body[signedSize:] {
		s, err := readSigned(body[:signedSize])
		if err != nil {
			return err
		}
		last, key = key, appendKey(last[:0], s.Statement)
		switch {
		case len(last) == 0 && !bytes.Equal(key, first), len(last) > 0 && bytes.Compare(last, key) >= 0, !bytes.HasPrefix(key, first[:8]):
			return boltstore.Damaged("pack with statements of other places")
		}
		f(key, s)
	}
	return nil
}
