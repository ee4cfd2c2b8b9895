package nvgputest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"

	"github.com/gantry-market/gantry/attest/nvgpu"
)

// Validity of everything synthetic: from 2020 until the end of time as X.509 writes it.
var (
	notBefore = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	notAfter  = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// Chip of synthetic GPUs, unless asked for another.
const Chip = "GH100"

const organization = "SYNTHETIC evidence of Gantry tests"

// Authority is a synthetic NVIDIA: a device root with the issuers below it, and a root with the signers of manifests.
// It is not safe for concurrent use while it makes things.
type Authority struct {
	device, rim []*x509.Certificate // issuers, lowest first, root last
	keys        map[string]*ecdsa.PrivateKey
	serial      int64
}

// NewAuthority makes an authority with fresh keys.
func NewAuthority() (*Authority, error) {
	a := &Authority{keys: map[string]*ecdsa.PrivateKey{}}
	var err error
	if a.device, err = a.path("NVIDIA Device Identity CA", "NVIDIA "+Chip+" Identity", "NVIDIA "+Chip+" Provisioner ICA 1"); err != nil {
		return nil, err
	}
	if a.rim, err = a.path("NVIDIA CoRIM signing Root CA", "NVIDIA Reference Value "+Chip+" CA"); err != nil {
		return nil, err
	}
	signer, err := a.Issue(Template("RIM signer"), a.rim[0])
	if err != nil {
		return nil, err
	}
	a.rim = append([]*x509.Certificate{signer}, a.rim...)
	return a, nil
}

// Roots are what a verifier must be given to accept this authority's evidence.
func (a *Authority) Roots() nvgpu.Roots {
	return nvgpu.Roots{Device: a.device[len(a.device)-1], RIM: a.rim[len(a.rim)-1]}
}

// Issuers are the certificates above a GPU's own, lowest first, root last.
func (a *Authority) Issuers() []*x509.Certificate {
	return append([]*x509.Certificate(nil), a.device...)
}

// Signers are the certificates of manifests, leaf first, root last.
func (a *Authority) Signers() []*x509.Certificate { return append([]*x509.Certificate(nil), a.rim...) }

// Key is the private key of a certificate that this authority issued.
func (a *Authority) Key(c *x509.Certificate) *ecdsa.PrivateKey { return a.keys[string(c.Raw)] }

// Template is a certificate for signing, to be edited and issued.
func Template(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name + " SYNTHETIC", Organization: []string{organization}},
		NotBefore: notBefore, NotAfter: notAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		SignatureAlgorithm: x509.ECDSAWithSHA384,
	}
}

// CATemplate is a certificate for issuing certificates.
func CATemplate(name string) *x509.Certificate {
	t := Template(name)
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	return t
}

// Issue signs a template with the key of issuer, nil for a root. The certificate has a fresh P-384 key.
func (a *Authority) Issue(t, issuer *x509.Certificate) (*x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key of %s: %w", t.Subject.CommonName, err)
	}
	return a.IssueFor(t, issuer, key)
}

// IssueFor is Issue for a given key.
func (a *Authority) IssueFor(t, issuer *x509.Certificate, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	parent, signer := t, key
	if issuer != nil {
		if parent, signer = issuer, a.Key(issuer); signer == nil {
			return nil, fmt.Errorf("%s was not issued here", issuer.Subject.CommonName)
		}
	}
	if t.SerialNumber == nil {
		a.serial++
		t.SerialNumber = big.NewInt(a.serial)
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", t.Subject.CommonName, err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", t.Subject.CommonName, err)
	}
	a.keys[string(c.Raw)] = key
	return c, nil
}

// path issues certificates from a root down and returns them lowest first.
func (a *Authority) path(names ...string) ([]*x509.Certificate, error) {
	var path []*x509.Certificate
	var issuer *x509.Certificate
	for _, name := range names {
		c, err := a.Issue(CATemplate(name), issuer)
		if err != nil {
			return nil, err
		}
		path, issuer = append([]*x509.Certificate{c}, path...), c
	}
	return path, nil
}
