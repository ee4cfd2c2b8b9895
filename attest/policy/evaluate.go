package policy

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/inventory"
)

// Names of the checks of a bundle.
const (
	CheckNodeSignature = "node signature"
	CheckFreshness     = "freshness"
	CheckPieces        = "pieces"
	CheckDistinct      = "distinct GPUs"
	CheckEveryGPU      = "a report of each GPU"
	CheckSameDriver    = "one driver"
	CheckTPMBinding    = "TPM binds the rest"
	CheckTEEBinding    = "TEE binds the rest"
)

// claimSynthetic is "true" in results that rest on roots made for tests.
const claimSynthetic = "synthetic"

// maxSkew is how far a node's clock may be ahead of the verifier's.
const maxSkew = 2 * time.Minute

// order is that in which kinds are verified: keys before what binds them.
var order = []attest.Kind{
	attest.KindInventory, attest.KindSeal, attest.KindNVGPU, attest.KindGuest, attest.KindTPM, attest.KindSNP, attest.KindTDX,
}

// Evaluate runs the verifiers over a bundle, checks what binds its pieces, and finds the tier for a time. It does not
// compare the challenge with anything: the keeper that asked does that, and an auditor looks it up. Claims are complete also
// when err is not nil: then it wraps the first failure, and Verdict says whether the node can be blamed for it.
func Evaluate(b *bundle.Bundle, p Policy, verifiers []attest.Verifier, now time.Time) (Claims, error) {
	e := evaluation{b: b, p: p, now: now, binding: b.Challenge.Binding(), by: map[attest.Kind]attest.Verifier{}}
	if err := e.prepare(verifiers); err != nil {
		return e.c, err
	}
	e.itself()
	if e.wellFormed() { // what is not would only cost time: a keeper judges one bundle at a time
		for _, kind := range order {
			for i := range b.Evidence {
				if b.Evidence[i].Kind == kind {
					e.piece(i)
				}
			}
		}
	}
	e.gpus()
	e.bindings()
	e.tier()
	return e.c, e.first
}

// evaluation is the state of one Evaluate.
type evaluation struct {
	b       *bundle.Bundle
	p       Policy
	now     time.Time
	binding attest.Binding
	by      map[attest.Kind]attest.Verifier
	c       Claims
	first   error
	signed  bool
	fresh   bool
	inv     *inventory.Inventory
	// synthetic: a piece rests on a root that is not the maker's.
	synthetic bool
	// keysLost: a piece gave no key that another may bind, which may fail for that reason alone.
	keysLost bool
}

// prepare computes the digests. Its errors are the caller's: a bundle that was parsed has them.
func (e *evaluation) prepare(verifiers []attest.Verifier) error {
	hash, err := EvidenceHash(e.b)
	if err != nil {
		return err
	}
	if e.c.PolicyHash, err = e.p.Digest(); err != nil {
		return err
	}
	if e.binding.Others, err = bundle.Others(e.b.Evidence); err != nil {
		return err
	}
	if e.binding.Claims, err = bundle.Claims(e.b.Evidence); err != nil {
		return err
	}
	e.c.EvidenceHash, e.c.Verdict = hash, Sound
	e.c.Expiry = e.b.Created + e.p.MaxAgeSecs
	e.c.Pieces = make([]Piece, len(e.b.Evidence))
	for _, v := range verifiers {
		if _, twice := e.by[v.Kind()]; twice {
			return fmt.Errorf("two verifiers for %s", v.Kind())
		}
		e.by[v.Kind()] = v
	}
	return nil
}

func (e *evaluation) failed(err error, v Verdict) {
	if e.first == nil {
		e.first = err
	}
	e.c.Verdict = max(e.c.Verdict, v)
}

// itself checks signature, time and shape of the bundle.
func (e *evaluation) itself() {
	r := &e.c.Bundle
	if err := e.b.VerifySignature(); err != nil {
		// Without a signature nothing can be held against the node.
		e.failed(r.Fail(CheckNodeSignature, attest.ErrUntrusted, "%v", err), Unproven)
	} else {
		e.signed = true
		r.Pass(CheckNodeSignature, "by the key that was challenged")
	}
	created, expiry := time.Unix(e.b.Created, 0), time.Unix(e.b.Challenge.Expiry, 0)
	until := time.Unix(e.c.Expiry, 0)
	stale := func(format string, args ...any) {
		e.failed(r.Fail(CheckFreshness, attest.ErrStale, format, args...), Unproven)
	}
	switch window := time.Duration(e.p.WindowSecs) * time.Second; {
	case e.b.Created < 0 || e.b.Challenge.Expiry < 0 || e.c.Expiry < e.b.Created:
		stale("times before 1970 or after the end of time")
	case created.After(expiry):
		stale("created %s, after the challenge expired at %s", stamp(created), stamp(expiry))
	case created.Before(expiry.Add(-window)):
		stale("created %s, more than %s before the challenge expired", stamp(created), window)
	case created.After(e.now.Add(maxSkew)):
		stale("created %s, later than %s", stamp(created), stamp(e.now))
	case e.now.After(until):
		stale("worth nothing since %s", stamp(until))
	default:
		e.fresh = true
		r.Pass(CheckFreshness, "created %s, worth something until %s", stamp(created), stamp(until))
	}
}

// wellFormed checks how many pieces of each kind there are: none is verified of a bundle that has too many.
func (e *evaluation) wellFormed() bool {
	r, gpus := &e.c.Bundle, 0
	for _, piece := range e.b.Evidence {
		if piece.Kind == attest.KindNVGPU {
			gpus++
		} else if piece.Instance != 0 {
			e.failed(r.Fail(CheckPieces, attest.ErrMalformed, "%s %d: there can be only one, with number 0", piece.Kind, piece.Instance), e.blame())
			return false
		}
	}
	if gpus > inventory.MaxGPUs {
		e.failed(r.Fail(CheckPieces, attest.ErrMalformed, "%d reports of GPUs, a machine has at most %d", gpus, inventory.MaxGPUs), e.blame())
		return false
	}
	return true
}

// blame is False for what the node has signed.
func (e *evaluation) blame() Verdict {
	if e.signed {
		return False
	}
	return Unproven
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// piece runs the verifier of one piece.
func (e *evaluation) piece(i int) {
	ev := e.b.Evidence[i]
	out := &e.c.Pieces[i]
	out.Result = attest.Result{Kind: ev.Kind, Instance: ev.Instance}
	v := e.by[ev.Kind]
	if v == nil {
		out.Skip("everything", "no verifier for this kind")
		e.keysLost = e.keysLost || hasKeys(ev.Kind)
		return
	}
	out.Result, out.Err = v.Verify(ev, e.binding, e.now)
	if out.Err == nil && slices.ContainsFunc(out.Checks, func(c attest.Check) bool { return c.Outcome == attest.Failed }) {
		out.Err = fmt.Errorf("%s %d: a check failed: %w", ev.Kind, ev.Instance, attest.ErrPolicy)
	}
	out.Kind, out.Instance = ev.Kind, ev.Instance
	out.Lacks = e.p.lacks(&out.Result)
	if out.Err != nil {
		out.Err = fmt.Errorf("%s %d: %w", ev.Kind, ev.Instance, out.Err)
		verdict := min(verdictOf(&out.Result, out.Err), e.blame())
		if e.keysLost && isTEE(ev.Kind) {
			verdict = Unproven
		}
		e.failed(out.Err, verdict)
	}
	e.synthetic = e.synthetic || out.Synthetic()
	for _, d := range out.Devices {
		e.c.Devices = append(e.c.Devices, Device{DeviceHash(d.Identity), d.Model, ev.Kind, ev.Instance})
	}
	switch ev.Kind {
	case attest.KindInventory:
		if inv, err := inventory.FromEvidence(ev); err == nil && out.Err == nil {
			e.inv, e.c.Simulated = &inv, inv.Simulated
		}
	case attest.KindGuest, attest.KindTPM:
		e.binding.Keys = append(e.binding.Keys, out.Keys...)
		e.keysLost = e.keysLost || out.Err != nil || len(out.Keys) == 0
	}
}

// hasKeys: evidence of this kind has keys that a TEE binds.
func hasKeys(k attest.Kind) bool { return k == attest.KindGuest || k == attest.KindTPM }

func isTEE(k attest.Kind) bool { return k == attest.KindSNP || k == attest.KindTDX }

// errNothing: a bundle was asked about that has no such evidence.
var errNothing = errors.New("not in the bundle")

// only returns the one piece of a kind that holds, or why there is none.
func (e *evaluation) only(kind attest.Kind) (*Piece, error) {
	all := e.c.Of(kind)
	switch {
	case len(all) == 0:
		return nil, errNothing
	case len(all) > 1:
		return nil, fmt.Errorf("there are %d", len(all))
	case all[0].Err != nil:
		return nil, all[0].Err
	case !all[0].Ok():
		return nil, errors.New("not checked")
	}
	return all[0], nil
}
