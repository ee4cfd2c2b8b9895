package store

import (
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// SetSetting stores v, as JSON, under a name.
func (s *Store) SetSetting(name string, v any) error {
	if name == "" {
		return fmt.Errorf("a setting needs a name")
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		return put(tx, bucketSettings, []byte(name), v)
	})
}

// Setting reads a setting into v, or returns ErrNotFound.
func (s *Store) Setting(name string, v any) error {
	if name == "" {
		return fmt.Errorf("a setting needs a name")
	}
	return s.db.View(func(tx *bolt.Tx) error {
		return get(tx, bucketSettings, []byte(name), v)
	})
}
