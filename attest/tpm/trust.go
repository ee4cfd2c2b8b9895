package tpm

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gantry-market/gantry/attest"
)

// Names of checks in a verifier's [attest.Result].
const (
	CheckFormat      = "format"
	CheckEKChain     = "endorsement key certificate"
	CheckRevocation  = "endorsement key revocation"
	CheckAK          = "attestation key"
	CheckActivation  = "credential activation"
	CheckSignature   = "quote signature"
	CheckFreshness   = "quote freshness"
	CheckHierarchy   = "attestation key hierarchy"
	CheckSelection   = "PCR selection"
	CheckDigest      = "PCR digest"
	CheckPCRPolicy   = "PCR policy"
	CheckLog         = "event log"
	CheckSecureBoot  = "secure boot state"
	CheckBootCounter = "clock and boot counters"
)

// Trust says which TPMs are believed to be real.
type Trust struct {
	// Roots are the manufacturers' root certificates. Nil trusts none.
	Roots *x509.CertPool
	// Intermediates are their other certificates, so that evidence need not carry them.
	Intermediates *x509.CertPool
	// Algorithms of endorsement keys that are accepted; none means RSA 2048 alone. A TPM has one key of each, and each
	// has its own identity, so every algorithm more is one identity more per TPM.
	Algorithms []EKAlgorithm
	// Collateral supplies revocation lists: see [CRLKey]. May be nil.
	Collateral attest.Collateral
	// RequireRevocation refuses chains with a certificate whose issuer's revocation list was not supplied.
	RequireRevocation bool
}

// check verifies an endorsement key's certificate and notes what was done.
func (t Trust) check(r *attest.Result, ek EK, extra [][]byte, now time.Time) error {
	accepted := t.Algorithms
	if len(accepted) == 0 {
		accepted = []EKAlgorithm{EKRSA2048}
	}
	if !slices.Contains(accepted, ek.Algorithm) {
		return r.Fail(CheckEKChain, attest.ErrPolicy, "endorsement key of kind %s, the policy accepts %s", ek.Algorithm, join(accepted))
	}
	chain, err := ek.VerifyChain(t.Roots, t.Intermediates, extra, now)
	if err != nil {
		return fail(r, CheckEKChain, err)
	}
	r.Pass(CheckEKChain, "%s, %s, from %q", ek.describe(), ek.Algorithm, printable(chain[len(chain)-1].Subject.String()))
	missing, err := checkRevocation(chain, t.Collateral, now)
	switch {
	case err != nil:
		return fail(r, CheckRevocation, err)
	case missing > 0 && t.RequireRevocation:
		return r.Fail(CheckRevocation, attest.ErrNoCollateral, "no revocation list for %d of %d certificates", missing, len(chain)-1)
	case missing > 0:
		r.Skip(CheckRevocation, "no revocation list for %d of %d certificates", missing, len(chain)-1)
	default:
		r.Pass(CheckRevocation, "none of %d certificates is revoked", len(chain)-1)
	}
	return nil
}

// fail notes a failure that an error describes.
func fail(r *attest.Result, name string, err error) error {
	r.Checks = append(r.Checks, attest.Check{Name: name, Outcome: attest.Failed, Detail: err.Error()})
	return fmt.Errorf("%s: %w", name, err)
}

func join(algorithms []EKAlgorithm) string {
	names := make([]string, len(algorithms))
	for i, a := range algorithms {
		names[i] = a.String()
	}
	return strings.Join(names, ", ")
}
