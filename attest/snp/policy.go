package snp

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-market/gantry/attest"
	"github.com/google/go-sev-guest/abi"
	sevvalidate "github.com/google/go-sev-guest/validate"
)

// Names of the checks in a result.
const (
	CheckFormat      = "report format"
	CheckChain       = "signature and chain"
	CheckChip        = "host processor"
	CheckRevoked     = "revocation"
	CheckReportData  = "report data"
	CheckDebug       = "debugging"
	CheckMigration   = "migration agent"
	CheckSigner      = "endorsement key"
	CheckProduct     = "product line"
	CheckTCB         = "tcb"
	CheckVMPL        = "privilege level"
	CheckGuestPolicy = "guest policy"
	CheckMeasurement = "measurement"
	CheckHostData    = "host data"
	CheckIDBlock     = "identity block"
	CheckPlatform    = "platform"
)

// Policy says which genuine reports are acceptable. The zero value refuses debugging, migration agents, VLEKs, SMT and
// CXL, any privilege level but 0, and provisional firmware; it compares no measurement and says so.
type Policy struct {
	// Measurements are the launch digests that are acceptable; empty leaves the check uncovered.
	Measurements [][48]byte
	// MinTCB is the least for each component of the reported TCB, MinLaunchTCB for that at launch.
	MinTCB, MinLaunchTCB TCB
	// MinFirmware is the least firmware version, major<<16 | minor<<8 | build.
	MinFirmware uint32
	// MinGuestSVN is the least security version that the guest's owner gave its image.
	MinGuestSVN uint32
	// Products are the acceptable lines; empty for all that this package knows.
	Products []string
	// HostData is compared where it is set.
	HostData *[32]byte
	// IDKeys and AuthorKeys are SHA-384 digests of keys that may have signed the identity block; both empty leaves the
	// check uncovered.
	IDKeys, AuthorKeys [][48]byte
	// MaxVMPL is the least privileged level that may have asked, 0 to 3.
	MaxVMPL uint32
	// AllowDebug admits guests that the host can read. Such a result is never confidential.
	AllowDebug bool
	// AllowMigration admits guests with a migration agent, AllowVLEK reports signed with a cloud provider's key.
	AllowMigration, AllowVLEK bool
	// AllowSMT and AllowCXL admit guests that may run with sibling threads or on CXL memory.
	AllowSMT, AllowCXL bool
	// AllowProvisional admits firmware that can still be rolled back.
	AllowProvisional bool
	// RequireAliasCheck wants the platform to have looked for aliased memory (CVE-2024-21944, "BadRAM").
	RequireAliasCheck bool
	// RequireRevocation fails where no revocation list is supplied, instead of leaving the check uncovered.
	RequireRevocation bool
}

// Validate judges a trusted report, writes each check into the result, and returns the first failure.
func (p Policy) Validate(t *Trusted, reportData [64]byte, res *attest.Result) error {
	var first error
	line := func(ok bool, name string, sentinel error, good, bad string) {
		if ok {
			res.Pass(name, "%s", good)
		} else if err := res.Fail(name, sentinel, "%s", bad); first == nil {
			first = err
		}
	}
	r := t.Report
	line(r.ReportData() == reportData, CheckReportData, attest.ErrStale, "the challenge, the claims and the keys of the bundle",
		"the report answers another challenge or covers other evidence")
	line(!r.Debug() || p.AllowDebug, CheckDebug, attest.ErrPolicy, onOff(r.Debug(), "on, which the policy allows", "off"),
		"the host may read the guest's memory")
	line(!r.policy.MigrateMA || p.AllowMigration, CheckMigration, attest.ErrPolicy, onOff(r.policy.MigrateMA, "one is allowed by the policy", "none"),
		"the guest may be moved by a migration agent")
	line(t.Chain.Signer == abi.VcekReportSigner || p.AllowVLEK, CheckSigner, attest.ErrPolicy, t.Chain.Signer.String(),
		"the report is signed with a cloud provider's key (VLEK), which names no chip")
	line(len(p.Products) == 0 || slices.Contains(p.Products, t.Product), CheckProduct, attest.ErrPolicy, t.Product,
		fmt.Sprintf("%s is not one of %s", t.Product, strings.Join(p.Products, ", ")))
	tcbErr := p.validateTCB(t)
	line(tcbErr == nil, CheckTCB, attest.ErrPolicy, r.TCB().String(), fmt.Sprint(tcbErr))
	line(r.VMPL() <= p.MaxVMPL, CheckVMPL, attest.ErrPolicy, fmt.Sprintf("VMPL %d", r.VMPL()),
		fmt.Sprintf("asked for at VMPL %d, the policy allows up to %d", r.VMPL(), p.MaxVMPL))
	reasons := p.guestPolicyReasons(r)
	line(len(reasons) == 0, CheckGuestPolicy, attest.ErrPolicy, fmt.Sprintf("0x%x", r.proto.GetPolicy()), strings.Join(reasons, "; "))
	p.validateIdentity(r, res, line)
	p.validatePlatform(r, line)
	return first
}

type lineFunc func(ok bool, name string, sentinel error, good, bad string)

func (p Policy) guestPolicyReasons(r *Report) (reasons []string) {
	if r.policy.SMT && !p.AllowSMT {
		reasons = append(reasons, "the guest may share a core with others (SMT)")
	}
	if r.policy.CXLAllowed && !p.AllowCXL {
		reasons = append(reasons, "the guest may use CXL memory")
	}
	if n := r.proto.GetGuestSvn(); n < p.MinGuestSVN {
		reasons = append(reasons, fmt.Sprintf("guest security version %d is below %d", n, p.MinGuestSVN))
	}
	return reasons
}

// validateTCB has the library compare the report's versions with each other, with the certificate's and with the
// policy's: the certificate is for exactly the reported version, that is at most the current one, and the current one
// is committed. Everything else in its options is set to what the report says, as other checks look at it.
func (p Policy) validateTCB(t *Trusted) error {
	return sevvalidate.SnpAttestation(t.Report.attestation(t.Chain), &sevvalidate.Options{
		GuestPolicy: t.Report.policy,
		MinimumTCB:  p.MinTCB.parts(), MinimumLaunchTCB: p.MinLaunchTCB.parts(),
		MinimumBuild: uint8(p.MinFirmware), MinimumVersion: uint16(p.MinFirmware >> 8),
		PermitProvisionalFirmware: p.AllowProvisional,
	})
}

func (p Policy) validateIdentity(r *Report, res *attest.Result, line lineFunc) {
	m := r.Measurement()
	if len(p.Measurements) == 0 {
		res.Skip(CheckMeasurement, "no expected measurement was given; the report says %s", hex.EncodeToString(m[:]))
	} else {
		line(slices.Contains(p.Measurements, m), CheckMeasurement, attest.ErrPolicy, hex.EncodeToString(m[:]),
			hex.EncodeToString(m[:])+" is not an expected measurement")
	}
	if p.HostData == nil {
		res.Skip(CheckHostData, "no expected host data was given")
	} else {
		line(r.HostData() == *p.HostData, CheckHostData, attest.ErrPolicy, "as expected", "the hypervisor set other host data than expected")
	}
	if len(p.IDKeys)+len(p.AuthorKeys) == 0 {
		res.Skip(CheckIDBlock, "no expected signer of the guest's image was given")
		return
	}
	ok := slices.Contains(p.IDKeys, [48]byte(r.proto.GetIdKeyDigest())) ||
		r.signer.AuthorKeyEn && slices.Contains(p.AuthorKeys, [48]byte(r.proto.GetAuthorKeyDigest()))
	line(ok, CheckIDBlock, attest.ErrPolicy, "signed by an expected key", "no expected key signed the guest's image")
}

func (p Policy) validatePlatform(r *Report, line lineFunc) {
	info, err := abi.ParseSnpPlatformInfo(r.proto.GetPlatformInfo())
	if err != nil {
		line(false, CheckPlatform, attest.ErrPolicy, "", err.Error())
		return
	}
	line(info.AliasCheckComplete || !p.RequireAliasCheck, CheckPlatform, attest.ErrPolicy,
		fmt.Sprintf("SMT %s, alias check %s", onOff(info.SMTEnabled, "on", "off"), onOff(info.AliasCheckComplete, "done", "not done")),
		"the platform has not looked for aliased memory")
}

func onOff(b bool, on, off string) string {
	if b {
		return on
	}
	return off
}
