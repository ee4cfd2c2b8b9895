package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/tdx"
	"github.com/gantry-market/gantry/attest/tpm"
)

// floor are the checks without which a tier would not mean what it is documented to mean: a quote whose key is not
// known to live in a TPM can be made by anybody who has a TPM's certificate, which is public; a guest whose launch is
// compared with nothing, and a GPU whose measurements are, may run anything; a report that names no processor may come
// from one that is known to be broken.
func floor() map[string][]string {
	return map[string][]string{
		"inventory": {inventory.CheckFormat},
		"gpu":       {nvgpu.CheckNonce, nvgpu.CheckChain, nvgpu.CheckSignature, nvgpu.CheckMeasurements, nvgpu.CheckMode},
		"tpm":       {tpm.CheckEKChain, tpm.CheckAK, tpm.CheckActivation, tpm.CheckSignature, tpm.CheckFreshness, tpm.CheckHierarchy},
		"guest":     {guest.CheckSignature},
		"snp":       {snp.CheckChain, snp.CheckReportData, snp.CheckDebug, snp.CheckMeasurement, snp.CheckTCB, snp.CheckChip},
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
	if len(p.SNP.Measurements) > 0 {
		for i, tcb := range []SNPTCB{p.SNP.MinTCB, p.SNP.MinLaunchTCB} {
			if tcb.Bootloader == 0 || tcb.SNP == 0 || tcb.Microcode == 0 {
				name := []string{"min_tcb", "min_launch_tcb"}[i]
				return fmt.Errorf("%w: snp.%s names no least bootloader, snp and microcode: firmware with known holes could vouch for a guest", ErrDocument, name)
			}
		}
	}
	for _, m := range p.TDX.Measurements {
		if m.RTMRs[1] == "" || m.RTMRs[2] == "" {
			return fmt.Errorf("%w: tdx.measurements: MRTD %.16s… without registers 1 and 2 is firmware that starts any kernel", ErrDocument, m.MRTD)
		}
	}
	return nil
}
