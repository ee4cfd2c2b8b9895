// Package guest is the key of a process in a confidential machine. The process makes it at its start and never stores
// it, so that only code which runs where the host cannot look can sign with it. The TEE's report covers the key beside
// everything that the machine claims; what the key signs later was answered by the same process.
//
// The evidence has two items, [ItemKey] and [ItemSignature]. What it means depends on the report that covers it, and on
// the measured image: a process of another image may hand its key to anyone.
package guest

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
)

// Names of the evidence's items.
const (
	// ItemKey is the ed25519 public key.
	ItemKey = "key"
	// ItemSignature is the key's over the challenge and the claims.
	ItemSignature = "signature"
)

// Names of the checks in a result.
const (
	CheckFormat    = "format"
	CheckSignature = "guest's signature"
)

// Key is held by one process. It is safe for concurrent use.
type Key struct{ private ed25519.PrivateKey }

// NewKey makes a key that is nowhere else.
func NewKey() (*Key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("guest key: %w", err)
	}
	return &Key{private}, nil
}

// Public is the key that others know.
func (k *Key) Public() [32]byte { return [32]byte(k.private.Public().(ed25519.PublicKey)) }

// claimed is what the key signs in a bundle: sha256("gantry-guest-1" ‖ nonce ‖ digest of the claims).
func claimed(b attest.Binding) []byte {
	h := sha256.Sum256(slices.Concat([]byte("gantry-guest-1"), b.Nonce[:], b.Claims[:]))
	return h[:]
}

// answered is what the key signs of an answer: sha256("gantry-guest-answer-1" ‖ nonce ‖ digest of the answer).
func answered(nonce, digest [32]byte) []byte {
	h := sha256.Sum256(slices.Concat([]byte("gantry-guest-answer-1"), nonce[:], digest[:]))
	return h[:]
}

// SignAnswer signs an answer to a question with a nonce.
func (k *Key) SignAnswer(nonce, digest [32]byte) [64]byte {
	return [64]byte(ed25519.Sign(k.private, answered(nonce, digest)))
}

// VerifyAnswer reports whether the key's process gave the answer.
func VerifyAnswer(key, nonce, digest [32]byte, signature [64]byte) bool {
	return ed25519.Verify(key[:], answered(nonce, digest), signature[:])
}

// Evidence is the key's: it has signed the challenge and the claims, which are in order. Error: attest.ErrMalformed.
func (k *Key) Evidence(claims []attest.Evidence, binding attest.Binding) (attest.Evidence, error) {
	var err error
	if binding.Claims, err = bundle.Claims(claims); err != nil {
		return attest.Evidence{}, err
	}
	public := k.Public()
	return attest.Evidence{Kind: attest.KindGuest, Items: []attest.Item{
		{Name: ItemKey, Data: public[:]},
		{Name: ItemSignature, Data: ed25519.Sign(k.private, claimed(binding))},
	}}, nil
}

// Vouch returns the key's evidence and the TEE's report over it and over the claims: all evidence of a bundle, in order,
// but what vouches for it. binding has the keys of what comes after the TEE's report. Errors: report's,
// attest.ErrMalformed.
func (k *Key) Vouch(
	claims []attest.Evidence, binding attest.Binding, report func(data [64]byte) (attest.Evidence, error),
) ([]attest.Evidence, error) {
	own, err := k.Evidence(claims, binding)
	if err != nil {
		return nil, err
	}
	if binding.Claims, err = bundle.Claims(claims); err != nil {
		return nil, err
	}
	binding.Keys = append(slices.Clone(binding.Keys), k.Public())
	tee, err := report(binding.ReportData())
	if err != nil {
		return nil, err
	}
	return []attest.Evidence{own, tee}, nil
}

// Verifier checks that the key has signed the claims.
type Verifier struct{}

var _ attest.Verifier = Verifier{}

// Kind is [attest.KindGuest].
func (Verifier) Kind() attest.Kind { return attest.KindGuest }

// Verify implements [attest.Verifier].
func (Verifier) Verify(e attest.Evidence, b attest.Binding, _ time.Time) (attest.Result, error) {
	r := attest.Result{Kind: attest.KindGuest, Instance: e.Instance}
	key, okKey := e.Item(ItemKey)
	signature, okSignature := e.Item(ItemSignature)
	if !okKey || !okSignature || len(e.Items) != 2 || len(key) != ed25519.PublicKeySize || len(signature) != ed25519.SignatureSize {
		return r, r.Fail(CheckFormat, attest.ErrMalformed, "a guest's key is an item of %d bytes and a signature of %d", ed25519.PublicKeySize, ed25519.SignatureSize)
	}
	r.Pass(CheckFormat, "ed25519")
	if !ed25519.Verify(key, claimed(b), signature) {
		return r, r.Fail(CheckSignature, attest.ErrStale, "the key has not signed this challenge and these claims")
	}
	r.Pass(CheckSignature, "over the challenge and all other evidence of the guest")
	r.Keys = [][32]byte{[32]byte(key)}
	return r, nil
}
