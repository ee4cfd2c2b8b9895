package policy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/tdx"
)

func (g GPU) policy() (nvgpu.Policy, error) {
	out := nvgpu.Policy{
		Chips: g.Chips, RequireMeasurements: g.RequireMeasurements, RequireRevocation: g.RequireRevocation, AllowPPCIE: g.AllowPPCIE,
	}
	for _, s := range g.Boards {
		parts := strings.Split(s, "_")
		if len(parts) != 3 {
			return out, fmt.Errorf("board %q is not project_sku_chip", s)
		}
		out.Boards = append(out.Boards, nvgpu.Board{Project: parts[0], SKU: parts[1], Chip: parts[2]})
	}
	var errs []error
	driver := func(s string) nvgpu.DriverVersion {
		v, err := nvgpu.ParseDriverVersion(s)
		errs = append(errs, err)
		return v
	}
	vbios := func(s string) nvgpu.VBIOSVersion {
		v, err := nvgpu.ParseVBIOSVersion(s)
		errs = append(errs, err)
		return v
	}
	if g.MinDriver != "" {
		out.MinDriver = driver(g.MinDriver)
	}
	if g.MinVBIOS != "" {
		out.MinVBIOS = vbios(g.MinVBIOS)
	}
	for _, s := range g.Drivers {
		out.Drivers = append(out.Drivers, driver(s))
	}
	for _, s := range g.VBIOSes {
		out.VBIOSes = append(out.VBIOSes, vbios(s))
	}
	for _, s := range g.FirmwareIDs {
		id, err := fixedHex(s, 48)
		if err != nil {
			return out, fmt.Errorf("firmware id %.100q: %w", s, err)
		}
		out.FirmwareIDs = append(out.FirmwareIDs, [48]byte(id))
	}
	return out, errors.Join(errs...)
}

func (t SNPTCB) tcb() snp.TCB {
	return snp.TCB{Bootloader: t.Bootloader, TEE: t.TEE, SNP: t.SNP, Microcode: t.Microcode}
}

func (s SNP) policy() (snp.Policy, error) {
	out := snp.Policy{
		Products: s.Products, MinGuestSVN: s.MinGuestSVN, AllowSMT: s.AllowSMT, RequireRevocation: s.RequireRevocation,
		RequireAliasCheck: s.RequireAliasCheck, MinTCB: s.MinTCB.tcb(), MinLaunchTCB: s.MinLaunchTCB.tcb(),
	}
	var errs []error
	for _, list := range []struct {
		name string
		from []string
		to   *[][48]byte
	}{{"measurement", s.Measurements, &out.Measurements}, {"id key", s.IDKeys, &out.IDKeys}, {"author key", s.AuthorKeys, &out.AuthorKeys}} {
		for _, text := range list.from {
			v, err := digest48(list.name, text)
			errs = append(errs, err)
			*list.to = append(*list.to, v)
		}
	}
	if s.HostData != "" {
		v, err := fixedHex(s.HostData, 32)
		if err != nil {
			return out, fmt.Errorf("host_data %.80q: %w", s.HostData, err)
		}
		out.HostData = (*[32]byte)(v)
	}
	return out, errors.Join(errs...)
}

func (t TDX) policy() (tdx.Policy, error) {
	out := tdx.Policy{MinEvaluation: t.MinEvaluation, AllowSeptVE: t.AllowSeptVE, RequireFull: t.RequireFull}
	var errs []error
	for _, s := range t.Modules {
		m, err := digest48("TDX module", s)
		errs = append(errs, err)
		out.Modules = append(out.Modules, m)
	}
	if t.MinTEETCB != "" {
		m, err := fixedHex(t.MinTEETCB, 16)
		if err != nil {
			return out, fmt.Errorf("min_tee_tcb: %w", err)
		}
		out.MinTEETCB = [16]byte(m)
	}
	if t.ForbiddenXFAM != "" {
		m, err := fixedHex(t.ForbiddenXFAM, 8)
		if err != nil {
			return out, fmt.Errorf("forbidden_xfam: %w", err)
		}
		out.ForbiddenXFAM = binary.BigEndian.Uint64(m)
	}
	optional := func(name, s string) *[48]byte {
		if s == "" {
			return nil
		}
		v, err := digest48(name, s)
		errs = append(errs, err)
		return &v
	}
	out.MRConfigID, out.MROwner = optional("mr_config_id", t.MRConfigID), optional("mr_owner", t.MROwner)
	out.MROwnerConfig = optional("mr_owner_config", t.MROwnerConfig)
	for _, want := range t.Measurements {
		mrtd, err := digest48("MRTD", want.MRTD)
		errs = append(errs, err)
		m := tdx.Measurement{MRTD: mrtd}
		for i, s := range want.RTMRs {
			m.RTMR[i] = optional(fmt.Sprintf("RTMR %d", i), s)
		}
		out.Measurements = append(out.Measurements, m)
	}
	return out, errors.Join(errs...)
}

// digest48 reads a digest of 48 bytes.
func digest48(name, s string) (out [48]byte, err error) {
	v, err := fixedHex(s, len(out))
	if err != nil {
		return out, fmt.Errorf("%s %.100q: %w", name, s, err)
	}
	return [48]byte(v), nil
}
