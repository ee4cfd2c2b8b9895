package serve

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/boltstore"
)

const (
	// eventsSchema is the layout of the file.
	eventsSchema = 1
	// keptEvents is how many events are kept, the newest ones.
	keptEvents = 10_000
)

var (
	bucketEvents = []byte("events") // by number, 64 bits big endian
	bucketSeen   = []byte("seen")   // by an account's address: what its last event says
	bucketSeries = []byte("series")
	keySeries    = []byte("series")
)

// Event is a change of one of the customer's accounts.
type Event struct {
	ID      string               `json:"id" doc:"Go on behind it with Last-Event-ID"`
	Kind    string               `json:"kind" enum:"lease,order,credits"`
	Change  string               `json:"change" enum:"changed,gone" doc:"changed, also of an account that is new; gone when the account is closed"`
	Address string               `json:"address" doc:"Of the account"`
	At      int64                `json:"at" doc:"When the server has seen it, unix seconds"`
	Lease   *service.Lease       `json:"lease,omitempty"`
	Order   *service.PlacedOrder `json:"order,omitempty"`
	Credits *service.Credits     `json:"credits,omitempty"`
}

// Events keeps the customer's last events in a file, so that a client that was away misses none, also when the server was
// away too. Its ids are those of a series, which is another one in another file. It is safe for concurrent use.
type Events struct {
	db     *boltstore.DB
	series string
	keep   uint64

	mu          sync.Mutex
	first, last uint64        // numbers of the oldest and the newest; first is last+1 where there is none
	changed     chan struct{} // closed and replaced with every event
}

// OpenEvents opens the file, or creates it with mode 0600. It belongs to one customer. Errors: those of boltstore.Open.
func OpenEvents(path string, customer solana.PublicKey) (*Events, error) {
	db, err := boltstore.Open(path, boltstore.Config{
		Name: "server's events", Schema: eventsSchema, Owner: customer[:], Buckets: [][]byte{bucketEvents, bucketSeen, bucketSeries},
		DescribeOwner: func(key []byte) string { return "the customer " + solana.PublicKeyFromBytes(key).String() },
		OtherProcess:  "another gantry serve runs with this session key: stop it first",
		OtherOwner:    "choose another --state-dir",
		OtherSchema:   "move the file away; a new one is made, and clients read the present state anew",
		LockTimeout:   2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	e := &Events{db: db, keep: keptEvents, first: 1, changed: make(chan struct{})}
	if err := e.load(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return e, nil
}

// load reads where the events begin and end, and draws the series of a new file.
func (e *Events) load() error {
	return e.db.Update(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketEvents).Cursor()
		if k, _ := c.First(); k != nil {
			e.first = binary.BigEndian.Uint64(k)
			k, _ = c.Last()
			e.last = binary.BigEndian.Uint64(k)
		}
		err := boltstore.GetJSON(tx, bucketSeries, keySeries, &e.series)
		if !errors.Is(err, boltstore.ErrNotFound) {
			return err
		}
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return fmt.Errorf("random number: %w", err)
		}
		e.series = hex.EncodeToString(b[:])
		return boltstore.PutJSON(tx, bucketSeries, keySeries, e.series)
	})
}

// Close syncs and releases the file.
func (e *Events) Close() error { return e.db.Close() }

// sight is what was seen of an account.
type sight struct {
	address solana.PublicKey
	hash    [32]byte // of what it says; zero for one that is gone
	event   Event    // without id
}

// seenAccount is what is kept of an account that is not gone.
type seenAccount struct {
	Kind string   `json:"kind"`
	Hash [32]byte `json:"hash"`
}

// note writes the events of what differs from what was seen before, all or none.
func (e *Events) note(all ...sight) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	first, last := e.first, e.last
	err := e.db.Update(func(tx *bolt.Tx) error {
		for i := range all {
			differs, err := see(tx, &all[i])
			if err != nil {
				return err
			}
			if !differs {
				continue
			}
			last++
			if err := boltstore.PutJSON(tx, bucketEvents, number(last), all[i].event); err != nil {
				return err
			}
		}
		first = max(first, last-min(last, e.keep)+1)
		_, err := boltstore.DeleteBelow(tx.Bucket(bucketEvents), number(first), nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("store events: %w", err)
	}
	if last != e.last {
		e.first, e.last = first, last
		close(e.changed)
		e.changed = make(chan struct{})
	}
	return nil
}

// see replaces what is kept of an account, and reports whether that was something else.
func see(tx *bolt.Tx, s *sight) (differs bool, err error) {
	var before seenAccount
	err = boltstore.GetJSON(tx, bucketSeen, s.address[:], &before)
	known := err == nil
	if err != nil && !errors.Is(err, boltstore.ErrNotFound) {
		return false, err
	}
	switch gone := s.hash == [32]byte{}; {
	case gone && !known, known && before.Hash == s.hash:
		return false, nil
	case gone:
		return true, tx.Bucket(bucketSeen).Delete(s.address[:])
	}
	return true, boltstore.PutJSON(tx, bucketSeen, s.address[:], seenAccount{s.event.Kind, s.hash})
}

// missing are the accounts that were seen before and are not among those that are there, as if they were gone.
func (e *Events) missing(there []sight, at int64) ([]sight, error) {
	present := map[solana.PublicKey]bool{}
	for i := range there {
		present[there[i].address] = true
	}
	var out []sight
	err := e.seen(func(key solana.PublicKey, before seenAccount) {
		if !present[key] {
			out = append(out, sight{address: key, event: Event{Kind: before.Kind, Change: changeGone, Address: key.String(), At: at}})
		}
	})
	return out, err
}

// known are the accounts that were seen and are not gone, as far as they can be read.
func (e *Events) known() []solana.PublicKey {
	var out []solana.PublicKey
	if err := e.seen(func(key solana.PublicKey, _ seenAccount) { out = append(out, key) }); err != nil {
		return nil // what is damaged is reported when it is compared
	}
	return out
}

// seen lists what is kept of accounts.
func (e *Events) seen(take func(solana.PublicKey, seenAccount)) error {
	return eachAccount(e.db, bucketSeen, take)
}

// eachAccount calls take for each entry of a bucket whose keys are addresses.
func eachAccount[T any](db *boltstore.DB, bucket []byte, take func(solana.PublicKey, T)) error {
	return db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucket).ForEach(func(k, entry []byte) error {
			var x T
			if err := boltstore.ValueJSON(bucket, k, entry, &x); err != nil {
				return err
			}
			take(solana.PublicKeyFromBytes(k), x)
			return nil
		})
	})
}

// after lists events behind a number, so many at most, the oldest first.
func (e *Events) after(n uint64, most int) ([]Event, error) {
	var out []Event
	err := e.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketEvents).Cursor()
		for k, _ := c.Seek(number(n + 1)); k != nil && len(out) < most; k, _ = c.Next() {
			var ev Event
			if err := boltstore.GetJSON(tx, bucketEvents, k, &ev); err != nil {
				return err
			}
			ev.ID = e.id(binary.BigEndian.Uint64(k))
			out = append(out, ev)
		}
		return nil
	})
	return out, err
}

// bounds are the numbers of the oldest and the newest event, and what is closed when there is another.
func (e *Events) bounds() (first, last uint64, changed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.first, e.last, e.changed
}

func (e *Events) id(n uint64) string { return e.series + "-" + strconv.FormatUint(n, 10) }

// number reads an id of this series.
func (e *Events) number(id string) (n uint64, ok bool) {
	series, text, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil && series == e.series
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
