package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gantry-market/gantry/attest"
)

// tier finds the highest tier whose conditions hold, and the device root. Each missing condition is a sentence.
func (e *evaluation) tier() {
	e.c.DeviceRoot = DeviceRoot(hashesOf(e.c.Devices, attest.KindInventory))
	var base, one, two, three []string
	if !e.signed {
		base = append(base, "the bundle is not signed by the node")
	}
	if !e.fresh {
		base = append(base, "the bundle is not fresh")
	}
	if e.c.Verdict == False {
		base = append(base, "the node has signed something false")
	}
	one = e.tierOne()
	two = e.needs(attest.KindTPM)
	three = e.tierThree()
	if e.inv != nil {
		for _, g := range e.inv.GPUs {
			if g.Split() {
				base = append(base, fmt.Sprintf("GPU %d is split in instances (MIG)", g.Index))
			}
		}
	}
	if e.synthetic && !e.p.AllowSynthetic {
		base = append(base, "a signature rests on a root that its maker did not make")
	}
	e.c.Shown = highest(append(base, one...), two, three)
	e.c.Guest = slices.Concat(base, two, e.needs(attest.KindGuest), e.p.measures())
	if e.c.Simulated {
		base = append(base, "the GPUs are simulated")
		if !e.p.AllowSynthetic {
			e.c.Shown = 0
		}
	}
	e.c.Tier = highest(append(base, one...), two, three)
	switch e.c.Tier {
	case 0:
		e.why(1, append(base, one...))
	case 1:
		e.why(2, two)
		e.why(3, three)
	case 2:
		e.why(3, three)
	}
}

// imagePCR is the register in which a measured guest's kernel, memory disk and command line are.
const imagePCR = 11

// measures says what keeps a policy from telling one image of a guest from another.
func (p Policy) measures() []string {
	if p.Images() {
		return nil
	}
	return []string{fmt.Sprintf("the policy names no image: it has no value of PCR %d", imagePCR)}
}

// Images reports whether the policy names the images that a measured guest may have been started with.
func (p Policy) Images() bool {
	return slices.ContainsFunc(p.TPM.PCRs, func(r PCR) bool { return r.Index == imagePCR && len(r.Values) > 0 })
}

// highest is the tier of evidence of which something is missing for each: one for any at all.
func highest(one, two, three []string) uint8 {
	switch {
	case len(one) > 0:
		return 0
	case len(three) == 0:
		return 3
	case len(two) == 0:
		return 2
	}
	return 1
}

func (e *evaluation) why(tier int, reasons []string) {
	for _, r := range reasons {
		e.c.Why = append(e.c.Why, fmt.Sprintf("not tier %d: %s", tier, r))
	}
}

// needs returns what keeps the one piece of a kind from counting.
func (e *evaluation) needs(kind attest.Kind) []string {
	p, err := e.only(kind)
	if errors.Is(err, errNothing) {
		return []string{"no " + kind.String()}
	}
	if err != nil {
		return []string{err.Error()}
	}
	if lack := e.p.lacks(&p.Result); lack != "" {
		return []string{lack}
	}
	return nil
}

func (e *evaluation) tierOne() []string {
	out := e.needs(attest.KindInventory)
	if e.inv != nil && !realDevices(e.inv) && !e.c.Simulated {
		out = append(out, "the inventory has no GPU")
	}
	return out
}

// tierThree: one confidential machine that binds everything and has a key of its own, and of every GPU a report that
// matches.
func (e *evaluation) tierThree() []string {
	out := append(e.confidentialVM(), e.needs(attest.KindGuest)...)
	reports := e.c.Of(attest.KindNVGPU)
	if len(reports) == 0 {
		return append(out, "no "+attest.KindNVGPU.String())
	}
	for _, name := range []string{CheckDistinct, CheckEveryGPU, CheckSameDriver} {
		if !passed(&e.c.Bundle, name) {
			out = append(out, fmt.Sprintf("%s%s", name, detail(&e.c.Bundle, name)))
		}
	}
	for _, p := range reports {
		switch lack := e.p.lacks(&p.Result); {
		case p.Err != nil:
			out = append(out, p.Err.Error())
		case !p.Ok():
			out = append(out, fmt.Sprintf("%s %d: not checked", p.Kind, p.Instance))
		case lack != "":
			out = append(out, lack)
		case !p.Confidential:
			out = append(out, fmt.Sprintf("GPU %d is not in confidential mode", p.Instance))
		case len(p.Keys) == 0 || len(p.Devices) == 0:
			out = append(out, fmt.Sprintf("GPU %d has no key of its own", p.Instance))
		}
	}
	return out
}

// confidentialVM wants SEV-SNP or TDX, whichever there is.
func (e *evaluation) confidentialVM() []string {
	var out []string
	for _, kind := range []attest.Kind{attest.KindSNP, attest.KindTDX} {
		if len(e.c.Of(kind)) == 0 {
			continue
		}
		lack := e.needs(kind)
		if p, err := e.only(kind); err == nil && !p.Confidential {
			lack = append(lack, fmt.Sprintf("the %s is not of a confidential machine: debugging is on", kind))
		}
		if len(lack) == 0 {
			return nil
		}
		out = append(out, lack...)
	}
	if len(out) == 0 {
		out = []string{"no confidential virtual machine (SEV-SNP or TDX)"}
	}
	return out
}
