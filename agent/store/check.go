package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// checkLength refuses a file shorter than its own header says. Mapping such a
// file would fault later, at some write.
func checkLength(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("store: open %s: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if info.IsDir() {
		return fmt.Errorf("store: %s is a directory", path)
	}
	// bbolt's meta page: page header 16, magic u32, version u32, page size u32,
	// flags u32, root bucket 16, free list u64, first unused page u64.
	var m [64]byte
	if _, err := f.ReadAt(m[:], 0); err != nil {
		return fmt.Errorf("%w: %s is only %d bytes long", ErrCorrupt, path, info.Size())
	}
	const magic = 0xED0CDAED
	if binary.NativeEndian.Uint32(m[16:]) != magic {
		return nil // the first copy may be torn; bbolt then uses the second
	}
	size, pages := uint64(binary.NativeEndian.Uint32(m[24:])), binary.NativeEndian.Uint64(m[56:])
	if pages > 1<<40 || size > 1<<20 || uint64(info.Size()) < size*min(pages, 4) {
		return fmt.Errorf("%w: %s is %d bytes long, too short for its %d pages of %d", ErrCorrupt, path, info.Size(), pages, size)
	}
	return nil
}

// walk reads every key and value of every bucket on this goroutine, where a page
// number that points outside of the file becomes an error.
func (s *Store) walk() error {
	var sum int
	return s.db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				for _, c := range v {
					sum += int(c)
				}
				sum += len(k)
				return nil
			})
		})
	})
}

// checkPages checks the structure of the file. It is small: some kilobytes a
// lease.
func (s *Store) checkPages(path string) error {
	return s.db.View(func(tx *bolt.Tx) error {
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		if info.Size() < tx.Size() {
			return fmt.Errorf("%w: %s is %d bytes long, must be %d", ErrCorrupt, path, info.Size(), tx.Size())
		}
		var first error
		for err := range tx.Check() {
			if first == nil {
				first = fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
			}
		}
		return first
	})
}

// checkMeta compares schema and owner.
func (s *Store) checkMeta(path string, owner Owner) error {
	return s.db.View(func(tx *bolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			return fmt.Errorf("%w: %s is not an agent's file", ErrSchema, path)
		}
		var version int
		if err := get(meta, bucketMeta, keySchema, &version); err != nil {
			return missing(path, err)
		}
		if version != SchemaVersion {
			return fmt.Errorf("%w: %s has %d, this agent knows %d", ErrSchema, path, version, SchemaVersion)
		}
		var was Owner
		if err := get(meta, bucketMeta, keyOwner, &was); err != nil {
			return missing(path, err)
		}
		if was != owner {
			return fmt.Errorf("%w: %s is of node %x on cluster %x", ErrOtherOwner, path, was.NodeKey, was.Domain)
		}
		for _, name := range buckets {
			if tx.Bucket(name) == nil && !slices.ContainsFunc(added, func(a []byte) bool { return bytes.Equal(a, name) }) {
				return fmt.Errorf("%w: %s lacks its %s", ErrCorrupt, path, name)
			}
		}
		return nil
	})
}

// missing reports a record that every file must have.
func missing(path string, err error) error {
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// checkRecords reads every record once.
func (s *Store) checkRecords(path string) error {
	return s.db.View(func(tx *bolt.Tx) error {
		for _, name := range buckets {
			err := tx.Bucket(name).ForEach(func(k, raw []byte) error {
				var v any
				return unseal(name, k, raw, &v)
			})
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		return nil
	})
}
