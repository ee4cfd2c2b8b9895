package nvgpu

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/attest"
)

// rimPrefix begins the collateral keys of manifests; NVIDIA's RIM service has them by the rest of the key.
const rimPrefix = "nvgpu/rim/"

// DriverRIMKey is the collateral key of a driver's manifest: "nvgpu/rim/NV_GPU_DRIVER_GH100_550.90.07".
func DriverRIMKey(chip, driver string) string {
	return rimPrefix + "NV_GPU_DRIVER_" + chip + "_" + driver
}

// VBIOSRIMKey is the collateral key of a VBIOS's manifest: "nvgpu/rim/NV_GPU_VBIOS_1010_0200_882_96009F0001".
func VBIOSRIMKey(b Board, vbios string) string {
	return rimPrefix + strings.ToUpper("NV_GPU_VBIOS_"+b.String()+"_"+strings.ReplaceAll(vbios, ".", ""))
}

// errNoRIM: a manifest is not there, or not to be relied on; that was noted.
var errNoRIM = errors.New("no manifest")

// measurements compares the report with the two manifests, if both are there.
func (s *session) measurements() {
	o := s.report.Opaque
	driver, errDriver := s.manifest(CheckDriverRIM, DriverRIMKey(s.chain.Leaf.Chip, o.Driver()), o.Driver())
	vbios, errVBIOS := s.manifest(CheckVBIOSRIM, VBIOSRIMKey(o.Board(), o.VBIOS()), o.VBIOS())
	if err := errors.Join(errDriver, errVBIOS); err != nil {
		const missing = "not compared: driver and VBIOS manifests are needed"
		if s.o.Policy.RequireMeasurements {
			s.fail(CheckMeasurements, fmt.Errorf("%s: %w", missing, attest.ErrNoCollateral))
		} else {
			s.result.Skip(CheckMeasurements, missing)
		}
		return
	}
	c, err := Compare(s.report, driver, vbios)
	switch {
	case err != nil:
		s.fail(CheckMeasurements, err)
	case len(c.Mismatches) > 0:
		s.fail(CheckMeasurements, fmt.Errorf("%s: %w", c, attest.ErrPolicy))
	default:
		s.measured = true
		s.result.Claim(ClaimMeasured, fmt.Sprintf("%d/%d", c.Matched, c.Golden))
		s.result.Pass(CheckMeasurements, "%s", c)
	}
}

// manifest returns a verified manifest of the version that the report states.
func (s *session) manifest(check, key, want string) (*RIM, error) {
	data, err := get(s.o.Collateral, key, MaxRIMSize)
	if err != nil {
		s.fail(check, err)
		return nil, errNoRIM
	}
	if data == nil {
		s.result.Skip(check, "%s not supplied", key)
		return nil, errNoRIM
	}
	rim, err := s.seen.manifest(data, s.now, s.roots)
	switch {
	case err != nil:
		s.fail(check, err)
		return nil, errNoRIM
	case !strings.EqualFold(rim.Version, want):
		s.fail(check, untrusted("%s is of version %.64q, the report of %s", key, rim.Version, want))
		return nil, errNoRIM
	case rim.Product != s.chain.Leaf.Chip:
		s.fail(check, untrusted("%s is for %.64q, the report of %s", key, rim.Product, s.chain.Leaf.Chip))
		return nil, errNoRIM
	}
	s.result.Pass(check, "%s with %d golden measurements, signed by %s", key, rim.active(), name(rim.Signers[0]))
	s.revoked("revocation of the "+check+"'s signers", rim.Signers, 0)
	return rim, nil
}

// revocation asks about the GPU's certificates. The attestation certificate is left out: the GPU itself issued it, for
// its firmware of the moment, and no list has it.
func (s *session) revocation() { s.revoked(CheckRevocation, s.chain.Certificates, 1) }

// revoked asks about a path's certificates from the first given one on, less the root.
func (s *session) revoked(check string, path []*x509.Certificate, first int) {
	var found, missing []string
	for i := first; i < len(path)-1; i++ {
		sources, err := checkRevoked(path[i], path[i+1], s.o.Collateral, s.now, s.o.Policy.revocationAge())
		if err != nil {
			s.fail(check, err)
			return
		}
		if sources == "" {
			missing = append(missing, name(path[i]))
		} else {
			found = append(found, name(path[i])+" by "+sources)
		}
	}
	switch {
	case len(missing) == 0:
		s.result.Pass(check, "good: %s", strings.Join(found, ", "))
	case s.o.Policy.RequireRevocation:
		s.fail(check, fmt.Errorf("nothing supplied about %s: %w", strings.Join(missing, ", "), attest.ErrNoCollateral))
	default:
		s.result.Skip(check, "nothing supplied about %s", strings.Join(missing, ", "))
	}
}
