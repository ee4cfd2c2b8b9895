package snp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/attest"
)

// Names of the claims in a result. All are under the report's signature.
const (
	ClaimProduct     = "product"
	ClaimTCB         = "tcb"
	ClaimMeasurement = "measurement"
	ClaimHostData    = "host_data"
	ClaimGuestPolicy = "guest_policy"
	ClaimGuestSVN    = "guest_svn"
	ClaimVMPL        = "vmpl"
	ClaimFirmware    = "firmware"
	ClaimSigner      = "signer"
	// ClaimHostChip is sha256("gantry-snp-chip-1" ‖ CHIP_ID) in hex: the host's processor, not a GPU. Absent where the
	// host masks CHIP_ID or the report is signed with a VLEK.
	ClaimHostChip = "host_chip"
)

// Options of a [Verifier].
type Options struct {
	Policy Policy
	// Roots are those trusted; nil for AMD's.
	Roots Roots
	// Collateral supplies revocation lists, see [CollateralCRL]; nil for none.
	Collateral attest.Collateral
}

// Verifier checks SEV-SNP evidence. It is safe for concurrent use.
type Verifier struct {
	policy     Policy
	roots      Roots
	collateral attest.Collateral
}

var _ attest.Verifier = (*Verifier)(nil)

// New makes a verifier.
func New(o Options) (*Verifier, error) {
	if o.Roots == nil {
		pinned, err := PinnedRoots()
		if err != nil {
			return nil, err
		}
		o.Roots = pinned
	}
	if o.Policy.MaxVMPL > 3 {
		return nil, fmt.Errorf("there is no privilege level %d, only 0 to 3", o.Policy.MaxVMPL)
	}
	return &Verifier{policy: o.Policy, roots: o.Roots, collateral: o.Collateral}, nil
}

// Kind is [attest.KindSNP].
func (v *Verifier) Kind() attest.Kind { return attest.KindSNP }

// Verify implements [attest.Verifier].
func (v *Verifier) Verify(e attest.Evidence, b attest.Binding, now time.Time) (attest.Result, error) {
	res := attest.Result{Kind: attest.KindSNP, Instance: e.Instance}
	err := v.verify(e, b, now, &res)
	return res, err
}

func (v *Verifier) verify(e attest.Evidence, b attest.Binding, now time.Time, res *attest.Result) error {
	if e.Kind != attest.KindSNP || e.Instance != 0 {
		return res.Fail(CheckFormat, attest.ErrMalformed, "this is %v %d, not the machine's SEV-SNP report", e.Kind, e.Instance)
	}
	raw, ok := e.Item(ItemReport)
	if !ok {
		return res.Fail(CheckFormat, attest.ErrMalformed, "there is no item %q", ItemReport)
	}
	report, err := ParseReport(raw)
	if err != nil {
		return fail(res, CheckFormat, err)
	}
	chain, err := ParseChain(e)
	if err != nil {
		return fail(res, CheckFormat, err)
	}
	res.Pass(CheckFormat, "version %d", report.proto.GetVersion())
	t, err := Verify(report, chain, v.roots, now)
	if err != nil {
		return fail(res, CheckChain, err)
	}
	res.Pass(CheckChain, "%v, %s, pinned %s", chain.Signer, t.ask.Subject.CommonName, t.root.ARK.Subject.CommonName)
	t.claims(res)
	if err := v.checkRevocation(t, now, res); err != nil {
		return err
	}
	if err := v.policy.Validate(t, b.ReportData(), res); err != nil {
		return err
	}
	res.Confidential = !report.Debug()
	return nil
}

func (v *Verifier) checkRevocation(t *Trusted, now time.Time, res *attest.Result) error {
	var crl []byte
	err := attest.ErrNoCollateral
	if v.collateral != nil {
		crl, err = v.collateral.Get(CollateralCRL(t.Product))
	}
	switch {
	case errors.Is(err, attest.ErrNoCollateral) && !v.policy.RequireRevocation:
		res.Skip(CheckRevoked, "no revocation list for %s was supplied", t.Product)
		return nil
	case err != nil:
		return fail(res, CheckRevoked, err)
	}
	if err := t.CheckRevocation(crl, now); err != nil {
		return fail(res, CheckRevoked, err)
	}
	res.Pass(CheckRevoked, "no certificate of the chain is in the root's list")
	return nil
}

// claims writes down what the report says, once its signature is known to be good.
func (t *Trusted) claims(res *attest.Result) {
	r := t.Report
	measurement, hostData, chip := r.Measurement(), r.HostData(), r.ChipID()
	res.Claim(ClaimProduct, t.Product)
	res.Claim(ClaimTCB, r.TCB().String())
	res.Claim(ClaimMeasurement, hex.EncodeToString(measurement[:]))
	res.Claim(ClaimHostData, hex.EncodeToString(hostData[:]))
	res.Claim(ClaimGuestPolicy, fmt.Sprintf("0x%x", r.proto.GetPolicy()))
	res.Claim(ClaimGuestSVN, fmt.Sprint(r.proto.GetGuestSvn()))
	res.Claim(ClaimVMPL, fmt.Sprint(r.VMPL()))
	res.Claim(ClaimFirmware, fmt.Sprintf("%d.%d.%d", r.proto.GetCurrentMajor(), r.proto.GetCurrentMinor(), r.proto.GetCurrentBuild()))
	res.Claim(ClaimSigner, t.Chain.Signer.String())
	if allZero(chip[:]) {
		res.Skip(CheckChip, "the report names no processor: the host masks it, or the report is signed with a VLEK")
		return
	}
	id := sha256.Sum256(append([]byte("gantry-snp-chip-1"), chip[:]...))
	res.Claim(ClaimHostChip, hex.EncodeToString(id[:]))
	res.Pass(CheckChip, "the one that the VCEK was issued to; it is the host's processor, not a GPU")
}

// fail notes a failed check whose error carries its own sentinel.
func fail(res *attest.Result, name string, err error) error {
	res.Checks = append(res.Checks, attest.Check{Name: name, Outcome: attest.Failed, Detail: err.Error()})
	return fmt.Errorf("%s: %w", name, err)
}
