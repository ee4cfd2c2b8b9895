// Package seal is a key that a machine makes for one lease, names in its evidence, and keeps in memory. What the lease's
// customer seals to it opens there alone, and once.
//
// The evidence has three items, [ItemKey], [ItemLease] and [ItemJob]. It is a claim like any other: the TPM's quote and the
// TEE's report cover it. So it is worth what they show of the code that made the key. Where the machine's owner can read
// that process's memory, the key hides nothing from the owner.
//
// Sealing is HPKE (RFC 9180) with ML-KEM-768 and X25519, HKDF-SHA256 and ChaCha20-Poly1305. The info is
// "gantry-seal-1" ‖ lease ‖ job. The plaintext is a counter, u64le, and the message: a key opens no counter twice, and none
// below one that it has opened.
//
// What comes back is sealed as well. Both sides derive a key from the same HPKE context, by its exporter with the context
// "gantry-seal-back-1". Each record is ChaCha20-Poly1305 with its number, u64le, as the end of the nonce. So a record opens in its own
// turn alone, and whoever carries the records can only keep back the last ones.
package seal

import (
	"crypto/hpke"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gantry-market/gantry/attest"
)

// Names of the evidence's items.
const (
	// ItemKey is the public key.
	ItemKey = "key"
	// ItemLease is the lease's address, ItemJob the digest of the job that was ordered.
	ItemLease = "lease"
	ItemJob   = "job"
)

// CheckFormat is the only check: what covers the key are other pieces.
const CheckFormat = "format"

var (
	// ErrOther: sealed to another key, for another lease or job, or changed.
	ErrOther = errors.New("sealed to another key, or for another lease or job")
	// ErrUsed: it was opened before, or something that was sealed later was.
	ErrUsed = errors.New("sealed message was used before")
)

const counterBytes = 8

// encapsulated is how long HPKE's encapsulated key is, which a sealed message begins with: 1088 bytes of ML-KEM-768, 32 of X25519.
const encapsulated = 1088 + 32

func kem() hpke.KEM { return hpke.MLKEM768X25519() }

// Subject is what a key is for.
type Subject struct{ Lease, Job [32]byte }

func (s Subject) info() []byte { return slices.Concat([]byte("gantry-seal-1"), s.Lease[:], s.Job[:]) }

// Key is the machine's side. It is safe for concurrent use.
type Key struct {
	of      Subject
	private hpke.PrivateKey

	mu   sync.Mutex
	last uint64
}

// New makes a key that is nowhere else.
func New(of Subject) (*Key, error) {
	private, err := kem().GenerateKey()
	if err != nil {
		return nil, fmt.Errorf("key of a lease: %w", err)
	}
	return &Key{of: of, private: private}, nil
}

// ID names the key: sha256 of the public one.
func (k *Key) ID() [32]byte { return sha256.Sum256(k.private.PublicKey().Bytes()) }

// Evidence names the key.
func (k *Key) Evidence() attest.Evidence {
	return attest.Evidence{Kind: attest.KindSeal, Items: []attest.Item{
		{Name: ItemJob, Data: k.of.Job[:]}, {Name: ItemKey, Data: k.private.PublicKey().Bytes()}, {Name: ItemLease, Data: k.of.Lease[:]},
	}}
}

// Subject is what the key is for.
func (k *Key) Subject() Subject { return k.of }

// Open opens what was sealed, once. Errors: ErrOther, ErrUsed.
func (k *Key) Open(sealed []byte) ([]byte, error) {
	plain, _, err := k.Converse(sealed)
	return plain, err
}

// Converse is Open, and also returns the way back to who has sealed the message. Errors: ErrOther, ErrUsed.
func (k *Key) Converse(sealed []byte) ([]byte, *Writer, error) {
	if len(sealed) < encapsulated {
		return nil, nil, ErrOther
	}
	r, err := hpke.NewRecipient(sealed[:encapsulated], k.private, hpke.HKDFSHA256(), hpke.ChaCha20Poly1305(), k.of.info())
	if err != nil {
		return nil, nil, ErrOther
	}
	plain, err := r.Open(nil, sealed[encapsulated:])
	if err != nil || len(plain) < counterBytes {
		return nil, nil, ErrOther
	}
	back, err := newBack(r.Export)
	if err != nil {
		return nil, nil, err
	}
	n := binary.LittleEndian.Uint64(plain)
	k.mu.Lock()
	defer k.mu.Unlock()
	if n <= k.last {
		return nil, nil, ErrUsed
	}
	k.last = n
	return plain[counterBytes:], &Writer{back}, nil
}

// Sealer is the customer's side. It is safe for concurrent use.
type Sealer struct {
	of     Subject
	public hpke.PublicKey

	mu sync.Mutex
	n  uint64
}

// Read takes the key of evidence that was verified, if it is for the subject. Error: attest.ErrMalformed, ErrOther.
func Read(e attest.Evidence, of Subject) (*Sealer, error) {
	has, public, err := parse(e)
	if err != nil {
		return nil, err
	}
	if has != of {
		return nil, ErrOther
	}
	return &Sealer{of: of, public: public}, nil
}

// ID is that of the key.
func (s *Sealer) ID() [32]byte { return sha256.Sum256(s.public.Bytes()) }

// Seal seals a message, which opens once, and not after a later one.
func (s *Sealer) Seal(message []byte) ([]byte, error) {
	out, _, err := s.Converse(message)
	return out, err
}

// Converse is Seal, and also returns a reader of what the key's owner sends back.
func (s *Sealer) Converse(message []byte) ([]byte, *Reader, error) {
	s.mu.Lock()
	s.n++
	n := s.n
	s.mu.Unlock()
	enc, sender, err := hpke.NewSender(s.public, hpke.HKDFSHA256(), hpke.ChaCha20Poly1305(), s.of.info())
	if err != nil {
		return nil, nil, fmt.Errorf("seal: %w", err)
	}
	box, err := sender.Seal(nil, append(binary.LittleEndian.AppendUint64(nil, n), message...))
	if err != nil {
		return nil, nil, fmt.Errorf("seal: %w", err)
	}
	back, err := newBack(sender.Export)
	if err != nil {
		return nil, nil, err
	}
	return slices.Concat(enc, box), &Reader{back}, nil
}

func parse(e attest.Evidence) (of Subject, public hpke.PublicKey, err error) {
	key, okKey := e.Item(ItemKey)
	lease, okLease := e.Item(ItemLease)
	job, okJob := e.Item(ItemJob)
	if e.Kind != attest.KindSeal || !okKey || !okLease || !okJob || len(e.Items) != 3 || len(lease) != 32 || len(job) != 32 {
		return of, nil, fmt.Errorf("a lease's key has three items: %w", attest.ErrMalformed)
	}
	if public, err = kem().NewPublicKey(key); err != nil {
		return of, nil, fmt.Errorf("a lease's key: %w: %w", err, attest.ErrMalformed)
	}
	return Subject{[32]byte(lease), [32]byte(job)}, public, nil
}

// Verifier checks the form of a lease's key.
type Verifier struct{}

var _ attest.Verifier = Verifier{}

// Kind is [attest.KindSeal].
func (Verifier) Kind() attest.Kind { return attest.KindSeal }

// Verify implements [attest.Verifier].
func (Verifier) Verify(e attest.Evidence, _ attest.Binding, _ time.Time) (attest.Result, error) {
	r := attest.Result{Kind: attest.KindSeal, Instance: e.Instance}
	of, _, err := parse(e)
	if err != nil {
		return r, r.Fail(CheckFormat, attest.ErrMalformed, "%v", err)
	}
	r.Pass(CheckFormat, "for lease %x… and job %x…", of.Lease[:4], of.Job[:4])
	return r, nil
}
