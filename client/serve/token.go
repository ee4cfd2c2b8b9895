package serve

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	bolt "go.etcd.io/bbolt"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/internal/secret"
)

// schema is the layout of the file.
const schema = 1

// tokenPrefix lets scanners for secrets find tokens that were published by mistake.
const tokenPrefix = "gantry_"

var (
	bucketTokens = []byte("tokens")
	keyToken     = []byte("token")
)

// Store is the server's database.
type Store struct{ db *boltstore.DB }

// tokenEntry is what is kept of a token.
type tokenEntry struct {
	Hash    [32]byte  `json:"hash"`
	Created time.Time `json:"created"`
}

// OpenStore opens the file, or creates it with mode 0600. It belongs to one session key. Errors: those of boltstore.Open,
// among them ErrLocked where another server uses the file.
func OpenStore(path string, session solana.PublicKey) (*Store, error) {
	db, err := boltstore.Open(path, boltstore.Config{
		Name: "server's database", Schema: schema, Owner: session[:], Buckets: [][]byte{bucketTokens, bucketPorts},
		DescribeOwner: func(key []byte) string { return "the session key " + solana.PublicKeyFromBytes(key).String() },
		OtherProcess:  "another gantry serve runs with this session key: stop it first",
		OtherOwner:    "choose another --state-dir",
		OtherSchema:   "move the file away; a new one is made, with a new token",
		LockTimeout:   2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &Store{db: db}, nil
}

// Close syncs and releases the file.
func (s *Store) Close() error { return s.db.Close() }

// HasToken reports whether a token was made.
func (s *Store) HasToken() (bool, error) {
	_, err := s.token()
	if errors.Is(err, boltstore.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// NewToken makes a token in place of the one that there is, and returns it. Only its hash is kept.
func (s *Store) NewToken() (string, error) {
	text, err := secret.New(tokenPrefix)
	if err != nil {
		return "", err
	}
	err = s.db.Update(func(tx *bolt.Tx) error {
		return boltstore.PutJSON(tx, bucketTokens, keyToken, tokenEntry{Hash: secret.Hash(text), Created: time.Now().UTC()})
	})
	if err != nil {
		return "", fmt.Errorf("store token: %w", err)
	}
	return text, nil
}

func (s *Store) token() (tokenEntry, error) {
	var e tokenEntry
	err := s.db.View(func(tx *bolt.Tx) error { return boltstore.GetJSON(tx, bucketTokens, keyToken, &e) })
	return e, err
}

// Admits reports whether a text is the token.
func (s *Store) Admits(text string) (bool, error) {
	e, err := s.token()
	if err != nil {
		return false, err
	}
	got := secret.Hash(text)
	return subtle.ConstantTimeCompare(got[:], e.Hash[:]) == 1, nil
}
