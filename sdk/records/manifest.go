package records

import (
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// ManifestSize is the length of an encoded manifest in bytes.
const ManifestSize = TagSize + 8 + 8 + 4 + 4 + 32

// Manifest is a keeper's signed digest of its statement set of a period, made once. Two different manifests of one
// period are an equivocation and cost the bond. The layout is in docs/protocol/records.md.
type Manifest struct {
	Domain Domain
	Period Period
	Count  uint32   // statements
	Size   uint32   // bytes of the set
	Digest [32]byte // sha256 of the set
}

// Encode returns the bytes that are signed.
func (m Manifest) Encode() [ManifestSize]byte {
	var b [ManifestSize]byte
	le := binary.LittleEndian
	copy(b[:8], TagManifest)
	copy(b[8:16], m.Domain[:])
	le.PutUint64(b[16:24], uint64(m.Period))
	le.PutUint32(b[24:28], m.Count)
	le.PutUint32(b[28:32], m.Size)
	copy(b[32:], m.Digest[:])
	return b
}

// DecodeManifest reads exactly one manifest. Errors: ErrLength, ErrTag.
func DecodeManifest(b []byte) (Manifest, error) {
	if len(b) != ManifestSize {
		return Manifest{}, fmt.Errorf("manifest of %d bytes: %w", len(b), ErrLength)
	}
	if string(b[:8]) != TagManifest {
		return Manifest{}, fmt.Errorf("manifest: %w", ErrTag)
	}
	le := binary.LittleEndian
	return Manifest{
		Domain: Domain(b[8:16]), Period: Period(le.Uint64(b[16:24])), Count: le.Uint32(b[24:28]), Size: le.Uint32(b[28:32]),
		Digest: [32]byte(b[32:]),
	}, nil
}

// Sign signs the manifest's encoding.
func (m Manifest) Sign(signer Signer) (solana.Signature, error) {
	b := m.Encode()
	sig, err := signer.Sign(b[:])
	if err != nil {
		return sig, fmt.Errorf("sign manifest of period %d: %w", m.Period, err)
	}
	return sig, nil
}

// Verify checks a keeper's signature over the manifest. Error: ErrSignature.
func (m Manifest) Verify(keeper solana.PublicKey, sig solana.Signature) error {
	b := m.Encode()
	return verify(keeper, b[:], sig)
}
