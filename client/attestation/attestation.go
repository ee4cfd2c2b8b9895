// Package attestation checks, offline, what a machine has proved about itself: bundles of evidence, records of
// measurements, and the policies by which evidence is judged.
package attestation

import (
	"crypto/ed25519"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
)

// Request is a bundle and what it is held against.
type Request struct {
	File       string // that the bundle is of, for the answer
	Bundle     *bundle.Bundle
	Policy     policy.Policy
	Collateral []attest.Collateral // besides what the bundle has
	At         time.Time           // to check for
	Keepers    []ed25519.PublicKey // whose word on TPM enrolments counts
	Expected   Expected

	// enrolled looks up TPMs that opened a secret of the verifier's own; nil for none.
	enrolled func(ak tpm.Name) (tpm.Enrolment, bool)
}

// verified is a bundle that was looked at.
type verified struct {
	evidence Evidence
	claims   policy.Claims
	sealed   *bundle.Bundle // with the collateral that was used
}

// Expected are values that a bundle must have; nil, or 0, for any.
type Expected struct {
	Nonce, Hash, Node, Account *[32]byte
	Tier                       int
}

// Check is one line of the answer.
type Check struct {
	Evidence string `json:"evidence"`
	Check    string `json:"check"`
	Result   string `json:"result"`
	Detail   string `json:"detail"`
}

// Evidence is a checked bundle. Its texts are fit for a terminal.
type Evidence struct {
	File       string            `json:"file"`
	OK         bool              `json:"ok"`
	Verdict    string            `json:"verdict"`
	Tier       uint8             `json:"tier"`
	Why        []string          `json:"why"`
	Hash       string            `json:"evidenceHash"`
	Nonce      string            `json:"nonce"`
	Account    string            `json:"node"`
	Node       string            `json:"nodeKey"`
	Created    string            `json:"created"`
	Expires    string            `json:"expires"`
	At         string            `json:"at"`
	Policy     string            `json:"policy"`
	PolicyHash string            `json:"policyHash"`
	DeviceRoot string            `json:"deviceRoot"`
	Simulated  bool              `json:"simulated"`
	Claims     map[string]string `json:"claims"`
	Checks     []Check           `json:"checks"`

	// Problem is why the evidence is refused; empty when it is not.
	Problem string `json:"-"`
}

// ReadBundle reads a bundle of evidence.
func ReadBundle(file string) (*bundle.Bundle, error) {
	raw, err := service.ReadFile(file, bundle.MaxSize)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Parse(raw)
	if err != nil {
		return nil, service.Refused(fmt.Sprintf("%s is not a bundle of evidence: %s", file, printable.Text(err.Error())), "collect one with: gantry-agent evidence collect")
	}
	return b, nil
}

// Verify checks a bundle. Evidence that is refused is no error: Problem says why. Error: a policy that no verifier can
// use.
func Verify(r *Request) (Evidence, error) {
	v, err := verify(r)
	if err != nil {
		return Evidence{}, err
	}
	return v.evidence, nil
}

func verify(r *Request) (*verified, error) {
	recorder := bundle.NewRecorder(append(r.Collateral, r.Bundle)...)
	verifiers, err := policy.Standard(r.Policy, recorder, policy.Subject{Challenge: r.Bundle.Challenge, Keepers: r.Keepers, Enrolled: r.enrolled})
	if err != nil {
		return nil, service.Usage(err.Error(), formOfPolicies)
	}
	claims, failed := policy.Evaluate(r.Bundle, r.Policy, verifiers, r.At)
	out := describe(r, &claims)
	out.Problem = out.hold(r, &claims)
	if out.Problem == "" && failed != nil {
		out.Problem = printable.Text(failed.Error())
	}
	out.OK = out.Problem == ""
	sealed := *r.Bundle
	sealed.Collateral = recorder.Used()
	return &verified{out, claims, &sealed}, nil
}

// hold compares the bundle with the values that are expected.
func (e *Evidence) hold(r *Request, c *policy.Claims) (problem string) {
	line := func(name string, ok bool, detail string) {
		check := Check{"bundle", name, attest.Passed.String(), detail}
		if !ok {
			check.Result = attest.Failed.String()
			if problem == "" {
				problem = name + ": " + detail
			}
		}
		e.Checks = append(e.Checks, check)
	}
	want, has := &r.Expected, &r.Bundle.Challenge
	nonce := has.Nonce()
	if want.Nonce != nil {
		line("expected nonce", *want.Nonce == nonce, fmt.Sprintf("the bundle's is %x", nonce))
	}
	if want.Node != nil {
		line("expected node", *want.Node == has.NodeKey, "the bundle's is "+solana.PublicKey(has.NodeKey).String())
	}
	if want.Account != nil {
		line("expected account", *want.Account == has.Node, "the bundle's is "+solana.PublicKey(has.Node).String())
	}
	if want.Hash != nil {
		line("expected hash", *want.Hash == c.EvidenceHash, fmt.Sprintf("the bundle's is %x", c.EvidenceHash))
	}
	if want.Tier > 0 {
		line("expected tier", int(c.Tier) >= want.Tier, fmt.Sprintf("tier %d, at least %d is wanted", c.Tier, want.Tier))
	}
	return problem
}

func describe(r *Request, c *policy.Claims) Evidence {
	out := Evidence{
		File: r.File, Verdict: c.Verdict.String(), Tier: c.Tier, Why: []string{}, Hash: fmt.Sprintf("%x", c.EvidenceHash),
		Nonce: fmt.Sprintf("%x", r.Bundle.Challenge.Nonce()), Node: solana.PublicKey(r.Bundle.Challenge.NodeKey).String(),
		Account: solana.PublicKey(r.Bundle.Challenge.Node).String(),
		Created: rfc(r.Bundle.Created), Expires: rfc(c.Expiry), At: r.At.UTC().Format(time.RFC3339), Policy: printable.Text(r.Policy.Name),
		PolicyHash: fmt.Sprintf("%x", c.PolicyHash), DeviceRoot: fmt.Sprintf("%x", c.DeviceRoot), Simulated: c.Simulated,
		Claims: map[string]string{}, Checks: []Check{},
	}
	for _, w := range c.Why {
		out.Why = append(out.Why, printable.Text(w))
	}
	add := func(name string, checks []attest.Check) {
		for _, k := range checks {
			out.Checks = append(out.Checks, Check{name, k.Name, k.Outcome.String(), printable.Text(k.Detail)})
		}
	}
	add("bundle", c.Bundle.Checks)
	for _, p := range c.Pieces {
		name := p.Kind.String()
		if p.Kind == attest.KindNVGPU {
			name = fmt.Sprintf("%s %d", name, p.Instance)
		}
		add(name, p.Checks)
		for k, v := range p.Claims {
			out.Claims[name+": "+k] = printable.Text(v)
		}
	}
	return out
}

// Count is how many checks had each result.
func (e *Evidence) Count() (passed, failed, notCovered int) {
	for _, c := range e.Checks {
		switch c.Result {
		case attest.Passed.String():
			passed++
		case attest.Failed.String():
			failed++
		case attest.NotCovered.String():
			notCovered++
		}
	}
	return passed, failed, notCovered
}

func rfc(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }
