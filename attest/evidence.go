package attest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind names what a piece of evidence is. Numbers are part of the bundle format and never change.
type Kind uint16

// Kinds of evidence.
const (
	// KindInventory is what a machine says about itself (NVML, CPU, memory): a claim, never a proof.
	KindInventory Kind = 1
	// KindNVGPU is a signed measurement report of an NVIDIA GPU with its certificate chain.
	KindNVGPU Kind = 2
	// KindTPM is a TPM 2.0 quote with its attestation key's enrolment.
	KindTPM Kind = 3
	// KindSNP is an AMD SEV-SNP attestation report.
	KindSNP Kind = 4
	// KindTDX is an Intel TDX quote.
	KindTDX Kind = 5
	// KindGuest is a key that a process in a confidential machine made and keeps to itself, and its signature.
	KindGuest Kind = 6
	// KindSeal is a key that the machine made for one lease, for what its customer seals to it.
	KindSeal Kind = 7
)

var kindNames = map[Kind]string{
	KindInventory: "inventory", KindNVGPU: "NVIDIA GPU report", KindTPM: "TPM quote", KindSNP: "SEV-SNP report", KindTDX: "TDX quote",
	KindGuest: "guest key", KindSeal: "lease key",
}

func (k Kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return fmt.Sprintf("kind %d", uint16(k))
}

// Known reports whether this version has a meaning for the kind.
func (k Kind) Known() bool { _, ok := kindNames[k]; return ok }

// Item is one named part of a piece of evidence: a report, a certificate chain, a log.
type Item struct {
	Name string
	Data []byte
}

// Evidence is everything that one device or firmware says in answer to one nonce. Items are sorted by name and names
// are unique.
type Evidence struct {
	Kind Kind
	// Instance tells pieces of the same kind apart: the index of a GPU. 0 where there is only one.
	Instance uint16
	Items    []Item
}

// Item returns the data of the named part.
func (e Evidence) Item(name string) ([]byte, bool) {
	for _, i := range e.Items {
		if i.Name == name {
			return i.Data, true
		}
	}
	return nil, false
}

// Collector produces evidence on the machine that it speaks about.
type Collector interface {
	// Collect answers a nonce; see [Nonce] for which. A missing device is ErrAbsent with a reason.
	Collect(ctx context.Context, nonce [32]byte) ([]Evidence, error)
}

// Verifier checks one kind of evidence. It is offline and has its policy and collateral bound at construction.
type Verifier interface {
	Kind() Kind
	// Verify returns what was checked, also when err is not nil: then err wraps the first failure.
	Verify(e Evidence, b Binding, now time.Time) (Result, error)
}

// Collateral is data that a check needs from outside, pinned by the caller: reference manifests, revocation lists,
// platform certificates. Keys are those that each package documents.
type Collateral interface {
	// Get returns ErrNoCollateral for a key that it does not have.
	Get(key string) ([]byte, error)
}

var (
	// ErrAbsent: this machine has no such device; the error's text says what was looked for.
	ErrAbsent = errors.New("not present on this machine")
	// ErrNoCollateral: the collateral needed for a check was not supplied.
	ErrNoCollateral = errors.New("collateral not supplied")
	// ErrMalformed: the bytes are not what they should be.
	ErrMalformed = errors.New("malformed evidence")
	// ErrUntrusted: a signature or chain does not lead to a pinned root.
	ErrUntrusted = errors.New("not signed by a trusted root")
	// ErrStale: the evidence answers another nonce, or was not valid at the time.
	ErrStale = errors.New("evidence is not fresh")
	// ErrPolicy: the evidence is genuine and says something that the policy refuses.
	ErrPolicy = errors.New("refused by policy")
)
