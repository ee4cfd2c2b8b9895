package policy

import "slices"

// Work is what a work proof must be.
type Work struct {
	// MinOrder is the least order of the product.
	MinOrder int `json:"min_order"`
}

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
	// PCRs are acceptable values (SHA-256, hex) by number; a number without values is not compared.
	PCRs []PCR `json:"pcrs"`
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
	t.PCRs = out
	return t
}

// SNP is what an SEV-SNP report must say.
type SNP struct {
	// Measurements are acceptable launch digests (48 bytes, hex).
	Measurements []string `json:"measurements"`
	// Products are acceptable lines, such as Milan; none means those that are understood.
	Products []string `json:"products"`
	MinTCB   SNPTCB   `json:"min_tcb"`
	// MinGuestSVN is the least security version of the guest image.
	MinGuestSVN uint32 `json:"min_guest_svn"`
	// AllowSMT accepts guests that may share a core with others.
	AllowSMT          bool `json:"allow_smt"`
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
	s.Measurements, s.Products = set(s.Measurements), set(s.Products)
	return s
}

// TDX is what a TDX quote must say.
type TDX struct {
	// MRTDs are acceptable launch digests (48 bytes, hex).
	MRTDs []string `json:"mrtds"`
}

func (t TDX) sorted() TDX {
	t.MRTDs = set(t.MRTDs)
	return t
}
