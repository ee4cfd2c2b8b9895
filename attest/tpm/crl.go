package tpm

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/attest"
)

// CRLKey is the [attest.Collateral] key of an authority's revocation list (DER): "tpm/crl/" and the hash of the
// authority's public key, sha256(SubjectPublicKeyInfo), in hexadecimal.
func CRLKey(issuer *x509.Certificate) string {
	sum := sha256.Sum256(issuer.RawSubjectPublicKeyInfo)
	return "tpm/crl/" + hex.EncodeToString(sum[:])
}

// checkRevocation looks every certificate of a verified chain up in its issuer's list. It returns how many of the
// certificates no list was supplied for.
func checkRevocation(chain []*x509.Certificate, c attest.Collateral, now time.Time) (missing int, err error) {
	for i, cert := range chain[:len(chain)-1] {
		if c == nil {
			missing++
			continue
		}
		issuer := chain[i+1]
		der, err := c.Get(CRLKey(issuer))
		if errors.Is(err, attest.ErrNoCollateral) {
			missing++
			continue
		}
		if err != nil {
			return missing, fmt.Errorf("revocation list of %q: %w", issuer.Subject, err)
		}
		if err := checkList(cert, issuer, der, now); err != nil {
			return missing, err
		}
	}
	return missing, nil
}

func checkList(cert, issuer *x509.Certificate, der []byte, now time.Time) error {
	list, err := x509.ParseRevocationList(der)
	if err != nil {
		return fmt.Errorf("revocation list of %q: %w: %w", issuer.Subject, err, attest.ErrMalformed)
	}
	if err := list.CheckSignatureFrom(issuer); err != nil {
		return fmt.Errorf("revocation list of %q: %w: %w", issuer.Subject, err, attest.ErrUntrusted)
	}
	if now.Before(list.ThisUpdate) || list.NextUpdate.IsZero() || now.After(list.NextUpdate) {
		return fmt.Errorf("revocation list of %q is for %s to %s: %w", issuer.Subject, list.ThisUpdate.UTC().Format(time.RFC3339),
			list.NextUpdate.UTC().Format(time.RFC3339), attest.ErrStale)
	}
	for _, entry := range list.RevokedCertificateEntries {
		if entry.SerialNumber.Cmp(cert.SerialNumber) == 0 {
			return fmt.Errorf("certificate %x of %q was revoked at %s: %w", cert.SerialNumber, issuer.Subject,
				entry.RevocationTime.UTC().Format(time.RFC3339), attest.ErrUntrusted)
		}
	}
	return nil
}
