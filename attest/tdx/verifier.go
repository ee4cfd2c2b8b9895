package tdx

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/attest"
)

// Names of the claims in a result. All but [ClaimTCBStatus] are under the quote's signatures.
const (
	ClaimMeasurement = "measurement"
	ClaimModule      = "mrseam"
	ClaimTCB         = "tcb"
	ClaimAttributes  = "td_attributes"
	ClaimXFAM        = "xfam"
	ClaimFMSPC       = "fmspc"
	// ClaimTCBStatus is "UpToDate", and only there when collateral says so.
	ClaimTCBStatus = "tcb_status"
	// ClaimHostPlatform is sha256("gantry-tdx-platform-1" ‖ PPID in hex) in hex: the host's processor package, not a
	// GPU.
	ClaimHostPlatform = "host_platform"
)

// ClaimRTMR names the claim of a run-time register, 0 to 3.
func ClaimRTMR(i int) string { return fmt.Sprintf("rtmr%d", i) }

// Options of a [Verifier].
type Options struct {
	Policy Policy
	// Root is the one trusted; nil for Intel's.
	Root *x509.Certificate
	// Collateral is Intel's; nil for none.
	Collateral attest.Collateral
}

// Verifier checks TDX evidence. It is safe for concurrent use.
type Verifier struct {
	policy     Policy
	root       *x509.Certificate
	collateral attest.Collateral
}

var _ attest.Verifier = (*Verifier)(nil)

// New makes a verifier.
func New(o Options) (*Verifier, error) {
	if o.Root == nil {
		pinned, err := PinnedRoot()
		if err != nil {
			return nil, err
		}
		o.Root = pinned
	}
	return &Verifier{policy: o.Policy, root: o.Root, collateral: o.Collateral}, nil
}

// Kind is [attest.KindTDX].
func (v *Verifier) Kind() attest.Kind { return attest.KindTDX }

// Verify implements [attest.Verifier].
func (v *Verifier) Verify(e attest.Evidence, b attest.Binding, now time.Time) (attest.Result, error) {
	res := attest.Result{Kind: attest.KindTDX, Instance: e.Instance}
	err := v.verify(e, b, now, &res)
	return res, err
}

func (v *Verifier) verify(e attest.Evidence, b attest.Binding, now time.Time, res *attest.Result) error {
	if e.Kind != attest.KindTDX || e.Instance != 0 {
		return res.Fail(CheckFormat, attest.ErrMalformed, "this is %v %d, not the machine's TDX quote", e.Kind, e.Instance)
	}
	if len(e.Items) != 1 || e.Items[0].Name != ItemQuote {
		return res.Fail(CheckFormat, attest.ErrMalformed, "TDX evidence is one item %q", ItemQuote)
	}
	q, err := ParseQuote(e.Items[0].Data)
	if err != nil {
		return fail(res, CheckFormat, err)
	}
	res.Pass(CheckFormat, "version 4")
	t, err := Verify(q, v.root, now)
	if err != nil {
		return fail(res, CheckChain, err)
	}
	res.Pass(CheckChain, "attestation key, quoting enclave, PCK certificate, %s, pinned %s", q.ca.Subject.CommonName, v.root.Subject.CommonName)
	t.claims(res)
	if err := v.checkCollateral(t, now, res); err != nil {
		return err
	}
	if err := v.policy.Validate(t, b.ReportData(), res); err != nil {
		return err
	}
	res.Confidential = !q.Debug()
	return nil
}

func (v *Verifier) checkCollateral(t *Trusted, now time.Time, res *attest.Result) error {
	tcb, err := t.CheckTCB(v.collateral, now)
	switch {
	case errors.Is(err, attest.ErrNoCollateral) && !v.policy.RequireFull:
		res.Skip(CheckTCB, "only the chain was checked: %v", err)
		res.Skip(CheckQE, "only the chain was checked: %v", err)
		res.Skip(CheckRevoked, "only the chain was checked: %v", err)
		return nil
	case err != nil:
		return fail(res, CheckTCB, err)
	case tcb.Evaluation < v.policy.MinEvaluation:
		return res.Fail(CheckTCB, attest.ErrPolicy, "Intel's evaluation %d is older than %d", tcb.Evaluation, v.policy.MinEvaluation)
	}
	res.Pass(CheckTCB, "up to date by Intel's evaluation %d of %s", tcb.Evaluation, day(tcb.Issued))
	res.Pass(CheckQE, "Intel's TD quoting enclave, up to date")
	res.Claim(ClaimTCBStatus, "UpToDate")
	err = t.CheckRevocation(v.collateral, now)
	switch {
	case errors.Is(err, attest.ErrNoCollateral) && !v.policy.RequireFull:
		res.Skip(CheckRevoked, "%v", err)
		return nil
	case err != nil:
		return fail(res, CheckRevoked, err)
	}
	res.Pass(CheckRevoked, "neither the PCK certificate nor its CA nor the collateral's signer is in Intel's lists")
	return nil
}

// claims writes down what the quote says, once its signatures are known to be good.
func (t *Trusted) claims(res *attest.Result) {
	q := t.Quote
	res.Claim(ClaimMeasurement, fmt.Sprintf("%x", q.MRTD()))
	for i := range 4 {
		res.Claim(ClaimRTMR(i), fmt.Sprintf("%x", q.RTMR(i)))
	}
	res.Claim(ClaimModule, fmt.Sprintf("%x", q.MRSEAM()))
	res.Claim(ClaimTCB, fmt.Sprintf("%x", q.TEETCB()))
	res.Claim(ClaimAttributes, fmt.Sprintf("0x%x", q.Attributes()))
	res.Claim(ClaimXFAM, fmt.Sprintf("0x%x", q.XFAM()))
	res.Claim(ClaimFMSPC, t.FMSPC)
	id := sha256.Sum256(append([]byte("gantry-tdx-platform-1"), t.pck.PPID...))
	res.Claim(ClaimHostPlatform, hex.EncodeToString(id[:]))
}

// fail notes a failed check whose error carries its own sentinel.
func fail(res *attest.Result, name string, err error) error {
	res.Checks = append(res.Checks, attest.Check{Name: name, Outcome: attest.Failed, Detail: err.Error()})
	return fmt.Errorf("%s: %w", name, err)
}
