package attestation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	maxPolicyFile  = 1 << 20 // bytes
	formOfPolicies = "see docs/protocol/evidence.md for the form of a policy"
)

// ReadPolicy reads a policy document.
func ReadPolicy(file string) (policy.Policy, error) {
	return readPolicy(file, formOfPolicies)
}

func readPolicy(file, advice string) (policy.Policy, error) {
	raw, err := service.ReadFile(file, maxPolicyFile)
	if err != nil {
		return policy.Policy{}, err
	}
	p, err := policy.Parse(raw)
	if err != nil {
		return p, wrongPolicy(file, err, advice)
	}
	return p, nil
}

func wrongPolicy(file string, err error, advice string) error {
	return service.Usage(fmt.Sprintf("%s: %s", file, printable.Text(err.Error())), advice)
}

// Folder are the revocation lists, manifests and roots of a folder.
func Folder(dir string) (attest.Collateral, error) {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, service.Usage(fmt.Sprintf("--collateral %s is not a folder", dir), "its files are named as docs/protocol/evidence.md says")
	}
	return policy.Dir(dir), nil
}

// DefaultPolicy is the document of the built-in policy, with every field.
func DefaultPolicy() ([]byte, error) {
	raw, err := policy.Default().Encode()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return nil, fmt.Errorf("built-in policy: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// Policy is a checked policy.
type Policy struct {
	File string `json:"file"`
	Name string `json:"name"`
	Hash string `json:"policyHash"`
	// Missing says which tiers no evidence can reach with it.
	Missing []string `json:"missing"`
}

// CheckPolicy checks a policy document, also the values that verifiers alone read.
func CheckPolicy(file string) (Policy, error) {
	const advice = "begin with the document that this prints: gantry evidence policy"
	p, err := readPolicy(file, advice)
	if err != nil {
		return Policy{}, err
	}
	if _, err := policy.Standard(p, nil, policy.Subject{}); err != nil {
		return Policy{}, wrongPolicy(file, err, advice)
	}
	digest, err := p.Digest()
	if err != nil {
		return Policy{}, err
	}
	return Policy{File: file, Name: printable.Text(p.Name), Hash: fmt.Sprintf("%x", digest), Missing: gaps(&p)}, nil
}

// gaps says which tiers no machine can reach with a policy, and why.
func gaps(p *policy.Policy) []string {
	gaps := []string{}
	if p.MaxAgeSecs < market.LeastEvidenceAge {
		gaps = append(gaps, fmt.Sprintf("keepers refuse it: max_age_secs is %d, and a tier stands on chain for up to %d seconds", p.MaxAgeSecs, market.LeastEvidenceAge))
	}
	if len(p.Roots.TPM) == 0 {
		gaps = append(gaps, "no tier 2: roots.tpm names no maker of TPMs")
	}
	images := (len(p.Roots.SNP) > 0 && len(p.SNP.Measurements) > 0) || (len(p.Roots.TDX) > 0 && len(p.TDX.Measurements) > 0)
	switch {
	case len(p.Roots.GPU) == 0 || len(p.Roots.RIM) == 0:
		gaps = append(gaps, "no tier 3: roots.gpu and roots.rim must both name a root")
	case !images:
		gaps = append(gaps, "no tier 3: neither snp.measurements nor tdx.measurements names a guest image whose root is trusted")
	}
	return gaps
}
