package policy

import (
	"fmt"
	"time"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
)

// Judge is the whole way of a bundle that came from a node: it must answer the challenge, the standard verifiers of the
// policy look at it with the collateral of the sources, and what they used of it replaces the collateral that the node
// sent. The bundle that comes back is what an auditor needs; its hash is the claims' evidence hash. The errors are
// those of [Evaluate], ErrDocument for the policy, and attest.ErrStale for an answer to another challenge.
//
// Sources are asked in order. Collateral that the node sent is asked last: it is signed by those who made it or pinned
// by its hash, so that all a node can do with it is to supply an older one that is still valid.
func Judge(b *bundle.Bundle, p Policy, s Subject, now time.Time, sources ...attest.Collateral) (Claims, *bundle.Bundle, error) {
	if b.Challenge != s.Challenge {
		var c Claims
		err := c.Bundle.Fail("challenge", attest.ErrStale, "the bundle answers another challenge")
		c.Verdict = Unproven
		return c, b, err
	}
	recorder := bundle.NewRecorder(append(append([]attest.Collateral(nil), sources...), b)...)
	verifiers, err := Standard(p, recorder, s)
	if err != nil {
		return Claims{}, b, err
	}
	claims, failed := Evaluate(b, p, verifiers, now)
	sealed := *b
	sealed.Collateral = recorder.Used()
	hash, err := EvidenceHash(&sealed)
	if err != nil {
		return claims, b, fmt.Errorf("bundle with its collateral: %w", err)
	}
	claims.EvidenceHash = hash
	return claims, &sealed, failed
}
