package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/client/records"
)

// periodKey sorts by period.
func periodKey(p records.Period) []byte { return binary.BigEndian.AppendUint64(nil, uint64(p)) }

func periodOf(k []byte) records.Period { return records.Period(binary.BigEndian.Uint64(k)) }

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func getNumber(b *bolt.Bucket, key []byte) (uint64, error) {
	v, err := unseal(b.Get(key))
	if err != nil {
		return 0, err
	}
	if len(v) != 8 {
		return 0, fmt.Errorf("%w: %s", ErrCorrupt, key)
	}
	return binary.BigEndian.Uint64(v), nil
}

// seal puts a checksum before a record.
func seal(v []byte) []byte {
	sum := sha256.Sum256(v)
	return append(append(make([]byte, 0, 8+len(v)), sum[:8]...), v...)
}

// intact checks a record.
func intact(v []byte) error {
	if len(v) < 8 {
		return fmt.Errorf("%w: record too short", ErrCorrupt)
	}
	sum := sha256.Sum256(v[8:])
	if !bytes.Equal(sum[:8], v[:8]) {
		return fmt.Errorf("%w: checksum of a record", ErrCorrupt)
	}
	return nil
}

// unseal checks and copies a record.
func unseal(v []byte) ([]byte, error) {
	if err := intact(v); err != nil {
		return nil, err
	}
	return bytes.Clone(v[8:]), nil
}
