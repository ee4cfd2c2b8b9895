package tpm

import (
	"crypto/ed25519"
	"crypto/subtle"
	"strconv"
	"time"

	"github.com/google/go-tpm/tpm2"

	"github.com/gantry-market/gantry/attest"
)

// Options is a verifier's policy.
type Options struct {
	Trust Trust
	// Selection is what a quote must cover, exactly; 0 means [DefaultSelection].
	Selection Selection
	// PCRs are the accepted values; a PCR without an entry may have any.
	PCRs Allowed
	// Activation is how this verifier knows that an attestation key lives in a TPM.
	Activation Activation
	// RequireActivation refuses evidence whose attestation key is not known to live in its TPM. Without that knowledge
	// a quote proves only that someone has the key.
	RequireActivation bool
	// RequireLog refuses evidence without an event log. One that is there must explain LogPCRs in any case.
	RequireLog bool
	// LogPCRs must be what the log's events give; 0 means [FirmwarePCRs], as far as they are quoted.
	LogPCRs Selection
	// RequireSecureBoot refuses machines that did not start with Secure Boot on, as far as the log shows it.
	RequireSecureBoot bool
}

// Activation is what a verifier knows about credential activations.
type Activation struct {
	// Own looks the verifier's own records up: enrolments that [Enroller.Finish] returned here. May be nil.
	Own func(ak Name) (Enrolment, bool)
	// Keepers are those whose signed statements are believed.
	Keepers []ed25519.PublicKey
	// Subject that enrolments must be for; nil accepts any, which suits only auditors who check it otherwise.
	Subject *Subject
	// MaxAge of an enrolment; 0 means any.
	MaxAge time.Duration
}

// clockSkew is how far in the future an enrolment may have been seen: keepers' clocks differ.
const clockSkew = 2 * time.Minute

// Verifier checks evidence of kind [attest.KindTPM]. Safe for concurrent use.
type Verifier struct{ opts Options }

var _ attest.Verifier = (*Verifier)(nil)

// New makes a verifier.
func New(opts Options) *Verifier {
	if opts.Selection == 0 {
		opts.Selection = DefaultSelection
	}
	if opts.LogPCRs == 0 {
		opts.LogPCRs = FirmwarePCRs & opts.Selection
	}
	return &Verifier{opts: opts}
}

// For is the same verifier for one subject's evidence.
func (v *Verifier) For(subject Subject) *Verifier {
	w := *v
	w.opts.Activation.Subject = &subject
	return &w
}

// Kind implements [attest.Verifier].
func (v *Verifier) Kind() attest.Kind { return attest.KindTPM }

// Verify implements [attest.Verifier]. Claims that it sets: "tpm" (maker, model, version), "tpm firmware", "boots"
// (resets since the TPM was cleared), "resumes", "clock" (milliseconds), "clock safe", "secure boot" (enabled,
// disabled, or absent when unknown), "activated by" (this verifier, or a keeper's key). The result names a device only
// when the attestation key is known to live in it: an endorsement key's certificate alone is public.
func (v *Verifier) Verify(e attest.Evidence, b attest.Binding, now time.Time) (attest.Result, error) {
	r := attest.Result{Kind: attest.KindTPM, Instance: e.Instance}
	p, err := Parse(e)
	if err != nil {
		return r, fail(&r, CheckFormat, err)
	}
	r.Pass(CheckFormat, "%d items", len(e.Items))
	r.Pass(CheckAK, "restricted P-256 key of the fixed template, name %s", p.AK.Name)
	if err := v.opts.Trust.check(&r, p.EK, p.Chain, now); err != nil {
		return r, err
	}
	activated, err := v.activation(&r, p, now)
	if err != nil {
		return r, err
	}
	if err := v.quote(&r, p, b); err != nil {
		return r, err
	}
	if err := v.pcrs(&r, p); err != nil {
		return r, err
	}
	if err := v.log(&r, p); err != nil {
		return r, err
	}
	r.Keys = [][32]byte{p.AK.Name.Digest()}
	if activated {
		r.Claim("tpm", p.EK.describe())
		r.Devices = []attest.Device{{Identity: p.EK.Identity[:], Model: p.EK.describe()}}
	}
	return r, nil
}

// quote checks the signature before anything that it covers.
func (v *Verifier) quote(r *attest.Result, p Parts, b attest.Binding) error {
	if err := p.Quote.VerifySignature(p.AK, p.Signature); err != nil {
		return fail(r, CheckSignature, err)
	}
	r.Pass(CheckSignature, "ECDSA on P-256 with SHA-256 by the attestation key")
	want := b.Qualifying()
	if subtle.ConstantTimeCompare(p.Quote.Extra, want[:]) != 1 {
		return r.Fail(CheckFreshness, attest.ErrStale, "qualifying data %x, want %x: it answers another nonce or other evidence", p.Quote.Extra, want)
	}
	r.Pass(CheckFreshness, "qualifying data binds the nonce and all other evidence")
	if p.Quote.Signer != p.AK.Name.Qualified(tpm2.TPMRHEndorsement) {
		return r.Fail(CheckHierarchy, attest.ErrPolicy, "signer's qualified name %s is not that of a primary key of the endorsement hierarchy", p.Quote.Signer)
	}
	r.Pass(CheckHierarchy, "the attestation key is a primary key of the endorsement hierarchy")
	r.Skip(CheckBootCounter, "recorded, compared with nothing: %d boots, %d resumes, clock %s", p.Quote.Resets, p.Quote.Restarts, p.Quote.Clock)
	r.Claim("tpm firmware", strconv.FormatUint(p.Quote.Firmware, 16))
	r.Claim("boots", strconv.FormatUint(uint64(p.Quote.Resets), 10))
	r.Claim("resumes", strconv.FormatUint(uint64(p.Quote.Restarts), 10))
	r.Claim("clock", strconv.FormatInt(p.Quote.Clock.Milliseconds(), 10))
	r.Claim("clock safe", strconv.FormatBool(p.Quote.Safe))
	return nil
}

func (v *Verifier) pcrs(r *attest.Result, p Parts) error {
	if p.Quote.Selection != v.opts.Selection {
		return r.Fail(CheckSelection, attest.ErrPolicy, "PCRs %s are quoted, want exactly %s", p.Quote.Selection, v.opts.Selection)
	}
	r.Pass(CheckSelection, "PCRs %s of the SHA-256 bank", p.Quote.Selection)
	if got := p.PCRs.Digest(); got != p.Quote.Digest {
		return r.Fail(CheckDigest, attest.ErrUntrusted, "the values' digest is %x, the quote's %x", got, p.Quote.Digest)
	}
	r.Pass(CheckDigest, "the values are those that were quoted")
	if len(v.opts.PCRs) == 0 {
		r.Skip(CheckPCRPolicy, "the policy has no accepted values")
		return nil
	}
	checked, err := v.opts.PCRs.check(p.PCRs)
	if err != nil {
		return r.Fail(CheckPCRPolicy, attest.ErrPolicy, "%v", err)
	}
	r.Pass(CheckPCRPolicy, "PCRs %s have accepted values", Select(checked...))
	return nil
}

func (v *Verifier) log(r *attest.Result, p Parts) error {
	if len(p.Log) == 0 {
		if v.opts.RequireLog || v.opts.RequireSecureBoot {
			return r.Fail(CheckLog, attest.ErrPolicy, "the policy wants an event log and there is none")
		}
		r.Skip(CheckLog, "none was sent")
		r.Skip(CheckSecureBoot, "no event log")
		return nil
	}
	report, err := ReplayLog(p.Log, p.PCRs)
	if err != nil {
		return fail(r, CheckLog, err)
	}
	if missing := v.opts.LogPCRs &^ (report.Explained | report.Untouched); missing != 0 {
		return r.Fail(CheckLog, attest.ErrUntrusted, "its events do not give the quoted values of PCRs %s", missing)
	}
	r.Pass(CheckLog, "%d events give PCRs %s; untouched: %s; not the log's: %s", report.Events, report.Explained, report.Untouched, report.Differs)
	switch boot := report.SecureBoot; {
	case boot.Enabled:
		r.Pass(CheckSecureBoot, "enabled")
		r.Claim("secure boot", "enabled")
	case v.opts.RequireSecureBoot && boot.Known:
		return r.Fail(CheckSecureBoot, attest.ErrPolicy, "disabled")
	case v.opts.RequireSecureBoot:
		return r.Fail(CheckSecureBoot, attest.ErrPolicy, "unknown: %s", boot.Why)
	case boot.Known:
		r.Pass(CheckSecureBoot, "disabled, and the policy does not ask for it")
		r.Claim("secure boot", "disabled")
	default:
		r.Skip(CheckSecureBoot, "%s", boot.Why)
	}
	return nil
}
