package evidence

import (
	"crypto"
	"crypto/ed25519"
	"fmt"
	"io"
	"time"

	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/sdk/records"
)

// enrolAgain is how long an enrolment serves before the TPM is asked to show itself anew.
const enrolAgain = 24 * time.Hour

// enrolment is a TPM that this keeper saw at work, with the keeper's signed statement about it.
type enrolment struct {
	tpm.Enrolment
	statement []byte
}

// openEnroller prepares enrolling TPMs, if the policy trusts any.
func (s *Service) openEnroller() error {
	trust, why, err := policy.TPMTrust(s.policy, bundle.NewRecorder(s.sources...))
	if err != nil {
		return err
	}
	if why == "" {
		s.enroller = tpm.NewEnroller(tpm.EnrolOptions{Trust: trust})
	}
	return nil
}

// WantsTPM reports whether a node should be asked to enrol its TPM now: the policy trusts some, and this keeper has no
// recent enrolment of the node's.
func (s *Service) WantsTPM(subject tpm.Subject, now time.Time) bool {
	if s.enroller == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.enrolled[subject]
	return !ok || now.Sub(e.Seen) > enrolAgain
}

// Enrol begins an enrolment: the credential goes to the node, and what comes back of it to finish. Errors: those of
// tpm.Enroller.
func (s *Service) Enrol(subject tpm.Subject, request tpm.Request, now time.Time) (tpm.Credential, func(secret []byte, signer records.Signer, now time.Time) error, error) {
	challenge, err := s.enroller.Challenge(subject, request, now)
	if err != nil {
		return tpm.Credential{}, nil, err
	}
	return challenge.Credential, func(secret []byte, signer records.Signer, now time.Time) error {
		seen, err := s.enroller.Finish(subject, challenge.ID, secret, now)
		if err != nil {
			return err
		}
		statement, err := seen.Sign(cryptoSigner{signer})
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.enrolled[subject] = enrolment{seen, statement.Encode()}
		return nil
	}, nil
}

// Statement is this keeper's signed statement about a node's TPM, nil without one.
func (s *Service) Statement(subject tpm.Subject) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enrolled[subject].statement
}

// lookup finds an enrolment by the attestation key's name. The service is locked.
func (s *Service) lookup(subject tpm.Subject) func(tpm.Name) (tpm.Enrolment, bool) {
	e, ok := s.enrolled[subject]
	return func(ak tpm.Name) (tpm.Enrolment, bool) { return e.Enrolment, ok && e.AK == ak }
}

// forget drops an enrolment that was not accepted, so that the TPM is enrolled again.
func (s *Service) forget(subject tpm.Subject) { delete(s.enrolled, subject) }

// cryptoSigner makes a keeper's signer one of package crypto.
type cryptoSigner struct{ s records.Signer }

func (c cryptoSigner) Public() crypto.PublicKey {
	key := c.s.PublicKey()
	return ed25519.PublicKey(key[:])
}

func (c cryptoSigner) Sign(_ io.Reader, message []byte, opts crypto.SignerOpts) ([]byte, error) {
	if opts.HashFunc() != 0 {
		return nil, fmt.Errorf("ed25519 signs messages, not hashes of %v", opts.HashFunc())
	}
	sig, err := c.s.Sign(message)
	return sig[:], err
}
