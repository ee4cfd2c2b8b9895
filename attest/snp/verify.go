package snp

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/attest"
	"github.com/google/go-sev-guest/abi"
	"github.com/google/go-sev-guest/kds"
	sevverify "github.com/google/go-sev-guest/verify"
	"github.com/google/go-sev-guest/verify/trust"
)

// Trusted is a report whose signature leads to a trusted root. Only [Verify] makes one.
type Trusted struct {
	Report  *Report
	Chain   *Chain
	Product string
	root    ProductRoot
	ask     *x509.Certificate
}

// Verify follows the report's signature through the endorsement certificate and the intermediate to the product line's
// root, at a time. Errors wrap [attest.ErrUntrusted], [attest.ErrStale] for a certificate outside its validity, or
// [attest.ErrMalformed]. It reads no policy and no revocation list.
func Verify(r *Report, c *Chain, roots Roots, now time.Time) (*Trusted, error) {
	if c.Signer != r.signer.SigningKey {
		return nil, malformed("the report is signed with a %v, the evidence has a %v", r.signer.SigningKey, c.Signer)
	}
	product, err := r.product(c)
	if err != nil {
		return nil, err
	}
	root, ok := roots[product]
	if !ok {
		return nil, fmt.Errorf("no root is pinned for product line %q: %w", product, attest.ErrUntrusted)
	}
	t := &Trusted{Report: r, Chain: c, Product: product, root: root, ask: root.ASK}
	if c.Signer == abi.VlekReportSigner {
		t.ask = root.ASVK
	}
	if c.ASK != nil {
		t.ask = c.ASK
	}
	if t.ask == nil {
		return nil, fmt.Errorf("no intermediate certificate for a %v: %w", c.Signer, attest.ErrUntrusted)
	}
	if !bytes.Equal(t.ask.RawIssuer, root.ARK.RawSubject) {
		return nil, fmt.Errorf("the intermediate certificate is of issuer %q, not of the pinned root %q: %w", t.ask.Issuer.CommonName,
			root.ARK.Subject.CommonName, attest.ErrUntrusted)
	}
	if err := t.ask.CheckSignatureFrom(root.ARK); err != nil {
		return nil, fmt.Errorf("the intermediate certificate is not signed by the pinned root %q: %w (%w)", root.ARK.Subject.CommonName,
			attest.ErrUntrusted, err)
	}
	for _, cert := range []*x509.Certificate{root.ARK, t.ask, c.Endorsement} {
		if now.Before(cert.NotBefore) || now.After(cert.NotAfter) {
			return nil, fmt.Errorf("certificate %q is valid from %s to %s, not at %s: %w", cert.Subject.CommonName,
				cert.NotBefore.UTC().Format(time.DateOnly), cert.NotAfter.UTC().Format(time.DateOnly), now.UTC().Format(time.DateOnly), attest.ErrStale)
		}
	}
	if err := sevverify.SnpAttestation(r.attestation(c), t.options(now)); err != nil {
		return nil, fmt.Errorf("%w: %w", attest.ErrUntrusted, err)
	}
	return t, t.checkChip()
}

func (t *Trusted) options(now time.Time) *sevverify.Options {
	root := trust.AMDRootCertsProduct(t.Product)
	root.ProductCerts = &trust.ProductCerts{Ark: t.root.ARK}
	if t.Chain.Signer == abi.VlekReportSigner {
		root.ProductCerts.Asvk = t.ask
	} else {
		root.ProductCerts.Ask = t.ask
	}
	return &sevverify.Options{
		DisableCertFetching: true, Now: now,
		TrustedRoots: map[string][]*trust.AMDRootCerts{t.Product: {root}},
	}
}

// checkChip compares the chip that the report names with the one that the VCEK was issued to.
func (t *Trusted) checkChip() error {
	chip := t.Report.ChipID()
	if t.Chain.Signer != abi.VcekReportSigner || allZero(chip[:]) {
		return nil
	}
	x, err := kds.VcekCertificateExtensions(t.Chain.Endorsement)
	if err != nil {
		return malformed("VCEK: %v", err)
	}
	if !bytes.Equal(x.HWID, chip[:]) {
		return fmt.Errorf("the VCEK was issued to another chip than the report names: %w", attest.ErrUntrusted)
	}
	return nil
}

// CollateralCRL is the key under which [attest.Collateral] has the revocation list of a product line, DER, as AMD
// publishes it at kdsintf.amd.com/vcek/v1/PRODUCT/crl.
func CollateralCRL(product string) string { return "snp/crl/" + product }

// maxCRL bounds a revocation list. AMD's are under 1 KiB.
const maxCRL = 1 << 20

// CheckRevocation reads a revocation list that the root must have signed, and looks for the intermediate and the
// endorsement certificate. Errors wrap [attest.ErrMalformed], [attest.ErrUntrusted] or, outside the list's own period,
// [attest.ErrStale].
func (t *Trusted) CheckRevocation(der []byte, now time.Time) error {
	if len(der) > maxCRL {
		return malformed("a revocation list of %d bytes", len(der))
	}
	crl, err := x509.ParseRevocationList(der)
	if err != nil {
		return malformed("revocation list: %v", err)
	}
	if !bytes.Equal(crl.RawIssuer, t.root.ARK.RawSubject) {
		return fmt.Errorf("the revocation list is of issuer %q, not of the pinned root: %w", crl.Issuer.CommonName, attest.ErrUntrusted)
	}
	if err := crl.CheckSignatureFrom(t.root.ARK); err != nil {
		return fmt.Errorf("the revocation list is not signed by the pinned root: %w (%w)", attest.ErrUntrusted, err)
	}
	if now.Before(crl.ThisUpdate) || now.After(crl.NextUpdate) {
		return fmt.Errorf("the revocation list is of %s and ends at %s: %w", crl.ThisUpdate.UTC().Format(time.DateOnly),
			crl.NextUpdate.UTC().Format(time.DateOnly), attest.ErrStale)
	}
	for _, bad := range crl.RevokedCertificateEntries {
		for _, cert := range []*x509.Certificate{t.ask, t.Chain.Endorsement} {
			// AMD gives all VCEKs the serial number 0: in a list it would name none of them.
			if cert.SerialNumber.Sign() != 0 && cert.SerialNumber.Cmp(bad.SerialNumber) == 0 {
				return fmt.Errorf("certificate %q was revoked on %s: %w", cert.Subject.CommonName,
					bad.RevocationTime.UTC().Format(time.DateOnly), attest.ErrUntrusted)
			}
		}
	}
	return nil
}
