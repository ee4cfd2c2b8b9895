package snptest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"strings"

	"github.com/google/go-sev-guest/abi"
	"github.com/google/go-sev-guest/kds"
	"github.com/google/go-sev-guest/testing/data"
)

// certify makes the chain ARK → ASK or ASVK → VCEK or VLEK in the form of AMD 57230.
func (m *Machine) certify() (err error) {
	if m.ark, err = m.authority("ARK-"+m.line(), 101, abi.VcekReportSigner, nil, data.ARKPrivateKey.Public(), data.ARKPrivateKey); err != nil {
		return err
	}
	if m.ask, err = m.authority("SEV-"+m.line(), 102, abi.VcekReportSigner, m.ark, data.ASKPrivateKey.Public(), data.ARKPrivateKey); err != nil {
		return err
	}
	if m.asvk, err = m.authority("SEV-VLEK-"+m.line(), 103, abi.VlekReportSigner, m.ark, data.ASVKPrivateKey.Public(), data.ARKPrivateKey); err != nil {
		return err
	}
	exts, err := m.extensions()
	if err != nil {
		return err
	}
	parent, key := m.ask, data.ASKPrivateKey
	if m.signer == abi.VlekReportSigner {
		parent, key = m.asvk, data.ASVKPrivateKey
	}
	m.endorsement, err = sign(&x509.Certificate{
		SignatureAlgorithm: x509.SHA384WithRSAPSS, Subject: name("SEV-" + m.signer.String()), SerialNumber: big.NewInt(m.endorsementSerialNum),
		NotBefore: m.notBefore, NotAfter: m.notAfter, ExtraExtensions: exts,
	}, parent, m.endorsementKey.Public(), key)
	return err
}

func (m *Machine) authority(cn string, serial int64, list abi.ReportSigner, parent *x509.Certificate, pub crypto.PublicKey, key *rsa.PrivateKey) (*x509.Certificate, error) {
	return sign(&x509.Certificate{
		SignatureAlgorithm: x509.SHA384WithRSAPSS, Subject: name(cn), SerialNumber: big.NewInt(serial),
		NotBefore: m.notBefore, NotAfter: m.notAfter, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, CRLDistributionPoints: []string{kds.CrlLinkByKey(m.line(), list)},
	}, parent, pub, key)
}

func sign(template, parent *x509.Certificate, pub crypto.PublicKey, key *rsa.PrivateKey) (*x509.Certificate, error) {
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, pub, key)
	if err != nil {
		return nil, fmt.Errorf("simulated certificate %q: %w", template.Subject.CommonName, err)
	}
	return x509.ParseCertificate(der)
}

func name(cn string) pkix.Name {
	return pkix.Name{
		Organization: []string{"Advanced Micro Devices"}, Country: []string{"US"}, OrganizationalUnit: []string{"Engineering"},
		Locality: []string{"Santa Clara"}, Province: []string{"CA"}, CommonName: cn,
	}
}

// extensions are those of AMD 57230, tables 8 and 9: the product, the TCB's components, and the chip or the provider.
func (m *Machine) extensions() (exts []pkix.Extension, err error) {
	add := func(id asn1.ObjectIdentifier, value any, params string) {
		b, e := asn1.MarshalWithParams(value, params)
		if e != nil && err == nil {
			err = e
		}
		exts = append(exts, pkix.Extension{Id: id, Value: b})
	}
	product := m.product
	if m.signer == abi.VlekReportSigner {
		product, _, _ = strings.Cut(product, "-")
	}
	add(kds.OidStructVersion, 0, "")
	add(kds.OidProductName1, product, "ia5")
	for _, c := range []struct {
		id asn1.ObjectIdentifier
		n  uint8
	}{
		{kds.OidBlSpl, m.tcb.Bootloader},
		{kds.OidTeeSpl, m.tcb.TEE},
		{kds.OidSnpSpl, m.tcb.SNP},
		{kds.OidUcodeSpl, m.tcb.Microcode},
		{kds.OidSpl4, 0},
		{kds.OidSpl5, 0},
		{kds.OidSpl6, 0},
		{kds.OidSpl7, 0},
	} {
		add(c.id, int(c.n), "")
	}
	if m.signer == abi.VlekReportSigner {
		add(kds.OidCspID, "simulated provider", "ia5")
	} else {
		add(kds.OidHwid, m.chip[:], "")
	}
	return exts, err
}
