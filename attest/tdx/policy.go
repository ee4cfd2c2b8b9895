package tdx

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	pb "github.com/google/go-tdx-guest/proto/tdx"
	tdxvalidate "github.com/google/go-tdx-guest/validate"

	"github.com/gantry-market/gantry/attest"
)

// Names of the checks in a result.
const (
	CheckFormat      = "quote format"
	CheckChain       = "signatures and chain"
	CheckTCB         = "platform tcb"
	CheckQE          = "quoting enclave"
	CheckRevoked     = "revocation"
	CheckReportData  = "report data"
	CheckDebug       = "debugging"
	CheckMigration   = "migration"
	CheckAttributes  = "attributes and features"
	CheckModule      = "TDX module"
	CheckMeasurement = "measurement"
	CheckConfig      = "configuration"
)

// Measurement is an acceptable trust domain: its initial memory, and those of its run-time registers that are not nil.
type Measurement struct {
	MRTD [48]byte
	RTMR [4]*[48]byte
}

func (m Measurement) matches(q *Quote) bool {
	if m.MRTD != q.MRTD() {
		return false
	}
	for i, want := range m.RTMR {
		if want != nil && *want != q.RTMR(i) {
			return false
		}
	}
	return true
}

// Policy says which genuine quotes are acceptable. The zero value refuses debugging, migratable trust domains, those in
// which the host can make memory accesses fail, and TDX modules that are not Intel's own; it compares no measurement
// and says so.
type Policy struct {
	// Measurements that are acceptable; empty leaves the check uncovered.
	Measurements []Measurement
	// Modules are acceptable MRSEAM values; empty for any that Intel signed.
	Modules [][48]byte
	// MinTEETCB is the least for each component of TEE_TCB_SVN.
	MinTEETCB [16]byte
	// MinEvaluation is the least number of Intel's evaluation data set that collateral must have.
	MinEvaluation int
	// MRConfigID, MROwner and MROwnerConfig are compared where they are set.
	MRConfigID, MROwner, MROwnerConfig *[48]byte
	// ForbiddenXFAM are extended features that the trust domain must not have.
	ForbiddenXFAM uint64
	// AllowDebug admits trust domains that the host can read. Such a result is never confidential.
	AllowDebug bool
	// AllowSeptVE admits trust domains without [AttributeSeptVEDisable].
	AllowSeptVE bool
	// AllowPerfmon admits trust domains that use performance counters.
	AllowPerfmon bool
	// RequireFull fails where collateral is missing, instead of leaving checks uncovered.
	RequireFull bool
}

// intelQE is the quoting enclave vendor in the header: Intel's.
var intelQE = []byte{0x93, 0x9a, 0x72, 0x33, 0xf7, 0x9c, 0x4c, 0xa9, 0x94, 0x0a, 0x0d, 0xb3, 0x95, 0x7f, 0x06, 0x07}

// Validate judges a trusted quote, writes each check into the result, and returns the first failure.
func (p Policy) Validate(t *Trusted, reportData [64]byte, res *attest.Result) error {
	var first error
	line := func(ok bool, name string, sentinel error, good, bad string) {
		if ok {
			res.Pass(name, "%s", good)
		} else if err := res.Fail(name, sentinel, "%s", bad); first == nil {
			first = err
		}
	}
	q := t.Quote
	line(q.ReportData() == reportData, CheckReportData, attest.ErrStale, "the challenge, the claims and the keys of the bundle",
		"the quote answers another challenge or covers other evidence")
	debug := "off"
	if q.Debug() {
		debug = "on, which the policy allows"
	}
	line(!q.Debug() || p.AllowDebug, CheckDebug, attest.ErrPolicy, debug, "the host may read the trust domain")
	line(q.Attributes()&AttributeMigratable == 0, CheckMigration, attest.ErrPolicy, "none", "the trust domain may be moved to another host")
	reasons := p.attributeReasons(q)
	line(len(reasons) == 0, CheckAttributes, attest.ErrPolicy, fmt.Sprintf("attributes 0x%x, XFAM 0x%x", q.Attributes(), q.XFAM()),
		strings.Join(reasons, "; "))
	reasons = p.moduleReasons(q)
	line(len(reasons) == 0, CheckModule, attest.ErrPolicy, fmt.Sprintf("TEE TCB %x", q.TEETCB()), strings.Join(reasons, "; "))
	mrtd := q.MRTD()
	if len(p.Measurements) == 0 {
		res.Skip(CheckMeasurement, "no expected measurement was given; the quote says MRTD %x", mrtd)
	} else {
		line(slices.ContainsFunc(p.Measurements, func(m Measurement) bool { return m.matches(q) }), CheckMeasurement, attest.ErrPolicy,
			hex.EncodeToString(mrtd[:]), fmt.Sprintf("MRTD %x with its registers is not an expected measurement", mrtd))
	}
	if p.MRConfigID == nil && p.MROwner == nil && p.MROwnerConfig == nil {
		res.Skip(CheckConfig, "no expected configuration or owner was given")
		return first
	}
	reasons = p.configReasons(q.proto.GetTdQuoteBody())
	line(len(reasons) == 0, CheckConfig, attest.ErrPolicy, "as expected", strings.Join(reasons, "; "))
	return first
}

func (p Policy) attributeReasons(q *Quote) (reasons []string) {
	if q.Attributes()&AttributeSeptVEDisable == 0 && !p.AllowSeptVE {
		reasons = append(reasons, "the host can make memory accesses fail inside the trust domain (SEPT_VE_DISABLE is off)")
	}
	if q.Attributes()&AttributePerfmon != 0 && !p.AllowPerfmon {
		reasons = append(reasons, "the trust domain may use performance counters")
	}
	if bad := q.XFAM() & p.ForbiddenXFAM; bad != 0 {
		reasons = append(reasons, fmt.Sprintf("features 0x%x of XFAM are forbidden", bad))
	}
	return reasons
}

// moduleReasons has the library look at the quoting enclave's vendor, the security versions, and the bits of attributes
// and XFAM that no trust domain can have, and adds what it leaves out. Bits that have a check of their own are not
// shown to it, so that they fail once.
func (p Policy) moduleReasons(q *Quote) (reasons []string) {
	body := q.proto.GetTdQuoteBody()
	seen := bytes.Clone(q.raw)
	binary.LittleEndian.PutUint64(seen[attributesAt:], q.Attributes()&^(0xff|AttributeMigratable|AttributePerfmon))
	err := tdxvalidate.RawTdxQuote(seen, &tdxvalidate.Options{
		HeaderOptions:      tdxvalidate.HeaderOptions{QeVendorID: intelQE},
		TdQuoteBodyOptions: tdxvalidate.TdQuoteBodyOptions{MinimumTeeTcbSvn: p.MinTEETCB[:]},
	})
	if err != nil {
		reasons = append(reasons, err.Error())
	}
	if !zero(body.GetMrSignerSeam()) || !zero(body.GetSeamAttributes()) {
		reasons = append(reasons, "the TDX module is not one that Intel signed for production")
	}
	if len(p.Modules) > 0 && !slices.Contains(p.Modules, q.MRSEAM()) {
		reasons = append(reasons, fmt.Sprintf("MRSEAM %x is not an expected TDX module", q.MRSEAM()))
	}
	return reasons
}

func (p Policy) configReasons(body *pb.TDQuoteBody) (reasons []string) {
	for _, f := range []struct {
		name string
		want *[48]byte
		got  []byte
	}{
		{"MRCONFIGID", p.MRConfigID, body.GetMrConfigId()},
		{"MROWNER", p.MROwner, body.GetMrOwner()},
		{"MROWNERCONFIG", p.MROwnerConfig, body.GetMrOwnerConfig()},
	} {
		if f.want != nil && *f.want != [48]byte(f.got) {
			reasons = append(reasons, fmt.Sprintf("%s is %x", f.name, f.got))
		}
	}
	return reasons
}

func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
