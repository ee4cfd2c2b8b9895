package service

import (
	"fmt"
	"io"
)

// States of an attestation.
const (
	// AttestationPassed: the machine has proved what the policy asks for, and got the job.
	AttestationPassed = "passed"
	// AttestationRefused: it has not. From then on nothing was sent to it, and its lease was to be ended.
	AttestationRefused = "refused"
)

// Attestation is what the machine of a lease has proved to its customer before it got the job, for a customer who has
// asked for that with the order. The texts are for people.
type Attestation struct {
	State      string   `json:"state" enum:"passed,refused" doc:"passed: the machine has proved what the policy asks for, and got the job. refused: it has not; from then on nothing of the job was sent, and the lease is ended"`
	At         int64    `json:"at" doc:"When, unix seconds"`
	Why        string   `json:"why,omitempty" doc:"Why the machine was refused"`
	Policy     string   `json:"policy" doc:"Name of the customer's policy"`
	PolicyHash string   `json:"policyHash" doc:"SHA-256 of its canonical form"`
	Hash       string   `json:"evidenceHash,omitempty" doc:"SHA-256 of the evidence's head"`
	Tier       uint8    `json:"tier" doc:"That the evidence has by the policy"`
	Simulated  bool     `json:"simulated,omitempty" doc:"The machine says that its GPUs are simulated"`
	Verified   []string `json:"verified" doc:"What was verified, a sentence each"`
	Failed     []string `json:"failed" doc:"What does not hold"`
	NotCovered []string `json:"notCovered" doc:"What was not checked, or cannot be: never to be read as verified"`
}

// Mark is a tick for a machine that has passed, and a cross for one that was refused.
func (a *Attestation) Mark() string {
	if a.State == AttestationPassed {
		return "✓"
	}
	return "✗"
}

// Lines are what was proved, for people: the verdict, then a sentence each.
func (a *Attestation) Lines() []string {
	out := []string{fmt.Sprintf("passed the policy %q at %s UTC", a.Policy, When(a.At))}
	if a.State != AttestationPassed {
		out[0] = fmt.Sprintf("REFUSED by the policy %q at %s UTC: %s", a.Policy, When(a.At), a.Why)
	}
	for _, part := range []struct {
		name string
		list []string
	}{{"verified", a.Verified}, {"FAILED", a.Failed}, {"not covered", a.NotCovered}} {
		for _, text := range part.list {
			out = append(out, fmt.Sprintf("%-12s %s", part.name, text))
		}
	}
	return out
}

// Write writes these lines.
func (a *Attestation) Write(w io.Writer) {
	for i, line := range a.Lines() {
		fmt.Fprintln(w, []string{line, "  " + line}[min(i, 1)])
	}
}

// Attestations tells what machines of leases have proved. It is safe for concurrent use.
type Attestations interface {
	// Attestation is that of a lease of an order, by their addresses; nil for one without. Where the order is not known, "", all are
	// looked through.
	Attestation(order, lease string) *Attestation
	// Explain adds to what the chain says of an order or a lease what is known where it was bought.
	Explain(w *Why)
}

// Attested adds to leases what their machines have proved, in place; nothing where nobody knows.
func Attested(known Attestations, leases []Lease) []Lease {
	for i := range leases {
		if known != nil {
			leases[i].Attestation = known.Attestation(leases[i].Order, leases[i].Address)
		}
	}
	return leases
}
