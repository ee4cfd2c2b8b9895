package tdx

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/attest"
)

// CheckRevocation looks for the PCK certificate in its CA's list, and for that CA and the signer of the collateral in
// the root's list. Errors wrap [attest.ErrNoCollateral], [attest.ErrMalformed], [attest.ErrStale] for a list outside
// its period, or [attest.ErrUntrusted].
func (t *Trusted) CheckRevocation(c attest.Collateral, now time.Time) error {
	in, err := t.collect(c)
	if err != nil {
		return err
	}
	pck, err := getList(c, CollateralPCKCRL, t.Quote.ca, now)
	if err != nil {
		return err
	}
	root, err := getList(c, CollateralRootCRL, t.root, now)
	if err != nil {
		return err
	}
	for _, look := range []struct {
		list *x509.RevocationList
		cert *x509.Certificate
	}{{pck, t.Quote.pck}, {root, t.Quote.ca}, {root, in.signer}} {
		for _, bad := range look.list.RevokedCertificateEntries {
			if bad.SerialNumber.Cmp(look.cert.SerialNumber) == 0 {
				return fmt.Errorf("certificate %q was revoked on %s: %w", look.cert.Subject.CommonName, day(bad.RevocationTime), attest.ErrUntrusted)
			}
		}
	}
	return nil
}

// getList reads a revocation list that a certificate must have signed.
func getList(c attest.Collateral, key string, issuer *x509.Certificate, now time.Time) (*x509.RevocationList, error) {
	b, err := get(c, key)
	if err != nil {
		return nil, err
	}
	list, err := x509.ParseRevocationList(b)
	if err != nil {
		return nil, malformed("collateral %q: %v", key, err)
	}
	if !bytes.Equal(list.RawIssuer, issuer.RawSubject) {
		return nil, fmt.Errorf("collateral %q is of issuer %q, not %q: %w", key, list.Issuer.CommonName, issuer.Subject.CommonName, attest.ErrUntrusted)
	}
	if err := list.CheckSignatureFrom(issuer); err != nil {
		return nil, fmt.Errorf("collateral %q is not signed by %q: %w (%w)", key, issuer.Subject.CommonName, attest.ErrUntrusted, err)
	}
	if now.Before(list.ThisUpdate) || now.After(list.NextUpdate) {
		return nil, fmt.Errorf("collateral %q is of %s and ends at %s: %w", key, day(list.ThisUpdate), day(list.NextUpdate), attest.ErrStale)
	}
	return list, nil
}
