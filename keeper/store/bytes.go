package store

import (
	"encoding/binary"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/records"
)

// periodKey sorts by period.
func periodKey(p records.Period) []byte { return binary.BigEndian.AppendUint64(nil, uint64(p)) }

func periodOf(k []byte) records.Period { return records.Period(binary.BigEndian.Uint64(k)) }

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// getNumber and putNumber are for numbers in the meta bucket.
func getNumber(tx *bolt.Tx, key []byte) (uint64, error) {
	v, err := boltstore.Get(tx, bucketMeta, key)
	if err != nil {
		return 0, err
	}
	if len(v) != 8 {
		return 0, boltstore.Damaged("%s has %d bytes", key, len(v))
	}
	return binary.BigEndian.Uint64(v), nil
}

func putNumber(tx *bolt.Tx, key []byte, n uint64) error {
	return boltstore.Put(tx, bucketMeta, key, number(n))
}
