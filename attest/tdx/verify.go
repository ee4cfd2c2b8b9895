package tdx

import (
	"bytes"
	"crypto/x509"
	_ "embed"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-tdx-guest/pcs"
	tdxverify "github.com/google/go-tdx-guest/verify"

	"github.com/gantry-market/gantry/attest"
)

// intelRoot is "Intel SGX Root CA" as published at certificates.trustedservices.intel.com.
//
//go:embed intel_sgx_root_ca.pem
var intelRoot []byte

// PinnedRoot is Intel's root of PCK certificates and of collateral.
func PinnedRoot() (*x509.Certificate, error) {
	block, rest := pem.Decode(intelRoot)
	if block == nil || len(rest) != 0 {
		return nil, errors.New("the embedded Intel root is not one PEM block")
	}
	return x509.ParseCertificate(block.Bytes)
}

// Trusted is a quote whose signatures lead to a trusted root. Only [Verify] makes one.
type Trusted struct {
	Quote *Quote
	// FMSPC names the platform's family, model, stepping and custom SKU, 12 hexadecimal digits.
	FMSPC string
	root  *x509.Certificate
	pck   *pcs.PckExtensions
}

// Verify follows the signatures at a time: trust domain and header signed by the attestation key, that key vouched for
// by the quoting enclave's report, that report signed by the PCK certificate, which leads over Intel's intermediate to
// the root. Errors wrap [attest.ErrUntrusted], [attest.ErrStale] for a certificate outside its validity, or
// [attest.ErrMalformed]. It says nothing of the platform's patch level or of revocation.
func Verify(q *Quote, root *x509.Certificate, now time.Time) (*Trusted, error) {
	if !bytes.Equal(q.sgx.Raw, root.Raw) {
		return nil, fmt.Errorf("the quote's root certificate %q is not the pinned one: %w", q.sgx.Subject.CommonName, attest.ErrUntrusted)
	}
	for _, cert := range []*x509.Certificate{root, q.ca, q.pck} {
		if now.Before(cert.NotBefore) || now.After(cert.NotAfter) {
			return nil, fmt.Errorf("certificate %q is valid from %s to %s, not at %s: %w", cert.Subject.CommonName,
				day(cert.NotBefore), day(cert.NotAfter), day(now), attest.ErrStale)
		}
	}
	t := &Trusted{Quote: q, root: root}
	// The chain goes first: the library reads the PCK certificate's extensions before it looks at who signed it.
	intermediates := x509.NewCertPool()
	intermediates.AddCert(q.ca)
	if _, err := q.pck.Verify(x509.VerifyOptions{Roots: t.pool(), Intermediates: intermediates, CurrentTime: now}); err != nil {
		return nil, fmt.Errorf("the PCK certificate does not lead to the pinned root: %w (%w)", attest.ErrUntrusted, err)
	}
	// An empty Getter would do as well: without GetCollateral the library asks for nothing.
	if err := tdxverify.TdxQuote(q.proto, &tdxverify.Options{TrustedRoots: t.pool(), Getter: noNetwork{}, Now: now}); err != nil {
		return nil, fmt.Errorf("%w: %w", attest.ErrUntrusted, err)
	}
	var err error
	if t.pck, err = pcs.PckCertificateExtensions(q.pck); err != nil {
		return nil, malformed("PCK certificate: %v", err)
	}
	t.FMSPC = t.pck.FMSPC
	return t, nil
}

func (t *Trusted) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(t.root)
	return p
}

// noNetwork answers the library's requests with an error, whatever it asks for.
type noNetwork struct{}

func (noNetwork) Get(url string) (map[string][]string, []byte, error) {
	return nil, nil, fmt.Errorf("%s: %w", url, attest.ErrNoCollateral)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
