package policy

import (
	"cmp"
	"slices"
)

// GPU is what a GPU's report must say. Versions are as NVIDIA writes them.
type GPU struct {
	// Chips and Boards ("project_sku_chip") that are acceptable; no chips means those whose reports are understood, no
	// boards means any.
	Chips  []string `json:"chips"`
	Boards []string `json:"boards"`
	// MinDriver and MinVBIOS are the least versions, "" for any. Drivers and VBIOSes, where given, are the only ones.
	MinDriver string   `json:"min_driver"`
	MinVBIOS  string   `json:"min_vbios"`
	Drivers   []string `json:"drivers"`
	VBIOSes   []string `json:"vbioses"`
	// FirmwareIDs are the digests (SHA-384, hex) of acceptable firmware that holds the attestation key; none means any.
	FirmwareIDs []string `json:"firmware_ids"`
	// RequireMeasurements and RequireRevocation make a check that cannot be done a failure, instead of not covered.
	RequireMeasurements bool `json:"require_measurements"`
	RequireRevocation   bool `json:"require_revocation"`
	// AllowPPCIE accepts protected PCIe mode, in which NVLink is in the clear.
	AllowPPCIE bool `json:"allow_ppcie"`
}

func (g GPU) sorted() GPU {
	g.Chips, g.Boards, g.Drivers, g.VBIOSes, g.FirmwareIDs = set(g.Chips), set(g.Boards), set(g.Drivers), set(g.VBIOSes), set(g.FirmwareIDs)
	return g
}

// TPM is what a TPM's quote must say.
type TPM struct {
	// PCRs are acceptable values (SHA-256, hex) by number; registers that are not named may hold anything.
	PCRs []PCR `json:"pcrs"`
	// Algorithms of endorsement keys that count: rsa2048, p256, p384; none means rsa2048. A TPM has an identity for
	// each.
	Algorithms []string `json:"algorithms"`
	// EnrolmentAgeSecs is how old a keeper's statement that the attestation key lives in the TPM may be; 0 means any
	// age.
	EnrolmentAgeSecs  int64 `json:"enrolment_age_secs"`
	RequireSecureBoot bool  `json:"require_secure_boot"`
	RequireRevocation bool  `json:"require_revocation"`
}

// PCR is one register with what it may hold.
type PCR struct {
	Index  int      `json:"index"`
	Values []string `json:"values"`
}

func (t TPM) sorted() TPM {
	out := make([]PCR, len(t.PCRs))
	for i, p := range t.PCRs {
		out[i] = PCR{p.Index, set(p.Values)}
	}
	slices.SortFunc(out, func(a, b PCR) int { return a.Index - b.Index })
	t.PCRs, t.Algorithms = out, set(t.Algorithms)
	return t
}

// SNP is what an SEV-SNP report must say.
type SNP struct {
	// Measurements are acceptable launch digests (48 bytes, hex).
	Measurements []string `json:"measurements"`
	// Products are acceptable lines, such as Milan; none means those that are understood.
	Products []string `json:"products"`
	// MinTCB is the least that the platform must have now, MinLaunchTCB when the guest was launched.
	MinTCB       SNPTCB `json:"min_tcb"`
	MinLaunchTCB SNPTCB `json:"min_launch_tcb"`
	// MinGuestSVN is the least security version of the guest image.
	MinGuestSVN uint32 `json:"min_guest_svn"`
	// HostData is what the host must have given at the launch (32 bytes, hex); "" for anything.
	HostData string `json:"host_data"`
	// IDKeys and AuthorKeys are the digests (48 bytes, hex) of keys of which one must have signed the guest's identity;
	// none in both for any guest.
	IDKeys     []string `json:"id_keys"`
	AuthorKeys []string `json:"author_keys"`
	// AllowSMT accepts guests that may share a core with others.
	AllowSMT bool `json:"allow_smt"`
	// RequireAliasCheck wants the platform to have looked for aliased memory (CVE-2024-21944).
	RequireAliasCheck bool `json:"require_alias_check"`
	RequireRevocation bool `json:"require_revocation"`
}

// SNPTCB are the least versions of the platform's parts.
type SNPTCB struct {
	Bootloader uint8 `json:"bootloader"`
	TEE        uint8 `json:"tee"`
	SNP        uint8 `json:"snp"`
	Microcode  uint8 `json:"microcode"`
}

func (s SNP) sorted() SNP {
	s.Measurements, s.Products, s.IDKeys, s.AuthorKeys = set(s.Measurements), set(s.Products), set(s.IDKeys), set(s.AuthorKeys)
	return s
}

// TDX is what a TDX quote must say.
type TDX struct {
	// Measurements are acceptable trust domains.
	Measurements []TDXMeasurement `json:"measurements"`
	// Modules are acceptable TDX modules (MRSEAM, 48 bytes, hex); none means any that Intel signed.
	Modules []string `json:"modules"`
	// MinTEETCB is the least for each component of TEE_TCB_SVN (16 bytes, hex); "" for none.
	MinTEETCB string `json:"min_tee_tcb"`
	// MinEvaluation is the least number of Intel's evaluation data set.
	MinEvaluation int `json:"min_evaluation"`
	// MRConfigID, MROwner and MROwnerConfig are what the host must have given at the launch (48 bytes, hex); "" for
	// anything.
	MRConfigID    string `json:"mr_config_id"`
	MROwner       string `json:"mr_owner"`
	MROwnerConfig string `json:"mr_owner_config"`
	// ForbiddenXFAM are extended processor features that the trust domain must not have (8 bytes, hex, the highest bit
	// first); "" for none.
	ForbiddenXFAM string `json:"forbidden_xfam"`
	AllowSeptVE   bool   `json:"allow_sept_ve"`
	// RequireFull makes missing collateral a failure, instead of leaving platform and revocation not covered.
	RequireFull bool `json:"require_full"`
}

// TDXMeasurement is a trust domain's initial memory and its run-time registers (48 bytes each, hex; "" for any). The
// initial memory is the firmware's alone: kernel and command line are in registers 1 and 2, which must be named.
type TDXMeasurement struct {
	MRTD  string    `json:"mrtd"`
	RTMRs [4]string `json:"rtmrs"`
}

func (t TDX) sorted() TDX {
	t.Measurements = append([]TDXMeasurement{}, t.Measurements...)
	slices.SortFunc(t.Measurements, func(a, b TDXMeasurement) int {
		return cmp.Or(cmp.Compare(a.MRTD, b.MRTD), slices.Compare(a.RTMRs[:], b.RTMRs[:]))
	})
	t.Measurements, t.Modules = slices.Compact(t.Measurements), set(t.Modules)
	return t
}
