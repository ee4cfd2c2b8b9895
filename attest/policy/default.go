package policy

import (
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/tdx"
	"github.com/gantry-market/gantry/attest/tpm"
)

// Fingerprints of the makers' roots that this software has built in.
const (
	nvidiaDeviceRoot = "102bf659d5419614c9d8e6aecebc80454eb26b1df6a769ac720b9a690b167b48"
	nvidiaRIMRoot    = "12977b5115acb0381179279fffeb5a8c4d264971ebb32298023a465fa41df5d1"
	amdMilanRoot     = "69d063b45344d26a2e94e1f4210de49ef555308287d4c174445c95639a540bcd"
	amdGenoaRoot     = "4c6598d19c18719c5dfd4a7d335f674e5bfe1d8f800cea2cf270c10d103db2f1"
	intelRoot        = "44a0196b2b99f889b8e149e95b807a350e7424964399e885a7cbb8ccfab674d3"
)

// Default is the policy where a market has no other. It trusts the makers' roots that are built in, and nothing that a
// market has to decide itself: it names no guest image, so that no machine reaches tier 3, and no maker of TPMs, so
// that none reaches tier 2, before a market's own policy does.
func Default() Policy {
	return Policy{
		Version: Version, Name: "gantry default",
		MaxAgeSecs: 7 * 24 * 3600, WindowSecs: 300,
		Roots: Roots{
			GPU: []string{nvidiaDeviceRoot}, RIM: []string{nvidiaRIMRoot},
			SNP: []string{amdMilanRoot, amdGenoaRoot}, TDX: []string{intelRoot},
		},
		Require: StandardRequire(),
	}
}

// StandardRequire are the checks without which evidence does not count. Revocation and what only some machines have (an
// event log, host data) are left to a market's policy.
func StandardRequire() map[string][]string {
	return map[string][]string{
		"inventory": {inventory.CheckFormat},
		"gpu": {
			nvgpu.CheckNonce, nvgpu.CheckChain, nvgpu.CheckSignature, nvgpu.CheckChip, nvgpu.CheckDriver, nvgpu.CheckVBIOS,
			nvgpu.CheckDriverRIM, nvgpu.CheckVBIOSRIM, nvgpu.CheckMeasurements, nvgpu.CheckMode,
		},
		"guest": {guest.CheckSignature},
		"tpm": {
			tpm.CheckEKChain, tpm.CheckAK, tpm.CheckActivation, tpm.CheckSignature, tpm.CheckFreshness, tpm.CheckHierarchy,
			tpm.CheckSelection, tpm.CheckDigest,
		},
		"snp": {snp.CheckChain, snp.CheckReportData, snp.CheckDebug, snp.CheckMigration, snp.CheckTCB, snp.CheckVMPL, snp.CheckMeasurement, snp.CheckChip},
		"tdx": {
			tdx.CheckChain, tdx.CheckTCB, tdx.CheckQE, tdx.CheckReportData, tdx.CheckDebug, tdx.CheckMigration, tdx.CheckModule,
			tdx.CheckMeasurement,
		},
	}
}
