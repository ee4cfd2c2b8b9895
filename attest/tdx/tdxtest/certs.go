package tdxtest

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"math/big"

	"github.com/google/go-tdx-guest/pcs"
)

const rootCRL = "https://certificates.trustedservices.intel.com/IntelSGXRootCA.der"

// certify makes root, platform CA, PCK certificate and TCB signer in the form of Intel's "SGX PCK Certificate and CRL
// Profile Specification".
func (p *Platform) certify() (err error) {
	if p.root, err = p.sign("Intel SGX Root CA", 1, true, nil, nil, &p.rootKey.PublicKey, p.rootKey); err != nil {
		return err
	}
	if p.ca, err = p.sign("Intel SGX PCK Platform CA", 2, true, nil, p.root, &p.caKey.PublicKey, p.rootKey); err != nil {
		return err
	}
	if p.tcb, err = p.sign("Intel SGX TCB Signing", 3, false, nil, p.root, &p.tcbKey.PublicKey, p.rootKey); err != nil {
		return err
	}
	sgx, err := sgxExtension()
	if err != nil {
		return err
	}
	p.pck, err = p.sign("Intel SGX PCK Certificate", 4, false, []pkix.Extension{sgx}, p.ca, &p.pckKey.PublicKey, p.caKey)
	return err
}

// AnotherRoot is a second certificate of the root's key and name.
func (p *Platform) AnotherRoot() (*x509.Certificate, error) {
	return p.sign(p.root.Subject.CommonName, 99, true, nil, nil, &p.rootKey.PublicKey, p.rootKey)
}

func (p *Platform) sign(cn string, serial int64, ca bool, extra []pkix.Extension, parent *x509.Certificate, pub *ecdsa.PublicKey, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	spki, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return nil, err
	}
	id := sha256.Sum256(spki)
	template := &x509.Certificate{
		Subject: pkix.Name{
			CommonName: cn, Organization: []string{"Intel Corporation"}, Locality: []string{"Santa Clara"}, Province: []string{"CA"}, Country: []string{"US"},
		},
		SerialNumber: big.NewInt(serial), NotBefore: p.from, NotAfter: p.to, SignatureAlgorithm: x509.ECDSAWithSHA256, IsCA: ca,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment, SubjectKeyId: id[:20],
		CRLDistributionPoints: []string{rootCRL}, ExtraExtensions: extra,
	}
	if ca {
		template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	}
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, pub, key)
	if err != nil {
		return nil, fmt.Errorf("simulated certificate %q: %w", cn, err)
	}
	return x509.ParseCertificate(der)
}

type field struct {
	ID    asn1.ObjectIdentifier
	Value any
}

// sgxExtension says what platform the PCK certificate is for.
func sgxExtension() (pkix.Extension, error) {
	id, err := hex.DecodeString(fmspc)
	if err != nil {
		return pkix.Extension{}, err
	}
	svns := make([]field, 0, 18)
	for i := range 16 {
		svns = append(svns, field{append(append(asn1.ObjectIdentifier(nil), pcs.OidTCB...), i+1), cpuSVN(i)})
	}
	svns = append(svns, field{pcs.OidPCESvn, pceSVN}, field{pcs.OidCPUSvn, make([]byte, 16)})
	ppid := sha256.Sum256([]byte("simulated platform"))
	b, err := asn1.Marshal([]field{
		{pcs.OidPPID, ppid[:16]},
		{pcs.OidTCB, svns},
		{pcs.OidPCEID, []byte{0, 0}},
		{pcs.OidFMSPC, id},
	})
	return pkix.Extension{Id: pcs.OidSgxExtension, Value: b}, err
}

func cpuSVN(i int) int {
	if i < 2 {
		return 5
	}
	return 0
}
