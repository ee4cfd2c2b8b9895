package policy

import (
	"fmt"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/inventory"
)

// gpus compares the reports of GPUs with each other and with the inventory.
func (e *evaluation) gpus() {
	reports := e.c.Of(attest.KindNVGPU)
	if len(reports) == 0 {
		return
	}
	r := &e.c.Bundle
	seen := map[[32]byte]uint16{}
	distinct := true
	for _, d := range e.c.Devices {
		if d.Kind != attest.KindNVGPU {
			continue
		}
		if first, twice := seen[d.Hash]; twice {
			distinct = false
			e.failed(r.Fail(CheckDistinct, attest.ErrMalformed, "reports %d and %d are of one GPU", first, d.Instance), e.blame())
		}
		seen[d.Hash] = d.Instance
	}
	if distinct && len(seen) > 0 {
		r.Pass(CheckDistinct, "%d keys in %d reports", len(seen), len(reports))
	}
	if e.inv == nil {
		r.Skip(CheckEveryGPU, "no inventory to compare with")
		return
	}
	reported := map[int]bool{}
	for _, p := range reports {
		reported[int(p.Instance)] = true
	}
	missing := 0
	for _, g := range e.inv.GPUs {
		if !reported[g.Index] {
			missing++
		}
	}
	switch {
	case missing > 0:
		r.Skip(CheckEveryGPU, "%d of %d GPUs have none", missing, len(e.inv.GPUs))
	case len(reports) > len(e.inv.GPUs):
		e.failed(r.Fail(CheckEveryGPU, attest.ErrMalformed, "%d reports, the inventory has %d GPUs", len(reports), len(e.inv.GPUs)), e.blame())
	default:
		r.Pass(CheckEveryGPU, "%d of %d", len(reports), len(e.inv.GPUs))
	}
	e.driver(reports)
}

// driver holds the signed driver version against the one that the machine names.
func (e *evaluation) driver(reports []*Piece) {
	r := &e.c.Bundle
	for _, p := range reports {
		signed := p.Claims["driver"]
		if p.Err != nil || signed == "" || e.inv.Driver == "" {
			r.Skip(CheckSameDriver, "not known of GPU %d", p.Instance)
			return
		}
		if signed != e.inv.Driver {
			r.Skip(CheckSameDriver, "GPU %d reports %s, the machine says %s", p.Instance, signed, e.inv.Driver)
			return
		}
	}
	r.Pass(CheckSameDriver, "%s", e.inv.Driver)
}

// bindings says what the quotes that passed sign. The verifiers have compared the digests.
func (e *evaluation) bindings() {
	r := &e.c.Bundle
	if _, err := e.only(attest.KindTPM); err == nil {
		r.Pass(CheckTPMBinding, "the quote signs the challenge and a digest of %d other pieces", len(e.b.Evidence)-1)
	}
	claims := 0
	for _, piece := range e.b.Evidence {
		if !hasKeys(piece.Kind) && !isTEE(piece.Kind) {
			claims++
		}
	}
	for _, kind := range []attest.Kind{attest.KindSNP, attest.KindTDX} {
		if _, err := e.only(kind); err != nil {
			continue
		}
		r.Pass(CheckTEEBinding, "the %s covers the challenge, %d claims and %d keys", kind, claims, len(e.binding.Keys))
	}
}

// lacks returns the first required check of a kind that a result does not have, or "".
func (p Policy) lacks(r *attest.Result) string {
	for _, name := range p.Require[KindKey(r.Kind)] {
		if !passed(r, name) {
			return fmt.Sprintf("%s: %q did not pass%s", r.Kind, name, detail(r, name))
		}
	}
	return ""
}

func detail(r *attest.Result, name string) string {
	for _, c := range r.Checks {
		if c.Name == name && c.Outcome != attest.Passed {
			return fmt.Sprintf(" (%s: %s)", c.Outcome, c.Detail)
		}
	}
	return " (not checked)"
}

// realDevices reports whether an inventory is of real GPUs.
func realDevices(i *inventory.Inventory) bool { return i != nil && !i.Simulated && len(i.GPUs) > 0 }
