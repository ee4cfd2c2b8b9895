package collect

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/tpm"
)

// State is what came of looking for a kind of evidence.
type State string

// States.
const (
	// Found: it is in the bundle.
	Found State = "found"
	// Absent: this machine has none; the detail says why.
	Absent State = "absent"
	// Failed: it should be there and could not be had.
	Failed State = "failed"
)

// Finding says for one kind of evidence whether the machine has it.
type Finding struct {
	Kind     attest.Kind `json:"-"`
	Name     string      `json:"kind"`
	Instance uint16      `json:"instance"`
	State    State       `json:"state"`
	Detail   string      `json:"detail"`
}

// TPM is the machine's TPM: attest/tpm/device.
type TPM interface {
	AK(ctx context.Context) (tpm.AK, error)
	attest.Collector
}

// Sources are where evidence comes from. A source that is nil is reported as absent.
type Sources struct {
	// Inventory reads what the machine is.
	Inventory func(context.Context) (inventory.Inventory, error)
	// GPUs asks the GPUs for reports over a nonce.
	GPUs func(ctx context.Context, nonce [32]byte) ([]GPUReport, error)
	// TEE asks the confidential machine for a report over 64 bytes.
	TEE func(ctx context.Context, reportData [64]byte) (attest.Evidence, error)
	TPM TPM
	// Measured: this process is the whole machine, a measured guest. So its key is in the bundle also where no TEE vouches
	// for it, for the TPM's quote to cover.
	Measured bool
}

// GPUReport is one GPU's evidence.
type GPUReport struct {
	Evidence attest.Evidence
	// Err is not nil if there is no evidence; Evidence has the instance all the same.
	Err error
}

// Options of New. Key is required.
type Options struct {
	Sources Sources
	// Key is the node's; it signs the bundles.
	Key ed25519.PrivateKey
	// Guest is this process's own key, which goes into bundles of confidential machines; nil makes one.
	Guest *guest.Key
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Collector collects bundles. It must not be used concurrently: devices answer one at a time.
type Collector struct{ o Options }

// New checks the options.
func New(o Options) (*Collector, error) {
	if len(o.Key) != ed25519.PrivateKeySize {
		return nil, errors.New("evidence: the node's key is required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Guest == nil {
		var err error
		if o.Guest, err = guest.NewKey(); err != nil {
			return nil, err
		}
	}
	return &Collector{o: o}, nil
}

// Collect answers a challenge with a signed bundle, of which more is a part, and says what it found. The error is the context's, or that the
// bundle could not be made at all; a device that fails is a finding.
func (c *Collector) Collect(ctx context.Context, challenge attest.Challenge, more ...attest.Evidence) (*bundle.Bundle, []Finding, error) {
	b, findings, err := Gather(ctx, c.o.Sources, c.o.Guest, challenge, more...)
	if err != nil {
		return nil, findings, err
	}
	b.Created = c.o.Now().Unix()
	if err := b.Sign(c.o.Key); err != nil {
		return nil, findings, fmt.Errorf("sign the bundle: %w", err)
	}
	return b, findings, nil
}

// Gather is Collect without the node's signature and the time: for a process that has another key than the node, whose
// bundle the node signs.
func Gather(
	ctx context.Context, sources Sources, key *guest.Key, challenge attest.Challenge, more ...attest.Evidence,
) (*bundle.Bundle, []Finding, error) {
	r := collection{sources: sources, guest: key, ctx: ctx, binding: challenge.Binding(), b: &bundle.Bundle{Challenge: challenge}}
	for _, e := range more {
		r.add(e, "%d bytes", size(e))
	}
	r.inventory()
	r.gpus()
	ak := r.attestationKey()
	r.tee()
	if err := ctx.Err(); err != nil {
		return nil, r.findings, err
	}
	if ak {
		r.tpm()
	}
	if err := ctx.Err(); err != nil {
		return nil, r.findings, err
	}
	r.b.Sort()
	return r.b, r.findings, nil
}

// collection is the work of one Gather.
type collection struct {
	sources  Sources
	guest    *guest.Key
	ctx      context.Context
	binding  attest.Binding
	b        *bundle.Bundle
	findings []Finding
}

func (r *collection) note(kind attest.Kind, instance uint16, state State, format string, args ...any) {
	r.findings = append(r.findings, Finding{kind, kind.String(), instance, state, fmt.Sprintf(format, args...)})
}

// missing reports why there is no evidence of a kind.
func (r *collection) missing(kind attest.Kind, instance uint16, err error) {
	state := Failed
	if errors.Is(err, attest.ErrAbsent) {
		state = Absent
	}
	r.note(kind, instance, state, "%s", strings.TrimSuffix(err.Error(), ": "+attest.ErrAbsent.Error()))
	if kind == attest.KindSNP {
		r.findings[len(r.findings)-1].Name = "SEV-SNP or TDX report"
	}
}

func (r *collection) add(e attest.Evidence, format string, args ...any) {
	r.b.Evidence = append(r.b.Evidence, e)
	r.note(e.Kind, e.Instance, Found, format, args...)
}

// errNotAsked is the reason for a source that is not there.
var errNotAsked = fmt.Errorf("not looked for: %w", attest.ErrAbsent)

func (r *collection) inventory() {
	if r.sources.Inventory == nil {
		r.missing(attest.KindInventory, 0, errNotAsked)
		return
	}
	inv, err := r.sources.Inventory(r.ctx)
	if err == nil {
		var e attest.Evidence
		if e, err = inv.Evidence(); err == nil {
			r.add(e, "%d GPUs, %d cores, %d MiB of memory%s", len(inv.GPUs), inv.Cores, inv.RAMMiB, simulated(inv))
			return
		}
	}
	r.missing(attest.KindInventory, 0, err)
}

func simulated(i inventory.Inventory) string {
	if i.Simulated {
		return "; the GPUs are SIMULATED"
	}
	return ""
}

func (r *collection) gpus() {
	if r.sources.GPUs == nil {
		r.missing(attest.KindNVGPU, 0, errNotAsked)
		return
	}
	reports, err := r.sources.GPUs(r.ctx, r.binding.GPU())
	if err != nil {
		r.missing(attest.KindNVGPU, 0, err)
		return
	}
	for _, g := range reports {
		if g.Err != nil {
			r.missing(attest.KindNVGPU, g.Evidence.Instance, g.Err)
			continue
		}
		r.add(g.Evidence, "%d bytes", size(g.Evidence))
	}
}

// attestationKey binds the TPM's key before the TEE reports, and says whether there is a TPM.
func (r *collection) attestationKey() bool {
	if r.sources.TPM == nil {
		r.missing(attest.KindTPM, 0, errNotAsked)
		return false
	}
	ak, err := r.sources.TPM.AK(r.ctx)
	if err != nil {
		r.missing(attest.KindTPM, 0, err)
		return false
	}
	r.binding.Keys = append(r.binding.Keys, ak.Name.Digest())
	return true
}

// tee has the confidential machine vouch for what was collected, under this process's key.
func (r *collection) tee() {
	if r.sources.TEE == nil {
		r.missing(attest.KindSNP, 0, errNotAsked)
		r.key()
		return
	}
	r.b.Sort()
	vouched, err := r.guest.Vouch(r.b.Evidence, r.binding, func(data [64]byte) (attest.Evidence, error) {
		return r.sources.TEE(r.ctx, data)
	})
	if err != nil {
		r.missing(attest.KindSNP, 0, err)
		r.key()
		return
	}
	for _, e := range vouched {
		r.add(e, "%d bytes", size(e))
	}
}

// key adds this process's key, for which no TEE vouches, where the process is a measured guest.
func (r *collection) key() {
	if !r.sources.Measured {
		return
	}
	r.b.Sort()
	e, err := r.guest.Evidence(r.b.Evidence, r.binding)
	if err != nil {
		r.missing(attest.KindGuest, 0, err)
		return
	}
	r.add(e, "%d bytes", size(e))
}

// tpm quotes over everything else, last.
func (r *collection) tpm() {
	r.b.Sort()
	others, err := bundle.Others(r.b.Evidence)
	if err != nil {
		r.missing(attest.KindTPM, 0, err)
		r.withoutTPM()
		return
	}
	r.binding.Others = others
	list, err := r.sources.TPM.Collect(r.ctx, r.binding.Qualifying())
	if err != nil {
		r.missing(attest.KindTPM, 0, err)
		r.withoutTPM()
		return
	}
	for _, e := range list {
		r.add(e, "%d bytes, over the %d other pieces", size(e), len(r.b.Evidence))
	}
}

// withoutTPM asks the TEE again: its first report binds a key whose quote is not in the bundle, which no verifier would
// accept.
func (r *collection) withoutTPM() {
	vouches := func(k attest.Kind) bool { return k == attest.KindGuest || k == attest.KindSNP || k == attest.KindTDX }
	r.binding.Keys = nil
	before := len(r.b.Evidence)
	r.b.Evidence = slices.DeleteFunc(r.b.Evidence, func(e attest.Evidence) bool { return vouches(e.Kind) })
	if len(r.b.Evidence) == before {
		return
	}
	r.findings = slices.DeleteFunc(r.findings, func(f Finding) bool { return vouches(f.Kind) })
	r.tee()
}

func size(e attest.Evidence) int {
	n := 0
	for _, i := range e.Items {
		n += len(i.Data)
	}
	return n
}
