package bundle

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gantry-market/gantry/attest"
)

// Version of the format.
const Version = 1

// Limits of a bundle.
const (
	// MaxSize of an encoding, bytes.
	MaxSize = 4 << 20
	// MaxEvidence is the most pieces of evidence.
	MaxEvidence = 64
	// MaxItems of one piece.
	MaxItems = 32
	// MaxItem is the largest item and the largest collateral, bytes.
	MaxItem = 2 << 20
	// MaxCollateral is the most items of collateral.
	MaxCollateral = 128

	maxName = 64
	maxKey  = 255
)

// ErrSignature: the node's signature is not of its key over this evidence.
var ErrSignature = fmt.Errorf("bundle is not signed by the node: %w", attest.ErrUntrusted)

// Collateral is one item of data that a check needed from outside.
type Collateral struct {
	Key  string
	Data []byte
}

// Bundle is the answer to one challenge. Evidence, its items and Collateral are in order: see [Bundle.Sort].
type Bundle struct {
	Challenge attest.Challenge
	// Created is the unix second at which the node put the bundle together, by its own clock.
	Created int64
	// Signature of the node key over [Bundle.Statement].
	Signature  [ed25519.SignatureSize]byte
	Evidence   []attest.Evidence
	Collateral []Collateral
}

// Sort brings everything into the order of the format.
func (b *Bundle) Sort() {
	for _, e := range b.Evidence {
		slices.SortFunc(e.Items, func(x, y attest.Item) int { return cmp.Compare(x.Name, y.Name) })
	}
	slices.SortFunc(b.Evidence, compareEvidence)
	slices.SortFunc(b.Collateral, func(x, y Collateral) int { return cmp.Compare(x.Key, y.Key) })
}

func compareEvidence(x, y attest.Evidence) int {
	return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Instance, y.Instance))
}

// OfKind returns the pieces of one kind.
func (b *Bundle) OfKind(k attest.Kind) []attest.Evidence {
	var out []attest.Evidence
	for _, e := range b.Evidence {
		if e.Kind == k {
			out = append(out, e)
		}
	}
	return out
}

// Get makes the bundle's collateral an [attest.Collateral].
func (b *Bundle) Get(key string) ([]byte, error) {
	for _, c := range b.Collateral {
		if c.Key == key {
			return bytes.Clone(c.Data), nil
		}
	}
	return nil, fmt.Errorf("%q is not in the bundle: %w", key, attest.ErrNoCollateral)
}

// Others is the digest of the evidence but the TPM's: sha256("gantry-others-1" ‖ encoding of each piece). The pieces
// are in order. Error: attest.ErrMalformed.
func Others(evidence []attest.Evidence) ([32]byte, error) {
	return digest("gantry-others-1", without(evidence, attest.KindTPM))
}

// Claims is the digest of the evidence but that which vouches for it: sha256("gantry-claims-1" ‖ encoding of each
// piece). The pieces are in order. Error: attest.ErrMalformed.
func Claims(evidence []attest.Evidence) ([32]byte, error) {
	return digest("gantry-claims-1", without(evidence, attest.KindGuest, attest.KindSNP, attest.KindTDX, attest.KindTPM))
}

func without(evidence []attest.Evidence, kinds ...attest.Kind) []attest.Evidence {
	return slices.DeleteFunc(slices.Clone(evidence), func(e attest.Evidence) bool { return slices.Contains(kinds, e.Kind) })
}

// digest hashes the encoding of pieces.
func digest(tag string, evidence []attest.Evidence) ([32]byte, error) {
	if err := checkEvidence(evidence); err != nil {
		return [32]byte{}, err
	}
	h := sha256.New()
	h.Write([]byte(tag))
	for _, e := range evidence {
		writeEvidence(h, e)
	}
	return [32]byte(h.Sum(nil)), nil
}

// Statement is what the node signs. Error: attest.ErrMalformed.
func (b *Bundle) Statement() ([]byte, error) {
	all, err := digest("gantry-evidence-all-1", b.Evidence)
	if err != nil {
		return nil, err
	}
	nonce := b.Challenge.Nonce()
	m := append([]byte(signatureTag), nonce[:]...)
	m = binary.LittleEndian.AppendUint64(m, uint64(b.Created))
	return append(m, all[:]...), nil
}

// Sign sorts and signs the bundle with the node's key. Errors: attest.ErrMalformed; ErrSignature if the key is another
// one than the challenge names.
func (b *Bundle) Sign(key ed25519.PrivateKey) error {
	b.Sort()
	if len(key) != ed25519.PrivateKeySize || !bytes.Equal(key.Public().(ed25519.PublicKey), b.Challenge.NodeKey[:]) {
		return fmt.Errorf("the challenge is for another key: %w", ErrSignature)
	}
	m, err := b.Statement()
	if err != nil {
		return err
	}
	b.Signature = [ed25519.SignatureSize]byte(ed25519.Sign(key, m))
	return nil
}

// VerifySignature checks the node's signature. Errors: attest.ErrMalformed, ErrSignature.
func (b *Bundle) VerifySignature() error {
	m, err := b.Statement()
	if err != nil {
		return err
	}
	if !ed25519.Verify(b.Challenge.NodeKey[:], m, b.Signature[:]) {
		return ErrSignature
	}
	return nil
}
