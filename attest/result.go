package attest

import (
	"fmt"
	"strings"
)

// Outcome is how a check went.
type Outcome uint8

// Outcomes.
const (
	// Passed: checked, and it holds.
	Passed Outcome = 1
	// Failed: checked, and it does not hold.
	Failed Outcome = 2
	// NotCovered: not checked; the detail says why. Never to be read as passed.
	NotCovered Outcome = 3
)

func (o Outcome) String() string {
	switch o {
	case Passed:
		return "passed"
	case Failed:
		return "FAILED"
	case NotCovered:
		return "not covered"
	}
	return "unknown"
}

// Check is one line of what a verifier did.
type Check struct {
	// Name is short and stable, such as "certificate chain".
	Name    string
	Outcome Outcome
	// Detail is for people: what was found, or why it was not covered.
	Detail string
}

// Device is a physical device that evidence identifies.
type Device struct {
	// Identity is unique to the device, such as the hash of its key. It is salted before it goes on chain.
	Identity []byte
	// Model is what the evidence itself says, "" if nothing.
	Model string
}

// Result is everything that a verifier found out.
type Result struct {
	Kind     Kind
	Instance uint16
	Checks   []Check
	Devices  []Device
	// Claims are facts under the signature, by stable name: "driver", "vbios", "tcb", "measurement".
	Claims map[string]string
	// Keys are public keys or certificate hashes under the signature that other evidence may bind: see [Binding].
	Keys [][32]byte
	// Confidential is true only for evidence of a confidential computing mode with debugging off.
	Confidential bool
}

// Pass notes a check that holds.
func (r *Result) Pass(name, format string, args ...any) {
	r.Checks = append(r.Checks, Check{name, Passed, fmt.Sprintf(format, args...)})
}

// Skip notes something that was not checked, and why.
func (r *Result) Skip(name, format string, args ...any) {
	r.Checks = append(r.Checks, Check{name, NotCovered, fmt.Sprintf(format, args...)})
}

// Fail notes a check that does not hold and returns the error to give up with: it wraps sentinel.
func (r *Result) Fail(name string, sentinel error, format string, args ...any) error {
	detail := fmt.Sprintf(format, args...)
	r.Checks = append(r.Checks, Check{name, Failed, detail})
	return fmt.Errorf("%s: %s: %w", name, detail, sentinel)
}

// Claim notes a fact under the signature.
func (r *Result) Claim(name, value string) {
	if r.Claims == nil {
		r.Claims = map[string]string{}
	}
	r.Claims[name] = value
}

// Ok reports whether something was checked and nothing failed. What was not covered is up to the policy.
func (r *Result) Ok() bool {
	passed := false
	for _, c := range r.Checks {
		if c.Outcome == Failed {
			return false
		}
		passed = passed || c.Outcome == Passed
	}
	return passed
}

// Uncovered lists the names of what was not checked.
func (r *Result) Uncovered() string {
	var names []string
	for _, c := range r.Checks {
		if c.Outcome == NotCovered {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}
