package policy

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/tdx"
	"github.com/gantry-market/gantry/attest/tpm"
)

// Subject is what a verifier knows of the node besides the bundle.
type Subject struct {
	// Challenge that the bundle must answer.
	Challenge attest.Challenge
	// Enrolled looks up which attestation keys this verifier saw activated. May be nil.
	Enrolled func(ak tpm.Name) (tpm.Enrolment, bool)
	// Keepers are those whose statements about activations count.
	Keepers []ed25519.PublicKey
}

// RootKey is the key under which [attest.Collateral] has a root certificate, DER, that this software does not have
// built in. The policy pins it by the fingerprint.
func RootKey(fingerprint string) string { return "root/" + fingerprint }

// Standard makes the verifiers of a policy for one subject. A kind whose roots the policy does not name, or that are
// neither built in nor supplied, gets a verifier that checks nothing and says so. Error: ErrDocument for a policy whose
// values cannot be read.
func Standard(p Policy, c attest.Collateral, s Subject) ([]attest.Verifier, error) {
	if err := errors.Join(p.check(), p.checkFloor()); err != nil {
		return nil, err
	}
	out := []attest.Verifier{inventory.Verifier{}, guest.Verifier{}, seal.Verifier{}}
	for _, build := range []func(Policy, attest.Collateral, Subject) (attest.Verifier, error){newGPU, newTPM, newSNP, newTDX} {
		v, err := build(p, c, s)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDocument, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// rootless is the verifier of a kind for which the policy names no usable roots.
type rootless struct {
	kind attest.Kind
	why  string
}

func (r rootless) Kind() attest.Kind { return r.kind }

func (r rootless) Verify(e attest.Evidence, _ attest.Binding, _ time.Time) (attest.Result, error) {
	res := attest.Result{Kind: e.Kind, Instance: e.Instance}
	res.Skip("everything", "%s", r.why)
	return res, nil
}

// roots loads the certificates of fingerprints: from those built in, else from collateral.
func roots(fingerprints []string, builtIn []*x509.Certificate, c attest.Collateral) ([]*x509.Certificate, string, error) {
	if len(fingerprints) == 0 {
		return nil, "the policy trusts no root for this kind", nil
	}
	out := make([]*x509.Certificate, 0, len(fingerprints))
next:
	for _, want := range set(fingerprints) {
		for _, b := range builtIn {
			if fingerprint(b) == want {
				out = append(out, b)
				continue next
			}
		}
		if c == nil {
			return nil, "no certificate was supplied for the root " + want, nil
		}
		der, err := c.Get(RootKey(want))
		if errors.Is(err, attest.ErrNoCollateral) {
			return nil, "no certificate was supplied for the root " + want, nil
		}
		if err != nil {
			return nil, "", err
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil || fingerprint(cert) != want {
			return nil, "", fmt.Errorf("what was supplied for the root %s is another certificate", want)
		}
		out = append(out, cert)
	}
	return out, "", nil
}

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// foreignRoot marks results that rest on a root which is not the maker's.
type foreignRoot struct{ attest.Verifier }

func (f foreignRoot) Verify(e attest.Evidence, b attest.Binding, now time.Time) (attest.Result, error) {
	r, err := f.Verifier.Verify(e, b, now)
	r.Claim(claimSynthetic, "true")
	return r, err
}

func marked(v attest.Verifier, foreign bool) attest.Verifier {
	if foreign {
		return foreignRoot{v}
	}
	return v
}

// productOf reads the product line off an AMD root's name, "ARK-Milan".
func productOf(ark *x509.Certificate) string {
	return strings.TrimPrefix(ark.Subject.CommonName, "ARK-")
}

func newGPU(p Policy, c attest.Collateral, _ Subject) (attest.Verifier, error) {
	own, err := nvgpu.PinnedRoots()
	if err != nil {
		return nil, err
	}
	device, why, err := roots(p.Roots.GPU, []*x509.Certificate{own.Device}, c)
	if err != nil || why != "" {
		return rootless{attest.KindNVGPU, why}, err
	}
	rim, why, err := roots(p.Roots.RIM, []*x509.Certificate{own.RIM}, c)
	if err != nil || why != "" {
		return rootless{attest.KindNVGPU, why}, err
	}
	if len(device) != 1 || len(rim) != 1 {
		return nil, errors.New("GPU reports and their manifests have one root each")
	}
	policy, err := p.GPU.policy()
	if err != nil {
		return nil, err
	}
	return nvgpu.New(nvgpu.Options{Policy: policy, Collateral: c, Roots: nvgpu.Roots{Device: device[0], RIM: rim[0]}}), nil
}

// TPMTrust is which TPMs the policy believes in, for keepers that enrol them. why is not empty if it believes in none.
// Error: ErrDocument.
func TPMTrust(p Policy, c attest.Collateral) (trust tpm.Trust, why string, err error) {
	certs, why, err := roots(p.Roots.TPM, nil, c)
	if err != nil || why != "" {
		return trust, why, err
	}
	trust = tpm.Trust{Roots: x509.NewCertPool(), Collateral: c, RequireRevocation: p.TPM.RequireRevocation}
	for _, cert := range certs {
		trust.Roots.AddCert(cert)
	}
	for _, name := range p.TPM.Algorithms {
		a, ok := map[string]tpm.EKAlgorithm{"rsa2048": tpm.EKRSA2048, "p256": tpm.EKP256, "p384": tpm.EKP384}[name]
		if !ok {
			return trust, "", fmt.Errorf("%w: endorsement key algorithm %.40q; known are rsa2048, p256 and p384", ErrDocument, name)
		}
		trust.Algorithms = append(trust.Algorithms, a)
	}
	return trust, "", nil
}

func newTPM(p Policy, c attest.Collateral, s Subject) (attest.Verifier, error) {
	trust, why, err := TPMTrust(p, c)
	if err != nil || why != "" {
		return rootless{attest.KindTPM, why}, err
	}
	o := tpm.Options{
		Trust: trust,
		Activation: tpm.Activation{
			Own: s.Enrolled, Keepers: s.Keepers, MaxAge: time.Duration(p.TPM.EnrolmentAgeSecs) * time.Second,
			Subject: &tpm.Subject{GenesisHash: s.Challenge.GenesisHash, Program: s.Challenge.Program, Node: s.Challenge.NodeKey},
		},
		RequireSecureBoot: p.TPM.RequireSecureBoot,
	}
	for _, pcr := range p.TPM.PCRs {
		for _, s := range pcr.Values {
			v, err := fixedHex(s, 32)
			if err != nil || !tpm.DefaultSelection.Has(pcr.Index) {
				return nil, fmt.Errorf("PCR %d, value %.80q: not a SHA-256 register of those that are quoted, %s", pcr.Index, s, tpm.DefaultSelection)
			}
			if o.PCRs == nil {
				o.PCRs = tpm.Allowed{}
			}
			o.PCRs[pcr.Index] = append(o.PCRs[pcr.Index], [32]byte(v))
		}
	}
	return tpm.New(o), nil
}

func newSNP(p Policy, c attest.Collateral, _ Subject) (attest.Verifier, error) {
	own, err := snp.PinnedRoots()
	if err != nil {
		return nil, err
	}
	trusted := snp.Roots{}
	builtIn := make([]*x509.Certificate, 0, len(own))
	for _, root := range own {
		builtIn = append(builtIn, root.ARK)
	}
	certs, why, err := roots(p.Roots.SNP, builtIn, c)
	if err != nil || why != "" {
		return rootless{attest.KindSNP, why}, err
	}
	foreign := false
	for _, ark := range certs {
		line, root := productOf(ark), snp.ProductRoot{ARK: ark}
		if pinned, ok := own[line]; ok && pinned.ARK.Equal(ark) {
			root = pinned
		} else {
			foreign = true
		}
		if _, twice := trusted[line]; twice {
			return nil, fmt.Errorf("two roots for %s", line)
		}
		trusted[line] = root
	}
	policy, err := p.SNP.policy()
	if err != nil {
		return nil, err
	}
	v, err := snp.New(snp.Options{Policy: policy, Roots: trusted, Collateral: c})
	return marked(v, foreign), err
}

func newTDX(p Policy, c attest.Collateral, _ Subject) (attest.Verifier, error) {
	own, err := tdx.PinnedRoot()
	if err != nil {
		return nil, err
	}
	certs, why, err := roots(p.Roots.TDX, []*x509.Certificate{own}, c)
	if err != nil || why != "" {
		return rootless{attest.KindTDX, why}, err
	}
	if len(certs) != 1 {
		return nil, errors.New("TDX quotes have one root")
	}
	policy, err := p.TDX.policy()
	if err != nil {
		return nil, err
	}
	v, err := tdx.New(tdx.Options{Policy: policy, Root: certs[0], Collateral: c})
	return marked(v, !certs[0].Equal(own)), err
}
