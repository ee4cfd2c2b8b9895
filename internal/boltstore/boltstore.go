package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

var (
	// ErrCorrupt: the file is damaged. Nothing may be signed or sent with it.
	ErrCorrupt = errors.New("file is damaged")
	// ErrSchema: another version of the program wrote the file, or another program.
	ErrSchema = errors.New("file has another schema")
	// ErrLocked: another process has the file open.
	ErrLocked = errors.New("file is in use by another process")
	// ErrOwner: the file belongs to another key or another cluster.
	ErrOwner = errors.New("file belongs to another owner")
	// ErrNotFound: there is no such entry.
	ErrNotFound = errors.New("not found")
)

// BucketMeta holds the schema, the owner, and what else there is one of in a file.
var BucketMeta = []byte("meta")

var (
	keySchema = []byte("schema")
	keyOwner  = []byte("owner")
)

// Config describes a kind of file.
type Config struct {
	Name   string // of the kind of file; errors begin with it
	Schema uint64
	// Owner is written to a new file and must be in an old one.
	Owner []byte
	// Buckets are those besides BucketMeta.
	Buckets [][]byte
	// Covered are those of Buckets whose entries Check verifies; Open verifies all others.
	Covered [][]byte
	// Fill writes what a new file holds besides schema and owner. Optional.
	Fill func(*bolt.Tx) error
	// Check verifies what a file holds each time it is opened. Optional.
	Check func(*bolt.Tx) error
	// DescribeOwner names an owner for people.
	DescribeOwner func(owner []byte) string
	// OtherSchema, OtherOwner and OtherProcess tell a person what to do when a file does not open for this reason.
	// Optional.
	OtherSchema, OtherOwner, OtherProcess string
	// LockTimeout is how long to wait for another process; 0 means one second.
	LockTimeout time.Duration
	// BatchDelay is how long Batch waits for others to share its write; 0 means bbolt's 10 ms.
	BatchDelay time.Duration
	// NoSync does not wait for the disk, so that a power cut may undo what was written. For tests.
	NoSync bool
}

// DB is an open file, safe for concurrent use.
type DB struct{ bolt *bolt.DB }

// Open opens the file, or creates it with mode 0600. Errors: ErrCorrupt, ErrSchema, ErrLocked, ErrOwner, those of
// Check.
func Open(path string, c Config) (*DB, error) {
	if c.LockTimeout <= 0 {
		c.LockTimeout = time.Second
	}
	d := &DB{}
	if err := guard(func() error { return d.open(path, c) }); err != nil {
		if d.bolt != nil {
			// Closing a damaged file may fail as well; the first error is the one to see.
			_ = guard(d.bolt.Close)
		}
		return nil, fmt.Errorf("%s %s: %w", c.Name, path, c.advise(err))
	}
	return d, nil
}

// advise adds what a person can do.
func (c Config) advise(err error) error {
	for _, x := range []struct {
		of     error
		advice string
	}{{ErrSchema, c.OtherSchema}, {ErrOwner, c.OtherOwner}, {ErrLocked, c.OtherProcess}} {
		if errors.Is(err, x.of) && x.advice != "" {
			return fmt.Errorf("%w; %s", err, x.advice)
		}
	}
	return err
}

// guard turns the panics and page faults with which bbolt answers damage into ErrCorrupt.
func guard(f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrCorrupt, r)
		}
	}()
	return f()
}

func (d *DB) open(path string, c Config) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := create(path, c); err != nil {
			return err
		}
	}
	if err := checkPages(path, c.LockTimeout); err != nil {
		return err
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: c.LockTimeout, FreelistType: bolt.FreelistMapType, NoSync: c.NoSync})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return ErrLocked
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case err != nil:
		return err
	}
	if d.bolt = db; c.BatchDelay > 0 {
		db.MaxBatchDelay = c.BatchDelay
	}
	return db.View(func(tx *bolt.Tx) error { return c.verify(tx) })
}

// create makes the file under another name and gives it its own when it is whole. A process that is killed meanwhile
// leaves a file that no process reads. Where two processes create the same file, one of theirs is taken.
func create(path string, c Config) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(part.Name()) }() // what is left of it has no use
	if err := part.Close(); err != nil {
		return err
	}
	db, err := bolt.Open(part.Name(), 0o600, &bolt.Options{Timeout: c.LockTimeout, NoSync: c.NoSync})
	if err != nil {
		return err
	}
	if err := errors.Join(db.Update(c.fill), db.Close()); err != nil {
		return err
	}
	switch err := os.Link(part.Name(), path); {
	case errors.Is(err, os.ErrExist):
		return nil
	case err != nil: // a file system without links
		if err := os.Rename(part.Name(), path); err != nil {
			return err
		}
	}
	return atomicfile.SyncFolder(filepath.Dir(path))
}

func (c Config) fill(tx *bolt.Tx) error {
	for _, name := range slices.Concat([][]byte{BucketMeta}, c.Buckets) {
		if _, err := tx.CreateBucket(name); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
	}
	err := errors.Join(tx.Bucket(BucketMeta).Put(keySchema, schemaEntry(c.Schema)), Put(tx, BucketMeta, keyOwner, c.Owner))
	if err == nil && c.Fill != nil {
		err = c.Fill(tx)
	}
	return err
}

// verify reads every entry; the pages were checked before.
func (c Config) verify(tx *bolt.Tx) error {
	meta := tx.Bucket(BucketMeta)
	if meta == nil || meta.Get(keySchema) == nil {
		return fmt.Errorf("%w: it has no schema number", ErrSchema)
	}
	schema, err := readSchema(meta.Get(keySchema))
	if err != nil {
		return err
	}
	if schema != c.Schema {
		return fmt.Errorf("%w: it has %d, this version reads %d", ErrSchema, schema, c.Schema)
	}
	have, err := Get(tx, BucketMeta, keyOwner)
	switch {
	case errors.Is(err, ErrNotFound):
		return Damaged("it has no owner")
	case err != nil:
		return err
	case !bytes.Equal(have, c.Owner):
		return fmt.Errorf("%w: it is of %s, this is %s", ErrOwner, c.DescribeOwner(have), c.DescribeOwner(c.Owner))
	}
	for _, name := range slices.Concat([][]byte{BucketMeta}, c.Buckets) {
		if err := c.verifyBucket(tx, name); err != nil {
			return err
		}
	}
	if c.Check != nil {
		return c.Check(tx)
	}
	return nil
}

func (c Config) verifyBucket(tx *bolt.Tx, name []byte) error {
	b := tx.Bucket(name)
	if b == nil {
		return Damaged("it has no %s", name)
	}
	if slices.ContainsFunc(c.Covered, func(x []byte) bool { return bytes.Equal(x, name) }) {
		return nil
	}
	return b.ForEach(func(k, v []byte) error {
		if bytes.Equal(name, BucketMeta) && bytes.Equal(k, keySchema) {
			return nil // it has a layout of its own
		}
		_, err := Value(name, k, v)
		return err
	})
}

// Update runs a transaction that writes. What it wrote is on disk when it returns nil, and nothing of it otherwise.
func (d *DB) Update(f func(*bolt.Tx) error) error {
	return guard(func() error { return d.bolt.Update(f) })
}

// Batch is Update for many callers at a time, who share a write to the disk. f may be called more than once.
func (d *DB) Batch(f func(*bolt.Tx) error) error {
	return guard(func() error { return d.bolt.Batch(f) })
}

// View runs a transaction that reads.
func (d *DB) View(f func(*bolt.Tx) error) error {
	return guard(func() error { return d.bolt.View(f) })
}

// Close closes the file and releases its lock. Further calls fail.
func (d *DB) Close() error { return guard(d.bolt.Close) }
