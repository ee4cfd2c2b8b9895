package tpm

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gantry-market/gantry/attest"
)

// Request is what a node sends to have its TPM enrolled.
type Request struct {
	// AK, EK and Chain have the forms of [ItemAK], [ItemEK] and [ItemEKChain].
	AK, EK, Chain []byte
}

// EnrolChallenge is a keeper's answer: the machine that opens the credential has the TPM.
type EnrolChallenge struct {
	ID         [16]byte
	Credential Credential
	Expires    time.Time
}

// EnrolOptions configures an [Enroller].
type EnrolOptions struct {
	Trust Trust
	// TTL is how long a node has to answer; 0 means one minute. Slow TPMs need seconds.
	TTL time.Duration
	// Capacity bounds how many enrolments are open at a time; 0 means 256.
	Capacity int
	// Random is where secrets come from; nil means the system.
	Random io.Reader
}

var (
	// ErrBusy: too many enrolments are open.
	ErrBusy = errors.New("too many enrolments are open")
	// ErrUnknownEnrolment: no such enrolment is open for this node; it was answered, replaced or never made.
	ErrUnknownEnrolment = errors.New("no such enrolment is open")
)

const (
	defaultTTL      = time.Minute
	defaultCapacity = 256
	secretSize      = 32
)

// Enroller is a keeper's side of credential activation. A node has one enrolment open at a time, each can be answered
// once, rightly or wrongly, and until it expires. Safe for concurrent use.
type Enroller struct {
	opts EnrolOptions
	mu   sync.Mutex
	open map[[16]byte]pending
}

type pending struct {
	enrolment Enrolment
	secret    [secretSize]byte
	expires   time.Time
}

// NewEnroller makes an enroller.
func NewEnroller(opts EnrolOptions) *Enroller {
	if opts.TTL <= 0 {
		opts.TTL = defaultTTL
	}
	if opts.Capacity <= 0 {
		opts.Capacity = defaultCapacity
	}
	if opts.Random == nil {
		opts.Random = rand.Reader
	}
	return &Enroller{opts: opts, open: map[[16]byte]pending{}}
}

// Challenge checks a request and seals a secret to the TPM that it names. A node's earlier challenge is void then.
// Errors wrap those of package attest, or ErrBusy.
func (e *Enroller) Challenge(subject Subject, request Request, now time.Time) (EnrolChallenge, error) {
	ak, ek, err := e.check(request, now)
	if err != nil {
		return EnrolChallenge{}, fmt.Errorf("enrol TPM: %w", err)
	}
	p := pending{enrolment: Enrolment{Subject: subject, EK: ek.Identity, AK: ak.Name}, expires: now.Add(e.opts.TTL)}
	challenge := EnrolChallenge{Expires: p.expires}
	for _, b := range [][]byte{p.secret[:], challenge.ID[:]} {
		if _, err := io.ReadFull(e.opts.Random, b); err != nil {
			return EnrolChallenge{}, fmt.Errorf("enrol TPM: random numbers: %w", err)
		}
	}
	if challenge.Credential, err = MakeCredential(e.opts.Random, ek, ak.Name, p.secret[:]); err != nil {
		return EnrolChallenge{}, fmt.Errorf("enrol TPM: %w", err)
	}
	if err := e.add(challenge.ID, p, now); err != nil {
		return EnrolChallenge{}, fmt.Errorf("enrol TPM: %w", err)
	}
	return challenge, nil
}

func (e *Enroller) check(request Request, now time.Time) (AK, EK, error) {
	ak, err := ParseAK(request.AK)
	if err != nil {
		return AK{}, EK{}, err
	}
	ek, err := ParseEK(request.EK)
	if err != nil {
		return AK{}, EK{}, err
	}
	chain, err := splitChain(request.Chain)
	if err != nil {
		return AK{}, EK{}, err
	}
	return ak, ek, e.opts.Trust.check(&attest.Result{}, ek, chain, now)
}

func (e *Enroller) add(id [16]byte, p pending, now time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for other, q := range e.open {
		if q.enrolment.Subject == p.enrolment.Subject || !now.Before(q.expires) {
			delete(e.open, other)
		}
	}
	if len(e.open) >= e.opts.Capacity {
		return ErrBusy
	}
	e.open[id] = p
	return nil
}

// Finish takes a node's answer. A right one in time gives the enrolment, which the keeper stores and may sign: see
// [Enrolment.Sign]. Afterwards the challenge is gone. Errors wrap ErrUnknownEnrolment, [attest.ErrStale] or
// [attest.ErrUntrusted].
func (e *Enroller) Finish(subject Subject, id [16]byte, secret []byte, now time.Time) (Enrolment, error) {
	e.mu.Lock()
	p, ok := e.open[id]
	ok = ok && p.enrolment.Subject == subject
	if ok {
		delete(e.open, id)
	}
	e.mu.Unlock()
	switch {
	case !ok:
		return Enrolment{}, ErrUnknownEnrolment
	case !now.Before(p.expires):
		return Enrolment{}, fmt.Errorf("enrol TPM: answered at %s, expired at %s: %w", now.UTC().Format(time.RFC3339),
			p.expires.UTC().Format(time.RFC3339), attest.ErrStale)
	case subtle.ConstantTimeCompare(secret, p.secret[:]) != 1:
		return Enrolment{}, fmt.Errorf("enrol TPM: wrong secret, so the attestation key %s is not in that TPM: %w", p.enrolment.AK,
			attest.ErrUntrusted)
	}
	p.enrolment.Seen = now.UTC().Truncate(time.Second)
	return p.enrolment, nil
}

// Open is how many enrolments are open, expired ones included until the next challenge.
func (e *Enroller) Open() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.open)
}
