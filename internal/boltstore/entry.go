package boltstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// ChecksumSize is how many bytes an entry has besides its value.
const ChecksumSize = 8

// Damaged returns ErrCorrupt with what is damaged.
func Damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// Sum is the sha256 of bucket ‖ length of the key, u32 ‖ key ‖ value.
func Sum(bucket, key, value []byte) [32]byte {
	var room [512]byte // on the stack: most entries are small, and many
	b := append(room[:0], bucket...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(key)))
	b = append(b, key...)
	if len(b)+len(value) <= len(room) {
		return sha256.Sum256(append(b, value...))
	}
	h := sha256.New()
	_, _ = h.Write(b) // a hash takes everything
	_, _ = h.Write(value)
	return [32]byte(h.Sum(nil))
}

// Entry makes an entry: the first eight bytes of Sum, then the value.
func Entry(bucket, key, value []byte) []byte {
	sum := Sum(bucket, key, value)
	return append(append(make([]byte, 0, ChecksumSize+len(value)), sum[:ChecksumSize]...), value...)
}

// Value verifies an entry and returns its value, which is a part of it. Error: ErrCorrupt.
func Value(bucket, key, entry []byte) ([]byte, error) {
	if len(entry) < ChecksumSize {
		return nil, Damaged("entry %x of %s has %d bytes", key, bucket, len(entry))
	}
	value := entry[ChecksumSize:]
	if sum := Sum(bucket, key, value); !bytes.Equal(sum[:ChecksumSize], entry[:ChecksumSize]) {
		return nil, Damaged("checksum of entry %x of %s", key, bucket)
	}
	return value, nil
}

// The schema's entry is read before it is known which layout a file has, so its own never changes: the first eight
// bytes of the number's sha256, then the number.
func schemaEntry(n uint64) []byte {
	value := binary.BigEndian.AppendUint64(nil, n)
	sum := sha256.Sum256(value)
	return append(sum[:ChecksumSize:ChecksumSize], value...)
}

func readSchema(entry []byte) (uint64, error) {
	if len(entry) != ChecksumSize+8 {
		return 0, Damaged("the schema number has %d bytes", len(entry)-ChecksumSize)
	}
	n := binary.BigEndian.Uint64(entry[ChecksumSize:])
	if !bytes.Equal(entry, schemaEntry(n)) {
		return 0, Damaged("checksum of the schema number")
	}
	return n, nil
}

// Get returns a copy of a value. Errors: ErrNotFound, ErrCorrupt.
func Get(tx *bolt.Tx, bucket, key []byte) ([]byte, error) {
	entry := tx.Bucket(bucket).Get(key)
	if entry == nil {
		return nil, fmt.Errorf("%w: %x in %s", ErrNotFound, key, bucket)
	}
	value, err := Value(bucket, key, entry)
	return bytes.Clone(value), err
}

// Put writes a value.
func Put(tx *bolt.Tx, bucket, key, value []byte) error {
	if err := tx.Bucket(bucket).Put(key, Entry(bucket, key, value)); err != nil {
		return fmt.Errorf("write %s: %w", bucket, err)
	}
	return nil
}

// GetJSON reads a value that PutJSON wrote. Errors: ErrNotFound, ErrCorrupt.
func GetJSON(tx *bolt.Tx, bucket, key []byte, v any) error {
	entry := tx.Bucket(bucket).Get(key)
	if entry == nil {
		return fmt.Errorf("%w: %x in %s", ErrNotFound, key, bucket)
	}
	return ValueJSON(bucket, key, entry, v)
}

// ValueJSON verifies an entry that PutJSON wrote and reads its value. Error: ErrCorrupt.
func ValueJSON(bucket, key, entry []byte, v any) error {
	value, err := Value(bucket, key, entry)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(value, v); err != nil {
		return fmt.Errorf("%w: entry %x of %s: %w", ErrCorrupt, key, bucket, err)
	}
	return nil
}

// PutJSON writes a value as JSON.
func PutJSON(tx *bolt.Tx, bucket, key []byte, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode entry of %s: %w", bucket, err)
	}
	return Put(tx, bucket, key, value)
}

// DeleteBelow deletes the entries whose keys sort before limit, and of these only those for which del, unless it is
// nil, returns true. It returns how many.
func DeleteBelow(b *bolt.Bucket, limit []byte, del func(key, entry []byte) (bool, error)) (int, error) {
	var old [][]byte
	c := b.Cursor()
	for k, v := c.First(); k != nil && bytes.Compare(k, limit) < 0; k, v = c.Next() {
		if del != nil {
			if ok, err := del(k, v); err != nil {
				return 0, err
			} else if !ok {
				continue
			}
		}
		old = append(old, bytes.Clone(k))
	}
	for _, k := range old {
		if err := b.Delete(k); err != nil {
			return 0, err
		}
	}
	return len(old), nil
}
