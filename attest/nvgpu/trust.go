package nvgpu

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	_ "embed"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/gantry-market/gantry/attest"
)

//go:embed roots/device_root.pem
var deviceRootPEM []byte

//go:embed roots/rim_root.pem
var rimRootPEM []byte

// Roots are what everything is traced back to. The zero value is NVIDIA's two roots, embedded here; others are for
// synthetic evidence, and a result that rests on one says so.
type Roots struct {
	// Device issues the identities of GPUs: "NVIDIA Device Identity CA", sha256
	// 102bf659d5419614c9d8e6aecebc80454eb26b1df6a769ac720b9a690b167b48.
	Device *x509.Certificate
	// RIM issues the signers of reference manifests: "NVIDIA CoRIM signing Root CA", sha256
	// 12977b5115acb0381179279fffeb5a8c4d264971ebb32298023a465fa41df5d1.
	RIM *x509.Certificate
}

// pinned are the embedded roots. That they parse is a property of the build, tested.
var pinned = sync.OnceValues(func() (Roots, error) {
	device, err := parsePinned(deviceRootPEM)
	if err != nil {
		return Roots{}, err
	}
	rim, err := parsePinned(rimRootPEM)
	return Roots{Device: device, RIM: rim}, err
})

func parsePinned(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("embedded root is not PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

// PinnedRoots returns NVIDIA's roots, as embedded here.
func PinnedRoots() (Roots, error) { return pinned() }

// resolve fills what is not set with NVIDIA's roots.
func (r Roots) resolve() (Roots, error) {
	known, err := pinned()
	if err != nil {
		return r, err
	}
	if r.Device == nil {
		r.Device = known.Device
	}
	if r.RIM == nil {
		r.RIM = known.RIM
	}
	return r, nil
}

// synthetic reports whether a root is another than NVIDIA's.
func (r Roots) synthetic() bool {
	known, err := pinned()
	return err != nil || !r.Device.Equal(known.Device) || !r.RIM.Equal(known.RIM)
}

// CheckDevice verifies a GPU's chain at a time: each certificate signed by the next, the last byte for byte the pinned
// root, P-384 and SHA-384 throughout, basic constraints, key usage, path lengths and validity; and that the device
// whose key the attestation certificate names is the one that issued it.
func (r Roots) CheckDevice(c *Chain, now time.Time) error { return r.checkDevice(c, now, &seen{}) }

func (r Roots) checkDevice(c *Chain, now time.Time, known *seen) error {
	roots, err := r.resolve()
	if err != nil {
		return err
	}
	if err := checkPath(c.Certificates, roots.Device, now, known); err != nil {
		return err
	}
	if !bytes.Equal(c.Leaf.deviceKey, c.Certificates[1].RawSubjectPublicKeyInfo) {
		return untrusted("certificate 1 (%s) is for another device than its issuer", name(c.Certificates[0]))
	}
	return nil
}

// checkPath verifies a path in the order given. There is no search for another path: evidence has one encoding.
func checkPath(certs []*x509.Certificate, root *x509.Certificate, now time.Time, known *seen) error {
	last := len(certs) - 1
	if last < 1 {
		return untrusted("a chain of %d certificates", len(certs))
	}
	if !certs[last].Equal(root) {
		return untrusted("the last certificate (%s, sha256 %x) is not the pinned root (%s, sha256 %x)", name(certs[last]),
			sha256.Sum256(certs[last].Raw), name(root), sha256.Sum256(root.Raw))
	}
	for i, c := range certs {
		if err := checkCertificate(c, i); err != nil {
			return err
		}
	}
	for i, c := range certs[:last] {
		issuer := certs[i+1]
		if !bytes.Equal(c.RawIssuer, issuer.RawSubject) {
			return untrusted("certificate %d (%s) was issued by %q, not by certificate %d (%s)", i+1, name(c), c.Issuer, i+2, name(issuer))
		}
		if err := known.signedBy(c, issuer); err != nil {
			return untrusted("certificate %d (%s) is not signed by certificate %d (%s): %v", i+1, name(c), i+2, name(issuer), err)
		}
	}
	for i, c := range certs {
		if now.Before(c.NotBefore) || now.After(c.NotAfter) {
			return fmt.Errorf("certificate %d (%s) is valid from %s to %s, not at %s: %w", i+1, name(c), day(c.NotBefore), day(c.NotAfter),
				now.UTC().Format(time.RFC3339), attest.ErrStale)
		}
	}
	return nil
}

// checkCertificate checks what a certificate may be used for by its place in the path, from 0 for the leaf.
func checkCertificate(c *x509.Certificate, place int) error {
	key, _ := c.PublicKey.(*ecdsa.PublicKey)
	switch {
	case critical(c) != nil:
		return untrusted("certificate %d (%s) has an unknown critical extension %v", place+1, name(c), critical(c))
	case key == nil || key.Curve != elliptic.P384() || c.SignatureAlgorithm != x509.ECDSAWithSHA384:
		return untrusted("certificate %d (%s) is not ECDSA with P-384 and SHA-384", place+1, name(c))
	case place == 0 && (c.IsCA || c.KeyUsage&x509.KeyUsageDigitalSignature == 0):
		return untrusted("certificate 1 (%s) is not for signing reports", name(c))
	case place > 0 && (!c.BasicConstraintsValid || !c.IsCA || c.KeyUsage&x509.KeyUsageCertSign == 0):
		return untrusted("certificate %d (%s) is not for issuing certificates", place+1, name(c))
	case place > 0 && (c.MaxPathLen > 0 || c.MaxPathLenZero) && place-1 > c.MaxPathLen:
		return untrusted("certificate %d (%s) allows %d issuers below it and has %d", place+1, name(c), c.MaxPathLen, place-1)
	}
	return nil
}

// critical returns a critical extension that is neither basic constraints nor key usage: there are none in NVIDIA's
// certificates, and a constraint that is not looked at must not be passed over.
func critical(c *x509.Certificate) asn1.ObjectIdentifier {
	for _, e := range c.Extensions {
		if e.Critical && !e.Id.Equal(oidBasicConstraints) && !e.Id.Equal(oidKeyUsage) {
			return e.Id
		}
	}
	return nil
}

// CheckSignature verifies that the key of the leaf signed the report: request and response without the signature.
func (r *Report) CheckSignature(leaf *x509.Certificate) error {
	key, ok := leaf.PublicKey.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P384() {
		return untrusted("the key of %s is not ECDSA with P-384", name(leaf))
	}
	digest := sha512.Sum384(r.signed)
	half := SignatureSize / 2
	if !ecdsa.Verify(key, digest[:], new(big.Int).SetBytes(r.signature[:half]), new(big.Int).SetBytes(r.signature[half:])) {
		return untrusted("the report is not signed by %s", name(leaf))
	}
	return nil
}

func untrusted(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(slices.Clone(args), attest.ErrUntrusted)...)
}

func name(c *x509.Certificate) string { return fmt.Sprintf("%.64q", c.Subject.CommonName) }

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
