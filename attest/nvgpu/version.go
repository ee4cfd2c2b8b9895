package nvgpu

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/attest"
)

// DriverVersion is a driver's version, such as "550.90.07": decimal numbers between dots, the first of which counts
// most. The zero value is no version.
type DriverVersion struct{ version }

// VBIOSVersion is a VBIOS's version, such as "96.00.9F.00.01": hexadecimal numbers between dots. The zero value is no
// version.
type VBIOSVersion struct{ version }

const (
	maxVersionParts = 8
	maxVersionText  = 64
)

type version struct {
	text  string
	parts []uint32
}

// ParseDriverVersion reads a driver's version.
func ParseDriverVersion(s string) (DriverVersion, error) {
	v, err := parseVersion(s, 10)
	return DriverVersion{v}, err
}

// ParseVBIOSVersion reads a VBIOS's version.
func ParseVBIOSVersion(s string) (VBIOSVersion, error) {
	v, err := parseVersion(strings.ToUpper(s), 16)
	return VBIOSVersion{v}, err
}

func parseVersion(s string, base int) (version, error) {
	parts := strings.SplitN(s, ".", maxVersionParts+1)
	if len(parts) > maxVersionParts || len(s) > maxVersionText {
		return version{}, fmt.Errorf("version %.64q is longer than %d parts or %d bytes: %w", s, maxVersionParts, maxVersionText,
			attest.ErrMalformed)
	}
	v := version{text: s}
	for _, p := range parts {
		n, err := strconv.ParseUint(p, base, 16)
		if err != nil || p[0] == '+' {
			return version{}, fmt.Errorf("version %.64q: %.16q is not a number: %w", s, p, attest.ErrMalformed)
		}
		v.parts = append(v.parts, uint32(n))
	}
	return v, nil
}

func (v version) String() string { return v.text }

func (v version) isZero() bool { return len(v.parts) == 0 }

// compare orders versions by their numbers; a version with more parts follows the same with fewer.
func (v version) compare(o version) int { return slices.CompareFunc(v.parts, o.parts, cmp.Compare) }

// MarshalText writes a version for configuration files.
func (v version) MarshalText() ([]byte, error) { return []byte(v.text), nil }

// UnmarshalText reads a version from a configuration file.
func (v *DriverVersion) UnmarshalText(b []byte) (err error) {
	*v, err = ParseDriverVersion(string(b))
	return err
}

// UnmarshalText reads a version from a configuration file.
func (v *VBIOSVersion) UnmarshalText(b []byte) (err error) {
	*v, err = ParseVBIOSVersion(string(b))
	return err
}
