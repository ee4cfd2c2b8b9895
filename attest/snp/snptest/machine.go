package snptest

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha512"
	"crypto/x509"
	"fmt"
	"math/big"
	"time"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/google/go-sev-guest/abi"
	"github.com/google/go-sev-guest/kds"
	spb "github.com/google/go-sev-guest/proto/sevsnp"
	"github.com/google/go-sev-guest/testing/data"
)

// Machine is a simulated host with a simulated AMD above it.
type Machine struct {
	product              string
	tcb                  snp.TCB
	chip                 [64]byte
	ark, ask, asvk       *x509.Certificate
	endorsement          *x509.Certificate
	signer               abi.ReportSigner
	endorsementKey       *ecdsa.PrivateKey
	notBefore, notAfter  time.Time
	endorsementSerialNum int64
}

// Option changes a machine before its certificates are made.
type Option func(*Machine)

// TCB is what the endorsement certificate is for.
func TCB(t snp.TCB) Option { return func(m *Machine) { m.tcb = t } }

// Validity of all certificates.
func Validity(from, to time.Time) Option {
	return func(m *Machine) { m.notBefore, m.notAfter = from, to }
}

// VLEK signs with a cloud provider's key instead of the chip's.
func VLEK() Option {
	return func(m *Machine) { m.signer, m.endorsementKey = abi.VlekReportSigner, data.VLEKPrivateKey }
}

// Product is the product name in the endorsement certificate, such as "Milan-B0".
func Product(name string) Option { return func(m *Machine) { m.product = name } }

// Serial is the endorsement certificate's serial number; AMD's VCEKs have 0.
func Serial(n int64) Option { return func(m *Machine) { m.endorsementSerialNum = n } }

// New makes a machine whose certificates are valid from a year before to a year after at.
func New(at time.Time, options ...Option) (*Machine, error) {
	m := &Machine{
		product: "Milan-B0", tcb: snp.TCB{Bootloader: 3, SNP: 8, Microcode: 115}, signer: abi.VcekReportSigner,
		endorsementKey: data.VCEKPrivateKey, notBefore: at.AddDate(-1, 0, 0), notAfter: at.AddDate(1, 0, 0),
	}
	copy(m.chip[:], "simulated processor of a test, not a chip that AMD has made")
	for _, o := range options {
		o(m)
	}
	return m, m.certify()
}

// Roots are what a verifier must trust to believe this machine.
func (m *Machine) Roots() snp.Roots {
	return snp.Roots{m.line(): {ARK: m.ark, ASK: m.ask, ASVK: m.asvk}}
}

func (m *Machine) line() string { return kds.ProductLineOfProductName(m.product) }

// Report signs a report. It starts as an honest one for the report data; change may be nil.
func (m *Machine) Report(reportData [64]byte, change func(*spb.Report)) ([]byte, error) {
	tcb, err := kds.ComposeTCBParts(kds.TCBParts{
		BlSpl: m.tcb.Bootloader, TeeSpl: m.tcb.TEE, SnpSpl: m.tcb.SNP, UcodeSpl: m.tcb.Microcode,
	})
	if err != nil {
		return nil, err
	}
	measurement := sha512.Sum384([]byte("simulated guest image"))
	r := &spb.Report{
		Version: abi.ReportVersion2, Policy: abi.SnpPolicyToBytes(abi.SnpPolicy{ABIMajor: 1, ABIMinor: 51}),
		FamilyId: make([]byte, abi.FamilyIDSize), ImageId: make([]byte, abi.ImageIDSize),
		SignatureAlgo: abi.SignEcdsaP384Sha384, SignerInfo: abi.ComposeSignerInfo(abi.SignerInfo{SigningKey: m.signer}),
		CurrentTcb: uint64(tcb), ReportedTcb: uint64(tcb), CommittedTcb: uint64(tcb), LaunchTcb: uint64(tcb),
		ReportData: reportData[:], Measurement: measurement[:], HostData: make([]byte, abi.HostDataSize),
		IdKeyDigest: make([]byte, abi.IDKeyDigestSize), AuthorKeyDigest: make([]byte, abi.AuthorKeyDigestSize),
		ReportId: make([]byte, abi.ReportIDSize), ReportIdMa: make([]byte, abi.ReportIDMASize), ChipId: make([]byte, abi.ChipIDSize),
		CurrentMajor: 1, CurrentMinor: 55, CurrentBuild: 21, CommittedMajor: 1, CommittedMinor: 55, CommittedBuild: 21,
		Signature: make([]byte, abi.SignatureSize),
	}
	if m.signer == abi.VcekReportSigner {
		r.ChipId = m.chip[:]
	}
	if change != nil {
		change(r)
	}
	raw, err := abi.ReportToAbiBytes(r)
	if err != nil {
		return nil, err
	}
	digest := sha512.Sum384(abi.SignedComponent(raw))
	sr, ss, err := ecdsa.Sign(rand.Reader, m.endorsementKey, digest[:])
	if err != nil {
		return nil, err
	}
	return raw, abi.SetSignature(sr, ss, raw)
}

// Evidence is a report with its certificates.
func (m *Machine) Evidence(reportData [64]byte, change func(*spb.Report)) (attest.Evidence, error) {
	raw, err := m.Report(reportData, change)
	if err != nil {
		return attest.Evidence{}, err
	}
	item, ask := snp.ItemVCEK, m.ask
	if m.signer == abi.VlekReportSigner {
		item, ask = snp.ItemVLEK, m.asvk
	}
	return attest.Evidence{Kind: attest.KindSNP, Items: []attest.Item{
		{Name: snp.ItemASK, Data: ask.Raw}, {Name: snp.ItemReport, Data: raw}, {Name: item, Data: m.endorsement.Raw},
	}}, nil
}

// Measurement is that of an honest report.
func (m *Machine) Measurement() [48]byte { return sha512.Sum384([]byte("simulated guest image")) }

// CertTable is the table that configfs-tsm hands over as auxblob.
func (m *Machine) CertTable() []byte {
	chain := &spb.CertificateChain{ArkCert: m.ark.Raw, AskCert: m.ask.Raw}
	if m.signer == abi.VlekReportSigner {
		chain.AskCert, chain.VlekCert = m.asvk.Raw, m.endorsement.Raw
	} else {
		chain.VcekCert = m.endorsement.Raw
	}
	return abi.CertsFromProto(chain).Marshal()
}

// CRL is a revocation list of the machine's root. Revoked names "ask" or "endorsement".
func (m *Machine) CRL(from, to time.Time, revoked ...string) ([]byte, error) {
	list := &x509.RevocationList{SignatureAlgorithm: x509.SHA384WithRSAPSS, Number: big.NewInt(1), ThisUpdate: from, NextUpdate: to}
	for _, name := range revoked {
		serial := m.ask.SerialNumber
		switch {
		case name == "endorsement":
			serial = m.endorsement.SerialNumber
		case name != "ask":
			return nil, fmt.Errorf("no certificate is called %q", name)
		case m.signer == abi.VlekReportSigner:
			serial = m.asvk.SerialNumber
		}
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: serial, RevocationTime: from})
	}
	return x509.CreateRevocationList(rand.Reader, list, m.ark, data.ARKPrivateKey)
}

// Collateral holds a revocation list and answers for package snp's keys.
type Collateral map[string][]byte

// Get implements [attest.Collateral].
func (c Collateral) Get(key string) ([]byte, error) {
	if b, ok := c[key]; ok {
		return b, nil
	}
	return nil, fmt.Errorf("%q: %w", key, attest.ErrNoCollateral)
}
