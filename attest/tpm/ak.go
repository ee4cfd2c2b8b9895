package tpm

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/google/go-tpm/tpm2"

	"github.com/gantry-market/gantry/attest"
)

// Name is a TPM object's name with SHA-256: the algorithm's number and the hash of the public area (part 1, section
// 16).
type Name [34]byte

func (n Name) String() string { return hex.EncodeToString(n[:]) }

// Digest is the name without the algorithm's number. It is the key that other evidence may bind: see [attest.Binding].
func (n Name) Digest() [32]byte { return [32]byte(n[2:]) }

// Qualified is the qualified name of a primary key of this name in a hierarchy (part 1, section 16.4).
func (n Name) Qualified(hierarchy tpm2.TPMHandle) Name {
	h := sha256.New()
	var handle [4]byte
	binary.BigEndian.PutUint32(handle[:], uint32(hierarchy))
	h.Write(handle[:])
	h.Write(n[:])
	return sha256Name(h.Sum(nil))
}

func sha256Name(sum []byte) Name {
	var n Name
	binary.BigEndian.PutUint16(n[:], uint16(tpm2.TPMAlgSHA256))
	copy(n[2:], sum)
	return n
}

// AKTemplate is the one form that attestation keys have: a restricted ECDSA key on P-256 with SHA-256 that never leaves
// its TPM, was made inside it, and signs only what the TPM itself says. It is made as a primary key in the endorsement
// hierarchy: keys elsewhere sign obscured clock and firmware values (part 1, section 36.7). It has no password, so the
// TPM's protection against guessing is off: it would let a few hard power cuts lock the key for hours.
func AKTemplate() tpm2.TPMTPublic {
	return tpm2.TPMTPublic{
		Type:    tpm2.TPMAlgECC,
		NameAlg: tpm2.TPMAlgSHA256,
		ObjectAttributes: tpm2.TPMAObject{
			FixedTPM: true, FixedParent: true, SensitiveDataOrigin: true, UserWithAuth: true, NoDA: true, Restricted: true,
			SignEncrypt: true,
		},
		Parameters: tpm2.NewTPMUPublicParms(tpm2.TPMAlgECC, &tpm2.TPMSECCParms{
			Scheme: tpm2.TPMTECCScheme{
				Scheme:  tpm2.TPMAlgECDSA,
				Details: tpm2.NewTPMUAsymScheme(tpm2.TPMAlgECDSA, &tpm2.TPMSSigSchemeECDSA{HashAlg: tpm2.TPMAlgSHA256}),
			},
			CurveID: tpm2.TPMECCNistP256,
		}),
		Unique: tpm2.NewTPMUPublicID(tpm2.TPMAlgECC, &tpm2.TPMSECCPoint{}),
	}
}

// AK is an attestation key's public area, of the form of [AKTemplate].
type AK struct {
	// Raw is the TPMT_PUBLIC.
	Raw  []byte
	Name Name
	Key  *ecdsa.PublicKey
}

// ParseAK reads a TPMT_PUBLIC and refuses every key that is not exactly of the form of [AKTemplate]: a key that could
// sign what it is handed, or that could be moved, proves nothing. Errors wrap [attest.ErrMalformed] or, when it is
// another kind of key, [attest.ErrPolicy].
func ParseAK(raw []byte) (AK, error) {
	if len(raw) > maxAK {
		return AK{}, fmt.Errorf("attestation key: %d bytes: %w", len(raw), attest.ErrMalformed)
	}
	public, err := tpm2.Unmarshal[tpm2.TPMTPublic](raw)
	if err != nil {
		return AK{}, fmt.Errorf("attestation key: %w: %w", err, attest.ErrMalformed)
	}
	if !bytes.Equal(tpm2.Marshal(public), raw) {
		return AK{}, fmt.Errorf("attestation key: not in canonical form, or followed by other bytes: %w", attest.ErrMalformed)
	}
	refuse := func(format string, args ...any) (AK, error) {
		return AK{}, fmt.Errorf("attestation key: %s: %w", fmt.Sprintf(format, args...), attest.ErrPolicy)
	}
	if public.Type != tpm2.TPMAlgECC {
		return refuse("type %#x, want an elliptic curve key", uint16(public.Type))
	}
	if public.NameAlg != tpm2.TPMAlgSHA256 {
		return refuse("name algorithm %#x, want SHA-256", uint16(public.NameAlg))
	}
	want := AKTemplate()
	if got, want := tpm2.Marshal(&public.ObjectAttributes), tpm2.Marshal(&want.ObjectAttributes); !bytes.Equal(got, want) {
		return refuse("attributes %x, want %x (fixed to its TPM, made in it, restricted, signing, not decrypting)", got, want)
	}
	point, err := public.Unique.ECC()
	if err != nil {
		return refuse("%v", err)
	}
	// With its point put in, the template must be the key to the byte: scheme, curve and policy have no other values.
	want.Unique = tpm2.NewTPMUPublicID(tpm2.TPMAlgECC, point)
	if canonical := tpm2.Marshal(&want); !bytes.Equal(raw, canonical) {
		return refuse("scheme, curve or policy differ from the template: %x, want %x", raw, canonical)
	}
	key, err := p256(point.X.Buffer, point.Y.Buffer)
	if err != nil {
		return AK{}, fmt.Errorf("attestation key: %w: %w", err, attest.ErrMalformed)
	}
	sum := sha256.Sum256(raw)
	return AK{Raw: bytes.Clone(raw), Name: sha256Name(sum[:]), Key: key}, nil
}

// p256 makes a key of coordinates and checks that they are on the curve.
func p256(x, y []byte) (*ecdsa.PublicKey, error) {
	const size = 32
	if len(x) > size || len(y) > size {
		return nil, fmt.Errorf("coordinates of %d and %d bytes, at most %d are possible", len(x), len(y), size)
	}
	point := make([]byte, 1+2*size)
	point[0] = 4
	copy(point[1+size-len(x):], x)
	copy(point[1+2*size-len(y):], y)
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
}
