package nvgpu

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/gantry-market/gantry/attest"
)

const (
	maxOCSPSize = 16 << 10
	maxCRLSize  = 1 << 20
)

// CRLKey is the collateral key of the revocation list that a certificate's holder issues: "nvgpu/crl/" and the sha256
// of the issuer's certificate in lower-case hexadecimal. The content is one X.509 CRL, DER.
func CRLKey(issuer *x509.Certificate) string {
	return fmt.Sprintf("nvgpu/crl/%x", sha256.Sum256(issuer.Raw))
}

// OCSPKey is the collateral key of an OCSP response about a certificate: "nvgpu/ocsp/" and the sha256 of the
// certificate in lower-case hexadecimal. The content is one OCSPResponse, DER.
func OCSPKey(c *x509.Certificate) string {
	return fmt.Sprintf("nvgpu/ocsp/%x", sha256.Sum256(c.Raw))
}

// checkRevoked looks at what there is about a certificate. sources says what was found, "" if nothing; err is not nil
// if it is revoked, or if what was supplied cannot be relied on.
func checkRevoked(c, issuer *x509.Certificate, col attest.Collateral, now time.Time, maxAge time.Duration) (sources string, err error) {
	list, err := get(col, CRLKey(issuer), maxCRLSize)
	if err != nil {
		return "", err
	}
	if list != nil {
		if err := checkCRL(list, c, issuer, now, maxAge); err != nil {
			return "", fmt.Errorf("%s: %w", name(c), err)
		}
		sources = "CRL"
	}
	response, err := get(col, OCSPKey(c), maxOCSPSize)
	if err != nil {
		return "", err
	}
	if response != nil {
		if err := checkOCSP(response, c, issuer, now, maxAge); err != nil {
			return "", fmt.Errorf("%s: %w", name(c), err)
		}
		if sources += "OCSP"; list != nil {
			sources = "CRL and OCSP"
		}
	}
	return sources, nil
}

// get returns nil for what was not supplied.
func get(col attest.Collateral, key string, limit int) ([]byte, error) {
	if col == nil {
		return nil, nil
	}
	data, err := col.Get(key)
	if errors.Is(err, attest.ErrNoCollateral) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("collateral %s: %w", key, err)
	}
	if len(data) == 0 || len(data) > limit {
		return nil, malformed("collateral "+key, "%d bytes, want 1 to %d", len(data), limit)
	}
	return data, nil
}

func checkCRL(data []byte, c, issuer *x509.Certificate, now time.Time, maxAge time.Duration) error {
	list, err := x509.ParseRevocationList(data)
	if err != nil {
		return malformed("revocation list", "%v", err)
	}
	if !bytes.Equal(list.RawIssuer, issuer.RawSubject) || issuer.KeyUsage&x509.KeyUsageCRLSign == 0 {
		return untrusted("revocation list of %q, not of %s", list.Issuer, name(issuer))
	}
	if err := list.CheckSignatureFrom(issuer); err != nil {
		return untrusted("revocation list is not signed by %s: %v", name(issuer), err)
	}
	for _, e := range list.Extensions {
		// A critical extension narrows what the list covers: a delta, or a part.
		if e.Critical {
			return untrusted("revocation list with the unknown critical extension %v", e.Id)
		}
	}
	if err := fresh("revocation list", list.ThisUpdate, list.NextUpdate, now, maxAge); err != nil {
		return err
	}
	for _, e := range list.RevokedCertificateEntries {
		if e.SerialNumber.Cmp(c.SerialNumber) == 0 {
			return untrusted("revoked on %s (reason %d) by its issuer's list", day(e.RevocationTime), e.ReasonCode)
		}
	}
	return nil
}

func checkOCSP(data []byte, c, issuer *x509.Certificate, now time.Time, maxAge time.Duration) error {
	// The library checks the signature, and that an embedded certificate is signed by the issuer; not what it is for.
	r, err := ocsp.ParseResponseForCert(data, c, issuer)
	if err != nil {
		return untrusted("OCSP response: %v", err)
	}
	if err := checkResponder(r.Certificate, issuer, now); err != nil {
		return err
	}
	if err := fresh("OCSP response", r.ThisUpdate, r.NextUpdate, now, maxAge); err != nil {
		return err
	}
	switch r.Status {
	case ocsp.Good:
		return nil
	case ocsp.Revoked:
		return untrusted("revoked on %s (reason %d) by OCSP", day(r.RevokedAt), r.RevocationReason)
	}
	return untrusted("OCSP does not know it")
}

// checkResponder makes sure that a certificate in a response was issued for signing responses (RFC 6960, 4.2.2.2), or
// is the issuer's own.
func checkResponder(c, issuer *x509.Certificate, now time.Time) error {
	if c == nil || c.Equal(issuer) {
		return nil
	}
	switch {
	case !bytes.Equal(c.RawIssuer, issuer.RawSubject):
		return untrusted("OCSP responder %s was issued by %q", name(c), c.Issuer)
	case !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning):
		return untrusted("OCSP response by %s, which is not for signing responses", name(c))
	case len(c.UnhandledCriticalExtensions) != 0:
		return untrusted("OCSP responder %s has an unknown critical extension", name(c))
	case now.Before(c.NotBefore) || now.After(c.NotAfter):
		return fmt.Errorf("OCSP responder %s is valid from %s to %s: %w", name(c), day(c.NotBefore), day(c.NotAfter), attest.ErrStale)
	}
	return nil
}

// fresh refuses what is from the future, out of date, or, without a date for the next one, too old.
func fresh(what string, this, next, now time.Time, maxAge time.Duration) error {
	if next.IsZero() {
		next = this.Add(maxAge)
	}
	if now.Before(this) || now.After(next) {
		return fmt.Errorf("%s is valid from %s to %s, not at %s: %w", what, this.UTC().Format(time.RFC3339), next.UTC().Format(time.RFC3339),
			now.UTC().Format(time.RFC3339), attest.ErrStale)
	}
	return nil
}
