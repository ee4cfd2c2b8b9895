package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/tdx"
	"github.com/gantry-market/gantry/attest/tpm"
)

// floor are the checks without which a tier would not mean what it is documented to mean: a quote whose key is not
// known to live in a TPM can be made by anybody who has a TPM's certificate, which is public; a guest whose launch is
// compared with nothing, and a GPU whose measurements are, may run anything.
func floor() map[string][]string {
	return map[string][]string{
		"inventory": {inventory.CheckFormat},
		"work":      {checkWorkSigner, checkWorkSeed, checkWorkChunks},
		"gpu":       {nvgpu.CheckNonce, nvgpu.CheckChain, nvgpu.CheckSignature, nvgpu.CheckMeasurements, nvgpu.CheckMode},
		"tpm":       {tpm.CheckEKChain, tpm.CheckAK, tpm.CheckActivation, tpm.CheckSignature, tpm.CheckFreshness, tpm.CheckHierarchy},
		"snp":       {snp.CheckChain, snp.CheckReportData, snp.CheckDebug, snp.CheckMeasurement},
		"tdx":       {tdx.CheckChain, tdx.CheckReportData, tdx.CheckDebug, tdx.CheckMeasurement},
	}
}

// checkFloor refuses a policy that does not ask for what a tier means. It is said loudly, and not added in silence: the
// document that is named on chain must say itself what was asked for.
func (p Policy) checkFloor() error {
	least := floor()
	for _, kind := range slices.Sorted(maps.Keys(least)) {
		for _, name := range least[kind] {
			if !slices.Contains(p.Require[kind], name) {
				return fmt.Errorf("%w: require.%s does not name %q, without which no tier means anything", ErrDocument, kind, name)
			}
		}
	}
	return nil
}
