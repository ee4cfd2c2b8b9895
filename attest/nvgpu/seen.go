package nvgpu

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"sync"
	"time"

	"github.com/gantry-market/gantry/attest"
)

// Limits of what a verifier remembers: more than the GPUs of a machine have.
const (
	maxSignatures = 256
	maxManifests  = 32
	// maxBadManifests is how many manifests may fail: who sends what is to be compared with genuine reports must not
	// make others read megabytes of XML.
	maxBadManifests = 2
)

// seen is what one verifier has verified: GPUs of a machine share manifests and the upper part of their chains. The zero
// value is ready to use, by several goroutines.
type seen struct {
	mu         sync.Mutex
	signatures map[[32]byte]bool
	manifests  map[[32]byte]*RIM
	bad        map[[32]byte]bool
}

// signedBy is c.CheckSignatureFrom(issuer), once. Validity is not a matter of the signature.
func (s *seen) signedBy(c, issuer *x509.Certificate) error {
	a, b := sha256.Sum256(c.Raw), sha256.Sum256(issuer.Raw)
	pair := sha256.Sum256(append(a[:], b[:]...))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signatures[pair] {
		return nil
	}
	if err := c.CheckSignatureFrom(issuer); err != nil {
		return err
	}
	if s.signatures == nil {
		s.signatures = map[[32]byte]bool{}
	}
	if len(s.signatures) < maxSignatures {
		s.signatures[pair] = true
	}
	return nil
}

// manifest is r.VerifyRIM(data, now), once for the same data and time.
func (s *seen) manifest(data []byte, now time.Time, r Roots) (*RIM, error) {
	h := sha256.Sum256(data)
	key := sha256.Sum256(fmt.Appendf(bytes.Clone(h[:]), "%d", now.UnixNano()))
	s.mu.Lock()
	rim, refused := s.manifests[key], len(s.bad) >= maxBadManifests && !s.bad[h]
	s.mu.Unlock()
	switch {
	case rim != nil:
		return rim, nil
	case refused:
		return nil, fmt.Errorf("%d other manifests have failed: %w", maxBadManifests, attest.ErrUntrusted)
	}
	rim, err := r.verifyRIM(data, now, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.manifests == nil {
		s.manifests, s.bad = map[[32]byte]*RIM{}, map[[32]byte]bool{}
	}
	switch {
	case err != nil:
		s.bad[h] = true
		return nil, err
	case len(s.manifests) < maxManifests:
		s.manifests[key] = rim
	}
	return rim, nil
}
