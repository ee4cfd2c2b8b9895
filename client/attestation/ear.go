package attestation

import (
	"crypto/ed25519"
	"errors"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest/ear"
	"github.com/gantry-market/gantry/client/service"
)

// Sign checks a bundle as it is worth now, whatever time it names itself, and signs the verdict as an attestation result for other
// verifiers (attest/ear). build is the version of this program. Error: a [service.Failure] for evidence that is worth nothing any more.
func Sign(r *Request, key solana.PrivateKey, build string, now time.Time) (Evidence, string, error) {
	current := *r
	current.At = now
	v, err := verify(&current)
	if err != nil {
		return Evidence{}, "", err
	}
	token, err := ear.Sign(ear.Verdict{
		Claims: v.claims, Nonce: r.Bundle.Challenge.Nonce(), Node: r.Bundle.Challenge.Node, Key: r.Bundle.Challenge.NodeKey, Problem: v.evidence.Problem, Build: build,
	}, ed25519.PrivateKey(key), now)
	if errors.Is(err, ear.ErrWorthless) {
		return Evidence{}, "", service.Refused(err.Error(), "ask the machine anew: gantry attest LEASE, or gantry-agent evidence collect")
	}
	return v.evidence, token, err
}
