package nvgputest

import (
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"math/big"
	"time"

	"golang.org/x/crypto/ocsp"
)

// CRL is a revocation list of issuer, valid for the day after this, with the certificates revoked.
func (a *Authority) CRL(issuer *x509.Certificate, this time.Time, revoked ...*x509.Certificate) ([]byte, error) {
	t := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: this, NextUpdate: this.Add(24 * time.Hour)}
	for _, c := range revoked {
		t.RevokedCertificateEntries = append(t.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: c.SerialNumber, RevocationTime: this, ReasonCode: 1,
		})
	}
	der, err := x509.CreateRevocationList(rand.Reader, t, issuer, a.Key(issuer))
	if err != nil {
		return nil, fmt.Errorf("revocation list of %s: %w", issuer.Subject.CommonName, err)
	}
	return der, nil
}

// OCSP is a response about a certificate, valid for the day after this: status is [ocsp.Good], [ocsp.Revoked] or
// [ocsp.Unknown]. The responder is the issuer, or another certificate of this authority.
func (a *Authority) OCSP(c, issuer, responder *x509.Certificate, status int, this time.Time) ([]byte, error) {
	t := ocsp.Response{
		Status: status, SerialNumber: c.SerialNumber, ThisUpdate: this, NextUpdate: this.Add(24 * time.Hour),
		SignatureAlgorithm: x509.ECDSAWithSHA384,
	}
	if status == ocsp.Revoked {
		t.RevokedAt, t.RevocationReason = this, ocsp.KeyCompromise
	}
	if !responder.Equal(issuer) {
		t.Certificate = responder
	}
	der, err := ocsp.CreateResponse(issuer, responder, t, a.Key(responder))
	if err != nil {
		return nil, fmt.Errorf("response about %s: %w", c.Subject.CommonName, err)
	}
	return der, nil
}
