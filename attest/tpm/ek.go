package tpm

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/google/go-tpm/tpm2"

	"github.com/gantry-market/gantry/attest"
)

// EKAlgorithm is a kind of endorsement key.
type EKAlgorithm uint8

// Kinds of endorsement keys that are supported, with the templates of the TCG EK credential profile 2.5 that they have.
const (
	// EKRSA2048 is the kind that nearly every TPM has (templates L-1 and H-1).
	EKRSA2048 EKAlgorithm = 1
	// EKP256 is an elliptic curve key on P-256 (L-2, H-2).
	EKP256 EKAlgorithm = 2
	// EKP384 is an elliptic curve key on P-384 (H-3).
	EKP384 EKAlgorithm = 3
)

func (a EKAlgorithm) String() string {
	switch a {
	case EKRSA2048:
		return "RSA 2048"
	case EKP256:
		return "P-256"
	case EKP384:
		return "P-384"
	}
	return fmt.Sprintf("algorithm %d", uint8(a))
}

var (
	oidSubjectAltName   = asn1.ObjectIdentifier{2, 5, 29, 17}
	oidSubjectDirectory = asn1.ObjectIdentifier{2, 5, 29, 9}
	// tcg-kp-EKCertificate: TCG EK credential profile.
	oidEKCertificate = asn1.ObjectIdentifier{2, 23, 133, 8, 1}
	// id-RSAES-OAEP, which some manufacturers write where others write rsaEncryption: RFC 4055.
	oidOAEP = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 7}
)

// EK is an endorsement key as its certificate shows it. ParseEK does not verify who signed the certificate.
type EK struct {
	Cert      *x509.Certificate
	Algorithm EKAlgorithm
	// Key is an *rsa.PublicKey or *ecdsa.PublicKey.
	Key any
	// Identity is the hash of the key. It is what makes one TPM the same device in every certificate of the key.
	Identity [32]byte
	// Manufacturer, Model and Version are what the certificate says of the TPM.
	Manufacturer, Model, Version string
}

// ParseEK reads a DER certificate of an endorsement key. Errors wrap [attest.ErrMalformed].
func ParseEK(der []byte) (EK, error) {
	bad := func(format string, args ...any) (EK, error) {
		return EK{}, fmt.Errorf("endorsement key certificate: %w: %w", fmt.Errorf(format, args...), attest.ErrMalformed)
	}
	if len(der) > maxCert {
		return bad("%d bytes", len(der))
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return bad("%w", err)
	}
	ek := EK{Cert: cert}
	if cert.IsCA || cert.KeyUsage&(x509.KeyUsageCertSign|x509.KeyUsageCRLSign) != 0 {
		return bad("it is a certificate authority's")
	}
	// Authorities also sign platform certificates, which have another purpose.
	if purposes := len(cert.ExtKeyUsage) + len(cert.UnknownExtKeyUsage); purposes > 0 &&
		!slices.ContainsFunc(cert.UnknownExtKeyUsage, oidEKCertificate.Equal) {
		return bad("its purpose is not that of an endorsement key (2.23.133.8.1)")
	}
	if err := ek.readExtensions(); err != nil {
		return bad("%w", err)
	}
	if err := ek.readKey(); err != nil {
		return bad("%w", err)
	}
	return ek, nil
}

// readExtensions reads the extensions that the profile wants critical and that the x509 package does not know, and
// takes them off the list of unhandled ones.
func (ek *EK) readExtensions() error {
	found := false
	for _, e := range ek.Cert.Extensions {
		var err error
		switch {
		case e.Id.Equal(oidSubjectAltName):
			found = true
			err = ek.readAltName(e.Value)
		case e.Id.Equal(oidSubjectDirectory):
			err = checkDirectoryAttributes(e.Value)
		}
		if err != nil {
			return fmt.Errorf("extension %s: %w", e.Id, err)
		}
	}
	if !found {
		return errors.New("no subject alternative name that describes a TPM")
	}
	ek.Cert.UnhandledCriticalExtensions = slices.DeleteFunc(ek.Cert.UnhandledCriticalExtensions, func(id asn1.ObjectIdentifier) bool {
		return id.Equal(oidSubjectAltName) || id.Equal(oidSubjectDirectory)
	})
	return nil
}

// readKey takes the public key and derives the identity from the key alone, not from how the certificate encodes it.
func (ek *EK) readKey() error {
	h := sha256.New()
	h.Write([]byte("gantry-tpm-ek-1"))
	key := ek.Cert.PublicKey
	if key == nil {
		var err error
		if key, err = oaepKey(ek.Cert.RawSubjectPublicKeyInfo); err != nil {
			return err
		}
	}
	switch k := key.(type) {
	case *rsa.PublicKey:
		if k.N.BitLen() != 2048 || k.E != 65537 {
			return fmt.Errorf("RSA key of %d bits with exponent %d, want 2048 and 65537", k.N.BitLen(), k.E)
		}
		ek.Algorithm = EKRSA2048
		h.Write(k.N.FillBytes(make([]byte, 256)))
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			ek.Algorithm = EKP256
		case elliptic.P384():
			ek.Algorithm = EKP384
		default:
			return fmt.Errorf("curve %s is not supported", k.Curve.Params().Name)
		}
		point, err := k.Bytes()
		if err != nil {
			return err
		}
		h.Write(point)
	default:
		return fmt.Errorf("key of type %T is not supported", key)
	}
	ek.Key = key
	ek.Identity = [32]byte(h.Sum(nil))
	return nil
}

// oaepKey reads an RSA key whose algorithm is id-RSAES-OAEP, which the x509 package leaves alone.
func oaepKey(info []byte) (*rsa.PublicKey, error) {
	var spki struct {
		Algorithm struct {
			ID         asn1.ObjectIdentifier
			Parameters asn1.RawValue `asn1:"optional"`
		}
		Key asn1.BitString
	}
	if rest, err := asn1.Unmarshal(info, &spki); err != nil || len(rest) > 0 {
		return nil, errors.New("public key cannot be read")
	}
	if !spki.Algorithm.ID.Equal(oidOAEP) {
		return nil, fmt.Errorf("public key algorithm %s is not supported", spki.Algorithm.ID)
	}
	var key struct {
		N *big.Int
		E int
	}
	if rest, err := asn1.Unmarshal(spki.Key.RightAlign(), &key); err != nil || len(rest) > 0 {
		return nil, errors.New("RSA key cannot be read")
	}
	if key.N.Sign() <= 0 {
		return nil, errors.New("RSA modulus is not positive")
	}
	return &rsa.PublicKey{N: key.N, E: key.E}, nil
}

// maxIssuerBits bounds what a signature of a certificate that the evidence brings can cost to check.
const maxIssuerBits = 4096

// VerifyChain checks that the certificate leads to one of the roots at a time. Intermediate certificates come from the
// policy and, untrusted until they verify, from the evidence. Errors wrap [attest.ErrUntrusted].
func (ek EK) VerifyChain(roots, intermediates *x509.CertPool, extra [][]byte, now time.Time) ([]*x509.Certificate, error) {
	if roots == nil {
		return nil, fmt.Errorf("no TPM manufacturer's root is pinned: %w", attest.ErrUntrusted)
	}
	pool := x509.NewCertPool()
	if intermediates != nil {
		pool = intermediates.Clone()
	}
	for i, der := range extra {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("%s: certificate %d: %w: %w", ItemEKChain, i, err, attest.ErrMalformed)
		}
		if key, ok := cert.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > maxIssuerBits {
			return nil, fmt.Errorf("%s: certificate %d: RSA key of %d bits, at most %d are accepted: %w", ItemEKChain, i, key.N.BitLen(),
				maxIssuerBits, attest.ErrMalformed)
		}
		pool.AddCert(cert)
	}
	chains, err := ek.Cert.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: pool, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return nil, fmt.Errorf("endorsement key certificate: %w: %w", err, attest.ErrStale)
	}
	if err != nil {
		return nil, fmt.Errorf("endorsement key certificate: %w: %w", err, attest.ErrUntrusted)
	}
	return chains[0], nil
}

// Is reports whether a TPM key's public area is the certificate's key.
func (ek EK) Is(public *tpm2.TPMTPublic) bool {
	key, err := tpm2.Pub(*public)
	if err != nil {
		return false
	}
	switch k := ek.Key.(type) {
	case *rsa.PublicKey:
		return k.Equal(key)
	case *ecdsa.PublicKey:
		return k.Equal(key)
	}
	return false
}
