package ear

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/golang-jwt/jwt/v5"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/policy"
)

// Profile is the profile of the tokens, of draft-ietf-rats-ear-04.
const Profile = "tag:ietf.org,2026:rats/ear#04"

// developer is who has made the verifier.
const developer = "https://github.com/gantry-market/gantry"

// Machine is the submodule for the bundle as a whole. The others are pieces of evidence.
const Machine = "machine"

// ErrWorthless: the evidence is too old to say anything, so that a token would be void from the start.
var ErrWorthless = errors.New("the evidence is worth nothing any more")

// Verdict is what a token says.
type Verdict struct {
	Claims policy.Claims
	// Nonce is that of the challenge.
	Nonce [32]byte
	// Node is the account of the machine, and Key signed the bundle.
	Node, Key solana.PublicKey
	// Problem is why the verifier refuses the evidence; empty where it does not.
	Problem string
	// Build is the version of the verifier.
	Build string
}

// Sign writes a token that expires with the evidence. Its key id is the signer's address. Error: ErrWorthless, or the key cannot sign.
func Sign(v Verdict, key ed25519.PrivateKey, now time.Time) (string, error) {
	expiry := time.Unix(v.Claims.Expiry, 0)
	if !now.Before(expiry) {
		return "", fmt.Errorf("%w: it was until %s", ErrWorthless, expiry.UTC().Format(time.RFC3339))
	}
	submods := map[string]appraisal{}
	worst := none
	for i := range v.Claims.Pieces {
		p := &v.Claims.Pieces[i]
		a := ofPiece(p, v.Claims.Verdict)
		submods[nameOf(p.Kind, p.Instance)] = a
		worst = max(worst, a.status)
	}
	machine := ofMachine(&v)
	submods[Machine] = machine
	for name, a := range submods {
		a.Status, a.Policies = a.status.String(), []string{"sha256:" + hex.EncodeToString(v.Claims.PolicyHash[:])}
		submods[name] = a
	}
	overall := none
	if machine.status != none { // otherwise the verifier says nothing of the machine as a whole
		overall = max(machine.status, worst)
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"eat_profile": Profile, "iat": now.Unix(), "exp": expiry.Unix(), "eat_nonce": base64.RawURLEncoding.EncodeToString(v.Nonce[:]),
		"ear_verifier_id": map[string]string{"developer": developer, "build": v.Build}, "ear_status": overall.String(), "submods": submods,
	})
	token.Header["kid"] = solana.PublicKeyFromBytes(key.Public().(ed25519.PublicKey)).String()
	signed, err := token.SignedString(key)
	if err != nil {
		return "", fmt.Errorf("attestation result: %w", err)
	}
	return signed, nil
}

// nameOf is the submodule of a piece: the kind, as policies name it. A machine has one of each kind but GPUs, which have their index.
func nameOf(kind attest.Kind, instance uint16) string {
	name := policy.KindKey(kind)
	switch {
	case name == "":
		return fmt.Sprintf("kind-%d-%d", kind, instance)
	case kind == attest.KindNVGPU:
		return fmt.Sprintf("%s-%d", name, instance)
	}
	return name
}
