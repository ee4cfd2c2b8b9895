package inference

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/internal/secret"
	"github.com/gantry-market/gantry/sdk/market"
)

const schema = 1

var (
	bucketDeployments = []byte("deployments")
	bucketReplicas    = []byte("replicas")
	bucketTokens      = []byte("tokens")
	bucketUsage       = []byte("usage")
)

// Store is the database of deployments. It belongs to one session key, and one process has it open.
type Store struct{ db *boltstore.DB }

// OpenStore opens the file, or creates it with mode 0600: orders in it may hold secrets.
func OpenStore(path string, session solana.PublicKey) (*Store, error) {
	db, err := boltstore.Open(path, boltstore.Config{
		Name: "database of deployments", Schema: schema, Owner: session[:],
		Buckets:       [][]byte{bucketDeployments, bucketReplicas, bucketTokens, bucketUsage},
		DescribeOwner: func(key []byte) string { return "the session key " + solana.PublicKeyFromBytes(key).String() },
		OtherProcess:  "another gantry serve runs with this session key: stop it first",
		OtherOwner:    "choose another --state-dir",
		OtherSchema:   "use the gantry that wrote it: its deployments have leases that cost money",
		LockTimeout:   2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &Store{db: db}, nil
}

// Close syncs and releases the file.
func (s *Store) Close() error { return s.db.Close() }

// record is what is kept of a deployment.
type record struct {
	Spec Spec `json:"spec"`
	// Next is the number of the next replica; none is used twice.
	Next     uint64 `json:"next"`
	Deleting bool   `json:"deleting,omitempty"`
}

// replicaRecord is what is kept of a replica, from before its purchase until its lease is over.
type replicaRecord struct {
	ID      uint64    `json:"id"`
	Name    string    `json:"name"` // of the purchase
	Lease   string    `json:"lease,omitempty"`
	Created time.Time `json:"created"`
}

func replicaKey(deployment string, id uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte(deployment+"\x00"), id)
}

// create stores a deployment, unless there is one of its name.
func (s *Store) create(r record) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		var old record
		err := boltstore.GetJSON(tx, bucketDeployments, []byte(r.Spec.Name), &old)
		if !errors.Is(err, boltstore.ErrNotFound) {
			return errors.Join(err, ErrExists)
		}
		return boltstore.PutJSON(tx, bucketDeployments, []byte(r.Spec.Name), r)
	})
}

func (s *Store) markDeleting(name string) error {
	return s.update(name, func(r *record) { r.Deleting = true })
}

func (s *Store) update(name string, change func(*record)) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		var r record
		if err := boltstore.GetJSON(tx, bucketDeployments, []byte(name), &r); err != nil {
			return err
		}
		change(&r)
		return boltstore.PutJSON(tx, bucketDeployments, []byte(name), r)
	})
}

// remove forgets a deployment without replicas.
func (s *Store) remove(name string) error {
	return s.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketDeployments).Delete([]byte(name)) })
}

// addReplica stores a replica under a number of its own, before its purchase begins. The purchase's name has the
// deployment's instant, so that a deployment that is created again does not go on with purchases of the one before.
func (s *Store) addReplica(spec *Spec) (r replicaRecord, err error) {
	err = s.db.Update(func(tx *bolt.Tx) error {
		var d record
		if err := boltstore.GetJSON(tx, bucketDeployments, []byte(spec.Name), &d); err != nil {
			return err
		}
		r = replicaRecord{ID: d.Next, Name: fmt.Sprintf("inference/%s/%d/%d", spec.Name, spec.Created.UnixNano(), d.Next), Created: time.Now().UTC()}
		d.Next++
		if err := boltstore.PutJSON(tx, bucketDeployments, []byte(spec.Name), d); err != nil {
			return err
		}
		return boltstore.PutJSON(tx, bucketReplicas, replicaKey(spec.Name, r.ID), r)
	})
	return r, err
}

func (s *Store) putReplica(deployment string, r replicaRecord) error {
	return s.db.Update(func(tx *bolt.Tx) error { return boltstore.PutJSON(tx, bucketReplicas, replicaKey(deployment, r.ID), r) })
}

func (s *Store) removeReplica(deployment string, id uint64) error {
	return s.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketReplicas).Delete(replicaKey(deployment, id)) })
}

// all reads the deployments and their replicas.
func (s *Store) all() (out []record, replicas map[string][]replicaRecord, err error) {
	replicas = map[string][]replicaRecord{}
	err = s.db.View(func(tx *bolt.Tx) error {
		if err := each(tx, bucketDeployments, func(_ []byte, r record) { out = append(out, r) }); err != nil {
			return err
		}
		return each(tx, bucketReplicas, func(key []byte, r replicaRecord) {
			name, _, _ := strings.Cut(string(key), "\x00")
			replicas[name] = append(replicas[name], r)
		})
	})
	return out, replicas, err
}

func each[T any](tx *bolt.Tx, bucket []byte, take func(key []byte, v T)) error {
	return tx.Bucket(bucket).ForEach(func(key, entry []byte) error {
		var v T
		if err := boltstore.ValueJSON(bucket, key, entry, &v); err != nil {
			return err
		}
		take(key, v)
		return nil
	})
}

// Token is who may use deployments. Its text is shown once; its hash alone is kept.
type Token struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Deployments that it may use; none for all.
	Deployments []string  `json:"deployments,omitempty"`
	Created     time.Time `json:"created"`
	// MaxTokens are the tokens of models, of prompts and answers together, that it may use in all; 0 for any number.
	MaxTokens uint64 `json:"maxTokens,omitempty" doc:"Tokens of models, of prompts and answers together, that it may use in all"`
	// MaxCost is the most that its requests may cost in total, as usage counts it; empty for any amount.
	MaxCost string `json:"maxCostUsdc,omitempty" doc:"The most USDC that its requests may cost in total"`
}

// Admits reports whether it may use a deployment.
func (t *Token) Admits(deployment string) bool {
	return len(t.Deployments) == 0 || slices.Contains(t.Deployments, deployment)
}

// limit is the most that its requests may cost, where MaxCost is not empty.
func (t *Token) limit() (market.USDC, error) {
	if t.MaxCost == "" {
		return 0, nil
	}
	return market.ParseUSDC(t.MaxCost)
}

// tokenPrefix lets scanners for secrets find tokens that were published by mistake, and clients see that it is one of an
// OpenAI API.
const tokenPrefix = "sk-gantry-"

// NewToken makes a token as t says, but for its id and time, and returns its text.
func (s *Store) NewToken(t Token) (Token, string, error) {
	text, err := secret.New(tokenPrefix)
	if err != nil {
		return Token{}, "", err
	}
	hash := secret.Hash(text)
	t.ID, t.Created = hex.EncodeToString(hash[:6]), time.Now().UTC()
	err = s.db.Update(func(tx *bolt.Tx) error { return boltstore.PutJSON(tx, bucketTokens, hash[:], t) })
	return t, text, err
}

// Token is the one of a text. Error: ErrNotFound. The hash is the key: what is compared byte by byte tells nothing of the text.
func (s *Store) Token(text string) (t Token, err error) {
	hash := secret.Hash(text)
	err = s.db.View(func(tx *bolt.Tx) error { return boltstore.GetJSON(tx, bucketTokens, hash[:], &t) })
	if errors.Is(err, boltstore.ErrNotFound) {
		err = fmt.Errorf("token: %w", ErrNotFound)
	}
	return t, err
}

// Tokens are all of them, the oldest first.
func (s *Store) Tokens() (out []Token, err error) {
	out = []Token{}
	err = s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketTokens, func(_ []byte, t Token) { out = append(out, t) })
	})
	slices.SortFunc(out, func(a, b Token) int { return a.Created.Compare(b.Created) })
	return out, err
}

// RemoveToken forgets a token. Error: ErrNotFound.
func (s *Store) RemoveToken(id string) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		var found []byte
		if err := each(tx, bucketTokens, func(key []byte, t Token) {
			if t.ID == id {
				found = slices.Clone(key)
			}
		}); err != nil {
			return err
		}
		if found == nil {
			return fmt.Errorf("token %q: %w", id, ErrNotFound)
		}
		return tx.Bucket(bucketTokens).Delete(found)
	})
}
