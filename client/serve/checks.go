package serve

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/boltstore"
)

const (
	// checksSchema is the layout of the file.
	checksSchema = 1
	// daySecs and hourSecs are what checks are counted by.
	daySecs, hourSecs = 24 * 3600, 3600
	// checkDays and checkHours are for how long they are kept.
	checkDays, checkHours = 90, 48
	// checksApart is the longest time between two looks at a machine whose difference is of one day. Longer ones count for none.
	checksApart = 25 * 3600
	// maxChecked is how many machines are counted.
	maxChecked = 20_000
)

var (
	bucketDays   = []byte("days")     // checks of a machine by day: start of the day, 64 bits big endian, and address
	bucketHours  = []byte("hours")    // checks of all machines by hour: start of the hour
	bucketLast   = []byte("machines") // what was last seen of each machine, by address
	bucketLooked = []byte("looked")   // when the server looked first and last
	keyFirst     = []byte("first")
	keyLast      = []byte("last")
)

// CheckCount counts checks of keepers.
type CheckCount struct {
	At     int64  `json:"at" doc:"Start of the day or hour, UTC, unix seconds"`
	Passed uint64 `json:"passed"`
	Total  uint64 `json:"total" doc:"Those that passed and those that failed"`
}

// Checks counts the checks that reports have added to machines, by day and hour, in a file. It is safe for concurrent use.
type Checks struct {
	db *boltstore.DB

	mu   sync.Mutex
	last map[solana.PublicKey]CheckCount // At is 0 here
}

// OpenChecks opens the file, or creates it with mode 0600. It belongs to one cluster, named by its genesis hash. Errors: those
// of boltstore.Open.
func OpenChecks(path string, cluster [32]byte) (*Checks, error) {
	db, err := boltstore.Open(path, boltstore.Config{
		Name: "server's counts of checks", Schema: checksSchema, Owner: cluster[:], Buckets: [][]byte{bucketDays, bucketHours, bucketLast, bucketLooked},
		DescribeOwner: func([]byte) string { return "another cluster" },
		OtherProcess:  "another gantry serve runs with this state folder: stop it first",
		OtherOwner:    "choose another --state-dir",
		OtherSchema:   "move the file away; a new one is made, and counting begins anew",
		LockTimeout:   2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	c := &Checks{db: db, last: map[solana.PublicKey]CheckCount{}}
	if err := eachAccount(db, bucketLast, func(k solana.PublicKey, x CheckCount) { c.last[k] = x }); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return c, nil
}

// Close syncs and releases the file.
func (c *Checks) Close() error { return c.db.Close() }

// note counts what was added to machines since the last time, at the cluster's time now. A machine that was not seen before
// counts from the next time on.
func (c *Checks) note(now int64, seen []service.MachineChecks) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := maps.Clone(c.last)
	err := c.db.Update(func(tx *bolt.Tx) error {
		near, err := looked(tx, now)
		if err != nil {
			return err
		}
		var hour CheckCount
		for _, m := range seen {
			was, known := next[m.Address]
			if known && was.Total == m.Total && was.Passed == m.Passed || !known && len(next) >= maxChecked {
				continue
			}
			is := CheckCount{Passed: m.Passed, Total: m.Total}
			if next[m.Address] = is; known && near && m.Total > was.Total && m.Passed >= was.Passed {
				more := CheckCount{Passed: m.Passed - was.Passed, Total: m.Total - was.Total}
				hour.Passed, hour.Total = hour.Passed+more.Passed, hour.Total+more.Total
				if err := addChecks(tx, bucketDays, slices.Concat(moment(now-now%daySecs), m.Address[:]), more); err != nil {
					return err
				}
			}
			if err := boltstore.PutJSON(tx, bucketLast, m.Address[:], is); err != nil {
				return err
			}
		}
		if err := addChecks(tx, bucketHours, moment(now-now%hourSecs), hour); err != nil {
			return err
		}
		return forgetChecks(tx, now)
	})
	if err == nil {
		c.last = next
	}
	return err
}

// looked notes that the server looks now, and says whether it last did a short time ago.
func looked(tx *bolt.Tx, now int64) (near bool, err error) {
	var first, last int64
	err = boltstore.GetJSON(tx, bucketLooked, keyFirst, &first)
	if errors.Is(err, boltstore.ErrNotFound) {
		err = boltstore.PutJSON(tx, bucketLooked, keyFirst, now)
	} else if err == nil {
		err = boltstore.GetJSON(tx, bucketLooked, keyLast, &last)
	}
	if err != nil {
		return false, err
	}
	return now-last <= checksApart, boltstore.PutJSON(tx, bucketLooked, keyLast, now)
}

// addChecks adds to what is counted under a key; hours in which nothing was added are counted too.
func addChecks(tx *bolt.Tx, bucket, key []byte, more CheckCount) error {
	var x CheckCount
	if err := boltstore.GetJSON(tx, bucket, key, &x); err != nil && !errors.Is(err, boltstore.ErrNotFound) {
		return err
	}
	x.At = int64(binary.BigEndian.Uint64(key))
	x.Passed, x.Total = x.Passed+more.Passed, x.Total+more.Total
	return boltstore.PutJSON(tx, bucket, key, x)
}

func forgetChecks(tx *bolt.Tx, now int64) error {
	if _, err := boltstore.DeleteBelow(tx.Bucket(bucketDays), moment(now-checkDays*daySecs), nil); err != nil {
		return fmt.Errorf("older checks by day: %w", err)
	}
	if _, err := boltstore.DeleteBelow(tx.Bucket(bucketHours), moment(now-checkHours*hourSecs), nil); err != nil {
		return fmt.Errorf("older checks by hour: %w", err)
	}
	return nil
}

// span is from when to when the server has looked; 0 and 0 where it never did.
func (c *Checks) span() (first, last int64, err error) {
	err = c.db.View(func(tx *bolt.Tx) error {
		err := boltstore.GetJSON(tx, bucketLooked, keyFirst, &first)
		if errors.Is(err, boltstore.ErrNotFound) {
			return nil
		}
		return errors.Join(err, boltstore.GetJSON(tx, bucketLooked, keyLast, &last))
	})
	return first, last, err
}

// days are the counts of a machine of so many days up to the last look, the oldest first; days of which nothing is known are left out.
func (c *Checks) days(last int64, machine solana.PublicKey, most int) ([]CheckCount, error) {
	out := []CheckCount{}
	err := c.db.View(func(tx *bolt.Tx) error {
		for i := most - 1; i >= 0; i-- {
			var x CheckCount
			err := boltstore.GetJSON(tx, bucketDays, slices.Concat(moment(last-last%daySecs-int64(i)*daySecs), machine[:]), &x)
			if errors.Is(err, boltstore.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			out = append(out, x)
		}
		return nil
	})
	return out, err
}

// hours are the counts of all machines of so many hours up to the last look, the oldest first; those in which the server did not look are
// left out.
func (c *Checks) hours(last int64, most int) ([]CheckCount, error) {
	out := []CheckCount{}
	err := c.db.View(func(tx *bolt.Tx) error {
		cur := tx.Bucket(bucketHours).Cursor()
		for k, entry := cur.Seek(moment(last - last%hourSecs - int64(most-1)*hourSecs)); k != nil; k, entry = cur.Next() {
			var x CheckCount
			if err := boltstore.ValueJSON(bucketHours, k, entry, &x); err != nil {
				return err
			}
			out = append(out, x)
		}
		return nil
	})
	return out, err
}
