package inventory

import (
	"strconv"
	"time"

	"github.com/gantry-market/gantry/attest"
)

// Names of the checks in a result.
const (
	CheckFormat    = "format"
	CheckClaim     = "truth"
	CheckSimulated = "real devices"
)

// Names of the claims in a result.
const (
	ClaimGPUs      = "gpus"
	ClaimSimulated = "simulated"
	ClaimDriver    = "driver"
)

// Verifier reads inventories. It cannot find out whether they are true and says so.
type Verifier struct{}

var _ attest.Verifier = Verifier{}

// Kind is [attest.KindInventory].
func (Verifier) Kind() attest.Kind { return attest.KindInventory }

// Verify implements [attest.Verifier]. The devices are the GPUs, by UUID.
func (Verifier) Verify(e attest.Evidence, _ attest.Binding, _ time.Time) (attest.Result, error) {
	r := attest.Result{Kind: attest.KindInventory, Instance: e.Instance}
	i, err := FromEvidence(e)
	if err != nil {
		return r, r.Fail(CheckFormat, attest.ErrMalformed, "%v", err)
	}
	r.Pass(CheckFormat, "%d GPUs, %d cores, %d MiB of memory", len(i.GPUs), i.Cores, i.RAMMiB)
	for _, g := range i.GPUs {
		r.Devices = append(r.Devices, attest.Device{Identity: []byte(g.UUID), Model: g.Model})
	}
	r.Claim(ClaimGPUs, strconv.Itoa(len(i.GPUs)))
	r.Claim(ClaimSimulated, strconv.FormatBool(i.Simulated))
	if i.Driver != "" {
		r.Claim(ClaimDriver, i.Driver)
	}
	if i.Simulated {
		r.Skip(CheckSimulated, "the machine says itself that its GPUs are simulated")
	}
	r.Skip(CheckClaim, "what the machine says of itself: a claim, not a proof")
	return r, nil
}
