package snp

import (
	"bytes"
	"crypto/x509"
	"encoding/binary"
	"fmt"

	"github.com/gantry-market/gantry/attest"
	"github.com/google/go-sev-guest/abi"
	"github.com/google/go-sev-guest/kds"
	spb "github.com/google/go-sev-guest/proto/sevsnp"
)

// Items of the evidence. A report and exactly one endorsement certificate are required.
const (
	// ItemReport is the attestation report as the firmware returns it: 1184 bytes.
	ItemReport = "report"
	// ItemVCEK is the chip's endorsement certificate, DER.
	ItemVCEK = "vcek"
	// ItemVLEK is a cloud provider's endorsement certificate, DER, in place of ItemVCEK.
	ItemVLEK = "vlek"
	// ItemASK is the intermediate (ASK, or ASVK with a VLEK), DER; without it the pinned one is used.
	ItemASK = "ask"
)

const (
	// ReportSize is the exact length of a report, in bytes (AMD 56860, table 23).
	ReportSize = abi.ReportSize
	// maxCertificate bounds a certificate. AMD's are 1.3 to 1.7 KiB.
	maxCertificate = 4096
)

// Report is a parsed report. Only what [ParseReport] returns is valid.
type Report struct {
	raw    []byte
	proto  *spb.Report
	policy abi.SnpPolicy
	signer abi.SignerInfo
}

// ParseReport reads a report of version 2 to 5. It refuses any other length, set reserved bits and unknown algorithms.
// Its error wraps [attest.ErrMalformed].
func ParseReport(raw []byte) (*Report, error) {
	if len(raw) != ReportSize {
		return nil, malformed("a report is %d bytes long, this one %d", ReportSize, len(raw))
	}
	if err := abi.ValidateReportFormat(raw); err != nil {
		return nil, malformed("%v", err)
	}
	if algo := abi.SignatureAlgo(raw); algo != abi.SignEcdsaP384Sha384 {
		return nil, malformed("signature algorithm %d is not ECDSA P-384 with SHA-384 (%d)", algo, abi.SignEcdsaP384Sha384)
	}
	p, err := abi.ReportToProto(raw)
	if err != nil {
		return nil, malformed("%v", err)
	}
	again, err := abi.ReportToAbiBytes(p)
	if err != nil {
		return nil, malformed("%v", err)
	}
	if !bytes.Equal(again, raw) {
		return nil, malformed("byte %d has no meaning in a report of version %d", firstDifference(again, raw), p.GetVersion())
	}
	r := &Report{raw: bytes.Clone(raw), proto: p}
	if r.policy, err = abi.ParseSnpPolicy(p.GetPolicy()); err != nil {
		return nil, malformed("%v", err)
	}
	if r.signer, err = abi.ParseSignerInfo(p.GetSignerInfo()); err != nil {
		return nil, malformed("%v", err)
	}
	if r.signer.SigningKey != abi.VcekReportSigner && r.signer.SigningKey != abi.VlekReportSigner {
		return nil, malformed("the report is not signed: its signing key is %q", r.signer.SigningKey)
	}
	return r, nil
}

// ReportData is what the guest asked the firmware to sign.
func (r *Report) ReportData() [64]byte { return [64]byte(r.proto.GetReportData()) }

// Measurement of the guest at launch.
func (r *Report) Measurement() [48]byte { return [48]byte(r.proto.GetMeasurement()) }

// HostData is what the hypervisor set at launch.
func (r *Report) HostData() [32]byte { return [32]byte(r.proto.GetHostData()) }

// ChipID of the host's processor; zero where the host masks it.
func (r *Report) ChipID() [64]byte { return [64]byte(r.proto.GetChipId()) }

// Debug reports whether the host may decrypt the guest.
func (r *Report) Debug() bool { return r.policy.Debug }

// VMPL is the privilege level in the guest that asked for the report; 0 is the highest.
func (r *Report) VMPL() uint32 { return r.proto.GetVmpl() }

// TCB is the version that the report was signed for.
func (r *Report) TCB() TCB { return tcbOf(r.proto.GetReportedTcb()) }

// TCB is a component-wise security version (AMD 56860, table 3, the layout of Milan and Genoa).
type TCB struct {
	Bootloader, TEE, SNP, Microcode uint8
}

func tcbOf(v uint64) TCB {
	p := kds.DecomposeTCBVersion(kds.TCBVersion(v))
	return TCB{Bootloader: p.BlSpl, TEE: p.TeeSpl, SNP: p.SnpSpl, Microcode: p.UcodeSpl}
}

func (t TCB) parts() kds.TCBParts {
	return kds.TCBParts{BlSpl: t.Bootloader, TeeSpl: t.TEE, SnpSpl: t.SNP, UcodeSpl: t.Microcode}
}

func (t TCB) String() string {
	return fmt.Sprintf("bootloader %d, tee %d, snp %d, microcode %d", t.Bootloader, t.TEE, t.SNP, t.Microcode)
}

// Chain is the certificates that came with a report. They are parsed and nothing more.
type Chain struct {
	// Endorsement is the VCEK or VLEK.
	Endorsement *x509.Certificate
	// Signer tells which.
	Signer abi.ReportSigner
	// ASK is nil where the evidence has none.
	ASK *x509.Certificate
}

// ParseChain reads the certificates of a piece of evidence, and refuses items without a meaning. Its error wraps
// [attest.ErrMalformed].
func ParseChain(e attest.Evidence) (*Chain, error) {
	c := new(Chain)
	seen := map[string]bool{}
	for _, item := range e.Items {
		if seen[item.Name] {
			return nil, malformed("item %q is there twice", item.Name)
		}
		seen[item.Name] = true
		if item.Name == ItemReport {
			continue
		}
		cert, err := parseCertificate(item)
		if err != nil {
			return nil, err
		}
		switch item.Name {
		case ItemVCEK:
			c.Endorsement, c.Signer = cert, abi.VcekReportSigner
		case ItemVLEK:
			c.Endorsement, c.Signer = cert, abi.VlekReportSigner
		case ItemASK:
			c.ASK = cert
		}
	}
	if seen[ItemVCEK] == seen[ItemVLEK] {
		return nil, malformed("exactly one of the items %q and %q is needed", ItemVCEK, ItemVLEK)
	}
	return c, nil
}

func parseCertificate(item attest.Item) (*x509.Certificate, error) {
	switch item.Name {
	case ItemVCEK, ItemVLEK, ItemASK:
	default:
		return nil, malformed("item %q has no meaning in SEV-SNP evidence", item.Name)
	}
	if len(item.Data) > maxCertificate {
		return nil, malformed("certificate %q of %d bytes is longer than %d", item.Name, len(item.Data), maxCertificate)
	}
	cert, err := x509.ParseCertificate(item.Data)
	if err != nil {
		return nil, malformed("certificate %q: %v", item.Name, err)
	}
	return cert, nil
}

// FromTSM makes evidence of what Linux's configfs-tsm returns for a report: outblob, and auxblob with the certificate
// table of the GHCB specification (AMD 56421). The table's root is left out: roots are pinned by whoever verifies.
func FromTSM(outblob, auxblob []byte) (attest.Evidence, error) {
	r, err := ParseReport(outblob)
	if err != nil {
		return attest.Evidence{}, err
	}
	if len(auxblob) > 16*maxCertificate {
		return attest.Evidence{}, malformed("a certificate table of %d bytes", len(auxblob))
	}
	if err := checkTable(auxblob); err != nil {
		return attest.Evidence{}, err
	}
	table := new(abi.CertTable)
	if err := table.Unmarshal(auxblob); err != nil {
		return attest.Evidence{}, malformed("certificate table: %v", err)
	}
	guid, item := abi.VcekGUID, ItemVCEK
	if r.signer.SigningKey == abi.VlekReportSigner {
		guid, item = abi.VlekGUID, ItemVLEK
	}
	endorsement, err := table.GetByGUIDString(guid)
	if err != nil {
		return attest.Evidence{}, malformed("the host's certificate table has no %v certificate", r.signer.SigningKey)
	}
	e := attest.Evidence{Kind: attest.KindSNP}
	if ask, err := table.GetByGUIDString(abi.AskGUID); err == nil {
		e.Items = append(e.Items, attest.Item{Name: ItemASK, Data: bytes.Clone(ask)})
	}
	e.Items = append(e.Items, attest.Item{Name: ItemReport, Data: r.raw}, attest.Item{Name: item, Data: bytes.Clone(endorsement)})
	return e, nil
}

// checkTable makes sure that the table's header ends and that its offsets lie inside, in 64 bits.
func checkTable(b []byte) error {
	const guid = abi.GUIDSize
	for at := 0; ; at += abi.CertTableEntrySize {
		if at+abi.CertTableEntrySize > len(b) {
			return malformed("the certificate table's header does not end")
		}
		offset := uint64(binary.LittleEndian.Uint32(b[at+guid:]))
		length := uint64(binary.LittleEndian.Uint32(b[at+guid+4:]))
		if allZero(b[at : at+abi.CertTableEntrySize]) {
			return nil
		}
		if offset+length > uint64(len(b)) {
			return malformed("entry %d of the certificate table lies outside it", at/abi.CertTableEntrySize)
		}
	}
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), attest.ErrMalformed)
}
