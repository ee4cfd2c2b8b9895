package snp

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/google/go-sev-guest/abi"
	"github.com/google/go-sev-guest/kds"
	spb "github.com/google/go-sev-guest/proto/sevsnp"
	"github.com/google/go-sev-guest/verify/trust"
)

// Product lines that this package reads rightly.
const (
	Milan = "Milan"
	Genoa = "Genoa"
)

// ProductRoot is what a product line's chains end in.
type ProductRoot struct {
	// ARK is the self-signed root: trusted.
	ARK *x509.Certificate
	// ASK and ASVK are the intermediates of VCEKs and VLEKs, used where the evidence brings none. ASVK may be nil.
	ASK, ASVK *x509.Certificate
}

// Roots are the trusted roots by product line.
type Roots map[string]ProductRoot

// PinnedRoots are AMD's, as published at kdsintf.amd.com and embedded in go-sev-guest. A test of this package pins
// their fingerprints a second time.
func PinnedRoots() (Roots, error) {
	roots := Roots{}
	for _, line := range []struct {
		name       string
		vcek, vlek []byte
	}{
		{Milan, trust.AskArkMilanVcekBytes, trust.AskArkMilanVlekBytes},
		{Genoa, trust.AskArkGenoaVcekBytes, trust.AskArkGenoaVlekBytes},
	} {
		ask, ark, err := parseBundle(line.vcek)
		if err != nil {
			return nil, fmt.Errorf("AMD's certificates for %s: %w", line.name, err)
		}
		asvk, ark2, err := parseBundle(line.vlek)
		if err != nil {
			return nil, fmt.Errorf("AMD's VLEK certificates for %s: %w", line.name, err)
		}
		if !ark.Equal(ark2) {
			return nil, fmt.Errorf("AMD's certificates for %s name two roots", line.name)
		}
		roots[line.name] = ProductRoot{ARK: ark, ASK: ask, ASVK: asvk}
	}
	return roots, nil
}

// parseBundle reads an intermediate and its root in PEM, the form of AMD's cert_chain endpoint.
func parseBundle(b []byte) (intermediate, root *x509.Certificate, err error) {
	var certs []*x509.Certificate
	for {
		block, rest := pem.Decode(b)
		if block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, nil, err
		}
		certs, b = append(certs, c), rest
	}
	if len(certs) != 2 {
		return nil, nil, fmt.Errorf("%d certificates, want an intermediate and a root", len(certs))
	}
	return certs[0], certs[1], nil
}

// product is the line that a report belongs to: its own field from version 3 on, else that of the endorsement
// certificate. Both are signed, which [Verify] checks.
func (r *Report) product(c *Chain) (string, error) {
	if fms := r.proto.GetCpuid1EaxFms(); fms != 0 {
		if _, ok := kds.ProductLineCpuid[fms&^0xf]; !ok {
			return "", malformed("processor with CPUID 0x%08x is of no known product line", fms)
		}
		return kds.ProductLineFromFms(fms), nil
	}
	if r.proto.GetVersion() >= abi.ReportVersion3 {
		return "", malformed("a report of version %d names its processor, this one does not", r.proto.GetVersion())
	}
	x, err := kds.CertificateExtensions(c.Endorsement, c.Signer)
	if err != nil {
		return "", malformed("endorsement certificate: %v", err)
	}
	p, err := kds.ParseProductName(x.ProductName, c.Signer)
	if err != nil {
		return "", malformed("endorsement certificate: %v", err)
	}
	return kds.ProductLine(p), nil
}

// attestation is the library's form of report and chain.
func (r *Report) attestation(c *Chain) *spb.Attestation {
	chain := &spb.CertificateChain{}
	if c.Signer == abi.VlekReportSigner {
		chain.VlekCert = c.Endorsement.Raw
	} else {
		chain.VcekCert = c.Endorsement.Raw
	}
	return &spb.Attestation{Report: r.proto, CertificateChain: chain}
}
