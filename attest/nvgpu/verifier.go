package nvgpu

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gantry-market/gantry/attest"
)

// Names of checks in a result.
const (
	CheckParse        = "report form"
	CheckNonce        = "nonce"
	CheckChain        = "certificate chain"
	CheckSignature    = "report signature"
	CheckFWID         = "firmware id"
	CheckChip         = "chip"
	CheckBoard        = "board"
	CheckDriver       = "driver version"
	CheckVBIOS        = "VBIOS version"
	CheckRevocation   = "revocation of the GPU's certificates"
	CheckDriverRIM    = "driver manifest"
	CheckVBIOSRIM     = "VBIOS manifest"
	CheckMeasurements = "measurements"
	CheckMode         = "confidential mode"
)

// Names of claims in a result.
const (
	ClaimChip     = "chip"
	ClaimBoard    = "board"
	ClaimDriver   = "driver"
	ClaimVBIOS    = "vbios"
	ClaimFWID     = "fwid"
	ClaimFeature  = "feature"
	ClaimMeasured = "measurements"
	// ClaimSynthetic is there, and "true", only when the roots are not NVIDIA's.
	ClaimSynthetic = "synthetic"
)

// Options of a verifier.
type Options struct {
	Policy Policy
	// Collateral has manifests and revocation data, by the keys of [DriverRIMKey], [VBIOSRIMKey], [CRLKey] and
	// [OCSPKey]. Nil: there is none.
	Collateral attest.Collateral
	// Roots other than NVIDIA's are for synthetic evidence.
	Roots Roots
}

// Verifier checks evidence of kind [attest.KindNVGPU]. It is safe for concurrent use if its collateral is.
type Verifier struct {
	o    Options
	seen *seen
}

var _ attest.Verifier = (*Verifier)(nil)

// New returns a verifier.
func New(o Options) *Verifier { return &Verifier{o, &seen{}} }

// Kind implements [attest.Verifier].
func (v *Verifier) Kind() attest.Kind { return attest.KindNVGPU }

// Verify implements [attest.Verifier]. A report that does not parse, answers another nonce or is not signed by an
// NVIDIA GPU ends it at once. Of a genuine report everything is checked, and the error is that of the first failure.
func (v *Verifier) Verify(e attest.Evidence, b attest.Binding, now time.Time) (attest.Result, error) {
	return v.VerifyNonce(e, b.GPU(), now)
}

// VerifyNonce is Verify for evidence of other origin than a challenge: nonce is what the report itself must carry.
func (v *Verifier) VerifyNonce(e attest.Evidence, nonce [32]byte, now time.Time) (attest.Result, error) {
	s := session{Verifier: v, now: now, result: attest.Result{Kind: attest.KindNVGPU, Instance: e.Instance}}
	if err := s.authenticate(e, nonce); err != nil {
		return s.result, err
	}
	s.describe()
	s.identity()
	s.versions()
	s.revocation()
	s.measurements()
	s.mode()
	return s.result, s.err
}

// session is one call of Verify.
type session struct {
	*Verifier
	now    time.Time
	result attest.Result
	err    error

	roots    Roots
	report   *Report
	chain    *Chain
	measured bool
}

// fail notes a failed check of a genuine report; the first one is the call's error.
func (s *session) fail(name string, err error) {
	if failed := s.result.Fail(name, sentinel(err), "%s", detail(err)); s.err == nil {
		s.err = failed
	}
}

// judge notes a policy's check: refused is why it fails.
func (s *session) judge(name, refused, format string, args ...any) {
	if refused != "" {
		s.fail(name, fmt.Errorf("%s: %w", refused, attest.ErrPolicy))
		return
	}
	s.result.Pass(name, format, args...)
}

// authenticate checks everything that must hold before any content of the report is used.
func (s *session) authenticate(e attest.Evidence, nonce [32]byte) error {
	abort := func(name string, err error) error { return s.result.Fail(name, sentinel(err), "%s", detail(err)) }
	report, certificates, err := items(e)
	if err != nil {
		return abort(CheckParse, err)
	}
	if s.report, err = ParseReport(report); err != nil {
		return abort(CheckParse, err)
	}
	if s.chain, err = ParseChain(certificates); err != nil {
		return abort(CheckParse, err)
	}
	s.result.Pass(CheckParse, "SPDM 1.1 with %d measurements and %d certificates", len(s.report.Blocks), len(s.chain.Certificates))
	if s.report.Nonce != nonce {
		return abort(CheckNonce, fmt.Errorf("the report answers %x, not %x: %w", s.report.Nonce, nonce, attest.ErrStale))
	}
	s.result.Pass(CheckNonce, "%x", s.report.Nonce)
	if s.roots, err = s.o.Roots.resolve(); err != nil {
		return abort(CheckChain, err)
	}
	if err := s.roots.checkDevice(s.chain, s.now, s.seen); err != nil {
		return abort(CheckChain, err)
	}
	s.result.Pass(CheckChain, "%s to the pinned root %s", name(s.chain.Certificates[0]), name(s.roots.Device))
	if err := s.report.CheckSignature(s.chain.Certificates[0]); err != nil {
		return abort(CheckSignature, err)
	}
	s.result.Pass(CheckSignature, "ECDSA P-384 by %s", name(s.chain.Certificates[0]))
	return nil
}

// items returns the two items that evidence consists of.
func items(e attest.Evidence) (report, certificates []byte, err error) {
	if e.Kind != attest.KindNVGPU {
		return nil, nil, malformed("evidence", "of kind %s", e.Kind)
	}
	report, has := e.Item(ItemReport)
	certificates, also := e.Item(ItemCertificates)
	if !has || !also || len(e.Items) != 2 {
		return nil, nil, malformed("evidence", "%d items, want %s and %s", len(e.Items), ItemCertificates, ItemReport)
	}
	return report, certificates, nil
}

// describe writes down what the report says, now that it is genuine.
func (s *session) describe() {
	o := s.report.Opaque
	id := s.chain.DeviceID()
	s.result.Devices = []attest.Device{{Identity: id[:], Model: "NVIDIA " + s.chain.Leaf.Chip + " " + o.Board().String()}}
	s.result.Keys = [][32]byte{s.chain.LeafDigest()}
	s.result.Claim(ClaimChip, s.chain.Leaf.Chip)
	s.result.Claim(ClaimBoard, o.Board().String())
	s.result.Claim(ClaimDriver, o.Driver())
	s.result.Claim(ClaimVBIOS, o.VBIOS())
	s.result.Claim(ClaimFWID, fmt.Sprintf("%x", s.chain.Leaf.FWID))
	if f, has := o.Feature(); has {
		s.result.Claim(ClaimFeature, f.String())
	}
	if s.roots.synthetic() {
		s.result.Claim(ClaimSynthetic, "true")
	}
}

// identity checks that report and certificates speak of one chip and one firmware.
func (s *session) identity() {
	leaf, o := s.chain.Leaf, s.report.Opaque
	issuer := s.chain.Certificates[len(s.chain.Certificates)-2].Subject.CommonName
	switch stated := o.Text(FieldChip); {
	case stated != "" && stated != leaf.Chip:
		s.fail(CheckChip, untrusted("the report says %s, its certificate %s", stated, leaf.Chip))
	case !strings.HasPrefix(issuer, vendor+" "+leaf.Chip+" "):
		s.fail(CheckChip, untrusted("the certificate says %s and leads to %.64q", leaf.Chip, issuer))
	default:
		s.judge(CheckChip, s.o.Policy.chip(leaf.Chip), "%s", leaf.Chip)
	}
	s.judge(CheckBoard, s.o.Policy.board(o.Board()), "%s", o.Board())
	s.firmware()
}

func (s *session) firmware() {
	stated, has := s.report.Opaque[FieldFWID]
	if refused := s.o.Policy.firmware(s.chain.Leaf.FWID); refused != "" {
		s.fail(CheckFWID, fmt.Errorf("%s: %w", refused, attest.ErrPolicy))
		return
	}
	switch {
	case has && [fwidSize]byte(stated) != s.chain.Leaf.FWID:
		s.fail(CheckFWID, untrusted("the report is of firmware %x, its certificate of %x", stated, s.chain.Leaf.FWID))
	case has:
		s.result.Pass(CheckFWID, "%x in report and certificate", stated)
	case s.o.Policy.RequireReportFWID:
		s.fail(CheckFWID, fmt.Errorf("the report does not state it: %w", attest.ErrPolicy))
	default:
		s.result.Skip(CheckFWID, "the report does not state it; its certificate says %x", s.chain.Leaf.FWID)
	}
}

func (s *session) versions() {
	o := s.report.Opaque
	s.judge(CheckDriver, s.o.Policy.driver(o.Driver()), "%s", o.Driver())
	s.judge(CheckVBIOS, s.o.Policy.vbios(o.VBIOS()), "%s", o.VBIOS())
}

// mode says whether this is confidential computing with debugging off. The report has no flag for debugging: NVIDIA's
// golden measurements are those of production firmware, so that a match is what says it.
func (s *session) mode() {
	if mode, refused := s.refuseMode(); refused != "" {
		s.fail(CheckMode, fmt.Errorf("%s: %w", refused, attest.ErrPolicy))
	} else if s.err != nil {
		s.result.Skip(CheckMode, "%s; another check failed", mode)
	} else if !s.measured {
		s.result.Skip(CheckMode, "%s; measurements not compared, so that debugging may be on", mode)
	} else {
		s.result.Confidential = true
		s.result.Pass(CheckMode, "%s, with production firmware", mode)
	}
}

func (s *session) refuseMode() (mode, refused string) {
	o := s.report.Opaque
	feature, has := o.Feature()
	if !has {
		mode = "mode not stated"
		if s.o.Policy.RequireFeature {
			return mode, mode
		}
	} else {
		mode = feature.String()
	}
	pcie, stated := o.Status(FieldProtectedPCI)
	switch {
	case has && feature > FeaturePPCIE:
		return mode, "unknown " + mode
	case stated && pcie != StatusEnabled && pcie != StatusDisabled:
		return mode, fmt.Sprintf("protected PCIe has status %#02x", pcie)
	case has && stated && (feature == FeaturePPCIE) != (pcie == StatusEnabled):
		return mode, fmt.Sprintf("%s with protected PCIe status %#02x", mode, pcie)
	case (has && feature == FeaturePPCIE || pcie == StatusEnabled) && !s.o.Policy.AllowPPCIE:
		return mode, "protected PCIe leaves NVLink in the clear"
	}
	return mode, ""
}

// sentinel returns what kind of error it is, for the result.
func sentinel(err error) error {
	for _, s := range []error{
		attest.ErrMalformed, attest.ErrUntrusted, attest.ErrStale, attest.ErrPolicy, attest.ErrNoCollateral,
	} {
		if errors.Is(err, s) {
			return s
		}
	}
	return err
}

// detail is an error's text without its sentinel's, which the result adds.
func detail(err error) string {
	return strings.TrimSuffix(err.Error(), ": "+sentinel(err).Error())
}
