package ear

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/tdx"
	"github.com/gantry-market/gantry/attest/tpm"
)

// tier is a trustworthiness tier of draft-ietf-rats-ar4si, in the order of its weight.
type tier uint8

const (
	none tier = iota
	affirming
	warning
	contraindicated
)

func (t tier) String() string {
	return [...]string{"none", "affirming", "warning", "contraindicated"}[t]
}

// Values of trustworthiness claims in draft-ietf-rats-ar4si. What was not checked has no claim.
const (
	trustworthyInstance, unrecognizedInstance = 2, 97
	genuineHardware, unrecognizedHardware     = 2, 97
	approvedBoot, unrecognizedRuntime         = 3, 33
	encryptedMemory, visibleMemory            = 2, 96
)

// tierOf is the tier of a claim's value: 2 to 31 affirm, 32 to 95 warn, and 96 and more contradict.
func tierOf(value int8) tier {
	switch {
	case value >= 96:
		return contraindicated
	case value >= 32:
		return warning
	case value >= 2:
		return affirming
	}
	return none
}

// appraisal is a submodule of a token.
type appraisal struct {
	Status   string            `json:"ear_status"`
	Vector   map[string]int8   `json:"ear_trustworthiness_vector,omitempty"`
	Policies []string          `json:"ear_appraisal_policy_ids"`
	Attester map[string]string `json:"ear_attester_claims,omitempty"`
	Verifier map[string]any    `json:"ear_verifier_claims,omitempty"`

	status tier
}

// checked is how a check of a piece went; 0 where it was not made.
func checked(r *attest.Result, name string) attest.Outcome {
	var out attest.Outcome
	for _, c := range r.Checks {
		if c.Name == name && (out == 0 || c.Outcome == attest.Failed || out == attest.Passed) {
			out = c.Outcome
		}
	}
	return out
}

// signs are the checks of a kind of evidence that show which device has signed it: each of them counts.
var signs = map[attest.Kind][]string{
	attest.KindNVGPU: {nvgpu.CheckChain, nvgpu.CheckSignature}, attest.KindTPM: {tpm.CheckEKChain, tpm.CheckActivation, tpm.CheckSignature},
	attest.KindSNP: {snp.CheckChain}, attest.KindTDX: {tdx.CheckChain},
}

// runs is the check that shows what was started.
var runs = map[attest.Kind]string{
	attest.KindNVGPU: nvgpu.CheckMeasurements, attest.KindTPM: tpm.CheckPCRPolicy, attest.KindSNP: snp.CheckMeasurement, attest.KindTDX: tdx.CheckMeasurement,
}

// debugs is the check that nobody can look into the memory.
var debugs = map[attest.Kind]string{attest.KindSNP: snp.CheckDebug, attest.KindTDX: tdx.CheckDebug}

// ofPiece appraises a piece of evidence. What no device has signed, such as the inventory, is never affirmed. Neither is anything of a
// piece that was refused, that lacks a check which the policy requires, or whose root is not the maker's.
func ofPiece(p *policy.Piece, v policy.Verdict) appraisal {
	a := appraisal{Vector: map[string]int8{}, Attester: map[string]string{}, Verifier: map[string]any{"gantry-checks": lines(p.Checks)}}
	for name, value := range p.Claims {
		a.Attester[name] = plain(value)
	}
	claim := func(name string, o attest.Outcome, passed, failed int8) {
		switch o {
		case attest.Passed:
			a.Vector[name] = passed
		case attest.Failed:
			a.Vector[name] = failed
		}
	}
	signed := weakest(&p.Result, signs[p.Kind])
	claim("instance-identity", signed, trustworthyInstance, unrecognizedInstance)
	if p.Kind != attest.KindTPM { // a TPM says nothing of the processor
		claim("hardware", signed, genuineHardware, unrecognizedHardware)
	}
	if signed == attest.Passed { // what nobody has signed shows nothing more
		claim("executables", checked(&p.Result, runs[p.Kind]), approvedBoot, unrecognizedRuntime)
		switch {
		case p.Confidential:
			a.Vector["runtime-opaque"] = encryptedMemory
		case checked(&p.Result, debugs[p.Kind]) == attest.Failed:
			a.Vector["runtime-opaque"] = visibleMemory
		}
	}
	if p.Err != nil || p.Lacks != "" || p.Synthetic() || v == policy.False {
		maps.DeleteFunc(a.Vector, func(_ string, value int8) bool { return tierOf(value) == affirming })
	}
	for _, value := range a.Vector {
		a.status = max(a.status, tierOf(value))
	}
	if p.Err != nil {
		a.status = max(a.status, warning)
	}
	return a
}

// weakest is Failed where one of the checks has failed, and Passed where all have passed.
func weakest(r *attest.Result, names []string) attest.Outcome {
	out := attest.Passed
	for _, name := range names {
		switch checked(r, name) {
		case attest.Passed:
		case attest.Failed:
			return attest.Failed
		default:
			out = attest.NotCovered
		}
	}
	if len(names) == 0 {
		return attest.NotCovered
	}
	return out
}

// ofMachine appraises the bundle: what it is worth on chain, and what binds its pieces.
func ofMachine(v *Verdict) appraisal {
	c := &v.Claims
	synthetic := slices.ContainsFunc(c.Pieces, func(p policy.Piece) bool { return p.Synthetic() })
	a := appraisal{Verifier: map[string]any{
		"gantry-tier": c.Tier, "gantry-node": v.Node.String(), "gantry-node-key": v.Key.String(), "gantry-evidence-hash": fmt.Sprintf("%x", c.EvidenceHash),
		"gantry-device-root": fmt.Sprintf("%x", c.DeviceRoot), "gantry-simulated": c.Simulated, "gantry-synthetic": synthetic, "gantry-checks": lines(c.Bundle.Checks),
	}}
	switch {
	case c.Verdict == policy.False:
		a.status = contraindicated
	case v.Problem != "" || c.Verdict != policy.Sound:
		a.status = warning
	case c.Tier > 1 && !c.Simulated && !synthetic: // tier 1 is the machine's own word
		a.status = affirming
	}
	if v.Problem != "" {
		a.Verifier["gantry-problem"] = v.Problem
	}
	return a
}

// lines are checks for a reader: name, result, detail.
func lines(checks []attest.Check) [][3]string {
	out := make([][3]string, len(checks))
	for i, c := range checks {
		out[i] = [3]string{c.Name, c.Outcome.String(), plain(c.Detail)}
	}
	return out
}

// plain is a text of the machine's without what moves or hides text.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
