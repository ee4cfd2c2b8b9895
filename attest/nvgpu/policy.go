package nvgpu

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Board names the product that a GPU is on, in NVIDIA's numbers: what tells an H100 PCIe from an H100 SXM or an H200,
// which all have the chip GH100.
type Board struct {
	// Project and SKU are those of the board: "1010" and "0200". Chip is that of the chip on it: "882".
	Project, SKU, Chip string
}

func (b Board) String() string { return b.Project + "_" + b.SKU + "_" + b.Chip }

// Policy is what a genuine report must say. The zero value asks for a chip that is known here and for nothing else: see
// [StrictPolicy].
type Policy struct {
	// Chips are the names allowed. Empty: those that this package was tested with, GH100.
	Chips []string
	// Boards are the boards allowed. Empty: any. A field that is "" allows any.
	Boards []Board
	// MinDriver is the lowest driver version allowed, MinVBIOS the lowest VBIOS version. Zero: any.
	MinDriver DriverVersion
	MinVBIOS  VBIOSVersion
	// Drivers and VBIOSes are the only versions allowed, if not empty.
	Drivers []DriverVersion
	VBIOSes []VBIOSVersion
	// FirmwareIDs are the digests allowed for the firmware that holds the attestation key. Empty: any.
	FirmwareIDs [][fwidSize]byte
	// RequireReportFWID refuses a report that does not state its firmware's digest, as those of drivers before 550 do
	// not. Where it is stated it must in any case be the certificate's.
	RequireReportFWID bool
	// RequireMeasurements refuses a report that could not be compared with signed reference manifests. Only that
	// comparison tells production firmware in confidential mode from firmware that can be debugged.
	RequireMeasurements bool
	// RequireRevocation refuses a certificate about which no list and no response was supplied.
	RequireRevocation bool
	// AllowPPCIE accepts protected PCIe mode, in which NVLink traffic is in the clear.
	AllowPPCIE bool
	// RequireFeature refuses a report without a feature flag, as those of drivers before opaque data version 1 are.
	RequireFeature bool
	// MaxRevocationAge is how old a list or response may be that does not say when the next one comes. Zero: 7 days.
	MaxRevocationAge time.Duration
}

// StrictPolicy asks for all that can be asked for with the collateral at hand: measurements and revocation.
func StrictPolicy() Policy { return Policy{RequireMeasurements: true, RequireRevocation: true} }

const defaultRevocationAge = 7 * 24 * time.Hour

// knownChips are those whose reports are covered by samples.
var knownChips = [...]string{"GH100"}

func (p Policy) revocationAge() time.Duration {
	if p.MaxRevocationAge > 0 {
		return p.MaxRevocationAge
	}
	return defaultRevocationAge
}

// chip returns why a chip is refused, "" if it is allowed.
func (p Policy) chip(chip string) string {
	allowed := p.Chips
	if len(allowed) == 0 {
		allowed = knownChips[:]
	}
	if slices.Contains(allowed, chip) {
		return ""
	}
	return fmt.Sprintf("%s, want %s", chip, strings.Join(allowed, " or "))
}

func (p Policy) board(b Board) string {
	if len(p.Boards) == 0 {
		return ""
	}
	for _, a := range p.Boards {
		if (a.Project == "" || a.Project == b.Project) && (a.SKU == "" || a.SKU == b.SKU) && (a.Chip == "" || a.Chip == b.Chip) {
			return ""
		}
	}
	return fmt.Sprintf("%s is not in the list of %d", b, len(p.Boards))
}

func (p Policy) driver(stated string) string {
	v, err := ParseDriverVersion(stated)
	if err != nil {
		return err.Error()
	}
	allowed := make([]version, len(p.Drivers))
	for i, d := range p.Drivers {
		allowed[i] = d.version
	}
	return refuse(v.version, p.MinDriver.version, allowed)
}

func (p Policy) vbios(stated string) string {
	v, err := ParseVBIOSVersion(stated)
	if err != nil {
		return err.Error()
	}
	allowed := make([]version, len(p.VBIOSes))
	for i, d := range p.VBIOSes {
		allowed[i] = d.version
	}
	return refuse(v.version, p.MinVBIOS.version, allowed)
}

// refuse returns why a version is not allowed.
func refuse(v, lowest version, allowed []version) string {
	if !lowest.isZero() && v.compare(lowest) < 0 {
		return fmt.Sprintf("%s is below %s", v, lowest)
	}
	if len(allowed) > 0 && !slices.ContainsFunc(allowed, func(a version) bool { return a.compare(v) == 0 }) {
		return fmt.Sprintf("%s is not in the list of %d", v, len(allowed))
	}
	return ""
}

func (p Policy) firmware(fwid [fwidSize]byte) string {
	if len(p.FirmwareIDs) == 0 || slices.Contains(p.FirmwareIDs, fwid) {
		return ""
	}
	return fmt.Sprintf("%x is not in the list of %d", fwid, len(p.FirmwareIDs))
}
