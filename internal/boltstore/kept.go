package boltstore

import (
	"errors"

	bolt "go.etcd.io/bbolt"
)

// Kept is one value in BucketMeta, so that files of older versions can have it too. A part of the program keeps its own
// state in it.
type Kept struct {
	db  *DB
	key []byte
}

// Kept is the value with a name. The names schema and owner are taken.
func (d *DB) Kept(name string) Kept { return Kept{d, []byte("kept " + name)} }

// Load returns a copy of the value; nil if Save never wrote one. Error: ErrCorrupt.
func (k Kept) Load() (value []byte, err error) {
	err = k.db.View(func(tx *bolt.Tx) error {
		value, err = Get(tx, BucketMeta, k.key)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return value, err
}

// Save replaces the value.
func (k Kept) Save(value []byte) error {
	return k.db.Update(func(tx *bolt.Tx) error { return Put(tx, BucketMeta, k.key, value) })
}
