package tpmtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"time"

	"github.com/gantry-market/gantry/attest/tpm"
)

const validity = 24 * time.Hour

// Maker is a manufacturer of TPMs: a root and the authority below it that signs endorsement key certificates.
type Maker struct {
	Root, Issuer *x509.Certificate
	key          *ecdsa.PrivateKey
	at           time.Time
	serial       int64
}

// NewMaker makes a manufacturer whose certificates are valid for a day before and after a time.
func NewMaker(at time.Time) (*Maker, error) {
	m := &Maker{at: at, serial: 2}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make root key: %w", err)
	}
	if m.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("make issuer key: %w", err)
	}
	authority := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: at.Add(-validity), NotAfter: at.Add(validity),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		}
	}
	root := authority(1, "simulated TPM root")
	if m.Root, err = sign(root, root, rootKey.Public(), rootKey); err != nil {
		return nil, err
	}
	m.Issuer, err = sign(authority(2, "simulated TPM issuer"), m.Root, m.key.Public(), rootKey)
	return m, err
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

// Trust is a policy that believes this manufacturer alone.
func (m *Maker) Trust() tpm.Trust {
	t := tpm.Trust{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool()}
	t.Roots.AddCert(m.Root)
	t.Intermediates.AddCert(m.Issuer)
	return t
}

// RevocationList revokes endorsement key certificates, signed by the issuer, for an hour from a time on.
func (m *Maker) RevocationList(from time.Time, revoked ...*x509.Certificate) ([]byte, error) {
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: from, NextUpdate: from.Add(time.Hour)}
	for _, c := range revoked {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: c.SerialNumber, RevocationTime: from,
		})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, m.Issuer, m.key)
	if err != nil {
		return nil, fmt.Errorf("sign revocation list: %w", err)
	}
	return der, nil
}

// Certify signs a certificate as of an endorsement key; edit may change what it says.
func (m *Maker) Certify(public crypto.PublicKey, edit func(*x509.Certificate)) (*x509.Certificate, error) {
	name, err := altName()
	if err != nil {
		return nil, err
	}
	m.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(m.serial), NotBefore: m.at.Add(-validity), NotAfter: m.at.Add(validity), BasicConstraintsValid: true,
		UnknownExtKeyUsage: []asn1.ObjectIdentifier{{2, 23, 133, 8, 1}},
		// Both critical, as the profile has them where the subject is empty.
		ExtraExtensions: []pkix.Extension{
			{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Critical: true, Value: name},
			{Id: asn1.ObjectIdentifier{2, 5, 29, 9}, Critical: true, Value: directoryAttributes},
		},
	}
	if edit != nil {
		edit(template)
	}
	return sign(template, m.Issuer, public, m.key)
}

// directoryAttributes is one attribute, tPMSpecification: family "2.0", level 0, revision 164.
var directoryAttributes = []byte{
	0x30, 0x19, 0x30, 0x17, 0x06, 0x05, 0x67, 0x81, 0x05, 0x02, 0x10, 0x31, 0x0e, 0x30, 0x0c, 0x0c, 0x03, '2', '.', '0', 0x02, 0x01, 0x00,
	0x02, 0x02, 0x00, 0xa4,
}

// altName is a subject alternative name that describes a TPM.
func altName() ([]byte, error) {
	attribute := func(last int, text string) pkix.RelativeDistinguishedNameSET {
		return pkix.RelativeDistinguishedNameSET{{Type: asn1.ObjectIdentifier{2, 23, 133, 2, last}, Value: text}}
	}
	rdns, err := asn1.Marshal(pkix.RDNSequence{attribute(1, "id:53494D00"), attribute(2, "simulated"), attribute(3, "id:00010000")})
	if err != nil {
		return nil, fmt.Errorf("subject alternative name: %w", err)
	}
	return asn1.Marshal([]asn1.RawValue{{Class: asn1.ClassContextSpecific, Tag: 4, IsCompound: true, Bytes: rdns}})
}

// newKey makes an endorsement key.
func newKey(algorithm tpm.EKAlgorithm) (crypto.Signer, error) {
	switch algorithm {
	case tpm.EKP256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case tpm.EKP384:
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	}
	return rsa.GenerateKey(rand.Reader, 2048)
}
