package policy

import (
	"fmt"
	"slices"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/tdx"
	"github.com/gantry-market/gantry/attest/tpm"
)

// Verdict is what can be said of a bundle as a whole.
type Verdict uint8

// Verdicts, in the order of their weight.
const (
	// Sound: nothing failed.
	Sound Verdict = 1
	// Unproven: something failed that may be no fault of the node's. It counts for nothing.
	Unproven Verdict = 2
	// False: the node has signed something that is not so.
	False Verdict = 3
)

func (v Verdict) String() string {
	switch v {
	case Sound:
		return "sound"
	case Unproven:
		return "unproven"
	case False:
		return "FALSE"
	}
	return fmt.Sprintf("verdict %d", uint8(v))
}

// blames lists the checks that a node can make true by itself: that evidence answers its challenge, and the rest of the
// bundle. Whatever else fails can be the fault of time, of what the verifier trusts, or of a format too new for it.
func blames(kind attest.Kind) []string {
	switch kind {
	case attest.KindNVGPU:
		return []string{nvgpu.CheckNonce}
	case attest.KindTPM:
		return []string{tpm.CheckFreshness}
	case attest.KindGuest:
		return []string{guest.CheckSignature}
	case attest.KindSNP:
		return []string{snp.CheckReportData}
	case attest.KindTDX:
		return []string{tdx.CheckReportData}
	}
	return nil
}

// verdictOf classifies a failure of a piece.
func verdictOf(r *attest.Result, err error) Verdict {
	if err == nil {
		return Sound
	}
	for _, c := range r.Checks {
		if c.Outcome == attest.Failed && slices.Contains(blames(r.Kind), c.Name) {
			return False
		}
	}
	return Unproven
}

// Piece is what came of one piece of evidence.
type Piece struct {
	attest.Result
	// Err is the first failure, nil if nothing failed.
	Err error
	// Lacks is the first check that the policy requires of such evidence and that has not passed, in words; empty for none.
	Lacks string
}

// Synthetic reports whether the piece rests on a root that is not the maker's.
func (p *Piece) Synthetic() bool { return p.Claims[claimSynthetic] == "true" }

// OnChain is what a report says of a bundle.
type OnChain struct {
	Tier uint8
	// EvidenceHash names the bundle on chain, see [EvidenceHash].
	EvidenceHash [32]byte
	// DeviceRoot is [DeviceRoot] over the GPUs of the inventory: the devices that were claimed on chain.
	DeviceRoot [32]byte
	// PolicyHash is the digest of the policy that the tier was found with.
	PolicyHash [32]byte
	// Expiry is the unix second after which the tier is worth nothing.
	Expiry int64
}

// Claims is everything that follows from a bundle.
type Claims struct {
	OnChain
	Verdict Verdict
	// Bundle holds the checks of the bundle itself and of what binds its pieces to each other. Its Kind is 0.
	Bundle attest.Result
	// Pieces are in the bundle's order.
	Pieces []Piece
	// Why says for each tier above the given one what it lacks, in words.
	Why []string
	// Devices are all that the evidence names: GPUs by UUID (inventory), GPUs by key (their reports), and others.
	Devices []Device
	// Simulated is true when the machine says that its GPUs are simulated.
	Simulated bool
	// Shown is the tier that a customer may go by: Tier, but where the policy allows what is synthetic, simulated GPUs
	// count as GPUs.
	Shown uint8
	// Guest is what the evidence lacks to show a measured guest, in words; empty for one. It has no GPU, and so no tier.
	Guest []string
}

// Of returns the pieces of a kind.
func (c *Claims) Of(kind attest.Kind) []*Piece {
	var out []*Piece
	for i := range c.Pieces {
		if c.Pieces[i].Kind == kind {
			out = append(out, &c.Pieces[i])
		}
	}
	return out
}

// Attested are the hashes of the GPUs that proved their identity with a key of their own.
func (c *Claims) Attested() [][32]byte {
	var out [][32]byte
	for _, d := range c.Devices {
		if d.Kind != attest.KindNVGPU {
			continue
		}
		for _, p := range c.Of(attest.KindNVGPU) {
			if p.Instance == d.Instance && p.Err == nil {
				out = append(out, d.Hash)
			}
		}
	}
	return out
}

// passed reports whether a check of that name was made and holds.
func passed(r *attest.Result, name string) bool {
	found := false
	for _, c := range r.Checks {
		if c.Name != name {
			continue
		}
		if c.Outcome != attest.Passed {
			return false
		}
		found = true
	}
	return found
}
