package tdxtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"time"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tdx"
)

// Platform is a simulated host with a simulated Intel above it.
type Platform struct {
	from, to           time.Time
	root, ca, pck, tcb *x509.Certificate
	rootKey, caKey     *ecdsa.PrivateKey
	pckKey, tcbKey     *ecdsa.PrivateKey
	attestationKey     *ecdsa.PrivateKey
}

// TD is the content of a quote. The zero value is no honest one: start from [Platform.TD].
type TD struct {
	QEVendor                                 [16]byte
	TEETCB                                   [16]byte
	MRSEAM, MRSignerSEAM                     [48]byte
	SEAMAttributes, Attributes, XFAM         uint64
	MRTD, MRConfigID, MROwner, MROwnerConfig [48]byte
	RTMR                                     [4][48]byte
	ReportData                               [64]byte
	QEISVSVN, QEISVProdID                    uint16
	QEMRSigner                               [32]byte
}

// Values that an honest simulated platform has.
const (
	fmspc   = "00806f050000"
	pceSVN  = 11
	qeSVN   = 4
	qeProd  = 2
	tdxSVN  = 3
	tdxTCB2 = 5
)

// New makes a platform whose certificates are valid from a year before to a year after at.
func New(at time.Time) (*Platform, error) {
	return NewValid(at.AddDate(-1, 0, 0), at.AddDate(1, 0, 0))
}

// NewValid makes a platform whose certificates are valid in a period.
func NewValid(from, to time.Time) (*Platform, error) {
	p := &Platform{from: from, to: to}
	for _, k := range []**ecdsa.PrivateKey{&p.rootKey, &p.caKey, &p.pckKey, &p.tcbKey, &p.attestationKey} {
		var err error
		if *k, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return nil, err
		}
	}
	return p, p.certify()
}

// Root is what a verifier must trust to believe this platform.
func (p *Platform) Root() *x509.Certificate { return p.root }

// FMSPC of the simulated platform.
func (p *Platform) FMSPC() string { return fmspc }

// TD is an honest trust domain that answers with the given report data.
func (p *Platform) TD(reportData [64]byte) TD {
	td := TD{
		QEVendor: [16]byte{0x93, 0x9a, 0x72, 0x33, 0xf7, 0x9c, 0x4c, 0xa9, 0x94, 0x0a, 0x0d, 0xb3, 0x95, 0x7f, 0x06, 0x07},
		TEETCB:   [16]byte{tdxSVN, 0, tdxTCB2}, Attributes: tdx.AttributeSeptVEDisable, XFAM: 0x61ae7,
		MRTD: sha512.Sum384([]byte("simulated trust domain")), MRSEAM: sha512.Sum384([]byte("simulated TDX module")),
		ReportData: reportData, QEISVSVN: qeSVN, QEISVProdID: qeProd, QEMRSigner: sha256.Sum256([]byte("simulated quoting enclave signer")),
	}
	for i := range td.RTMR {
		td.RTMR[i] = sha512.Sum384([]byte{byte(i)})
	}
	return td
}

// Quote signs a quote.
func (p *Platform) Quote(td TD) ([]byte, error) {
	key, err := point(&p.attestationKey.PublicKey)
	if err != nil {
		return nil, err
	}
	auth := make([]byte, 32)
	vouched := sha256.Sum256(append(append([]byte(nil), key...), auth...))
	report := qeReport(td, vouched)
	reportSignature, err := raw(p.pckKey, report)
	if err != nil {
		return nil, err
	}
	signed := append(header(td), body(td)...)
	signature, err := raw(p.attestationKey, signed)
	if err != nil {
		return nil, err
	}
	chain := p.chain()
	certification := append(append([]byte(nil), report...), reportSignature...)
	certification = binary.LittleEndian.AppendUint16(certification, uint16(len(auth)))
	certification = append(certification, auth...)
	certification = binary.LittleEndian.AppendUint16(certification, 5)
	certification = binary.LittleEndian.AppendUint32(certification, uint32(len(chain)))
	certification = append(certification, chain...)

	data := append(signature, key...)
	data = binary.LittleEndian.AppendUint16(data, 6)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(certification)))
	data = append(data, certification...)
	return append(binary.LittleEndian.AppendUint32(signed, uint32(len(data))), data...), nil
}

// Evidence is a quote as a bundle carries it; change may be nil.
func (p *Platform) Evidence(reportData [64]byte, change func(*TD)) (attest.Evidence, error) {
	td := p.TD(reportData)
	if change != nil {
		change(&td)
	}
	q, err := p.Quote(td)
	if err != nil {
		return attest.Evidence{}, err
	}
	return attest.Evidence{Kind: attest.KindTDX, Items: []attest.Item{{Name: tdx.ItemQuote, Data: q}}}, nil
}

func header(td TD) []byte {
	b := binary.LittleEndian.AppendUint16(nil, 4)
	b = binary.LittleEndian.AppendUint16(b, 2)
	b = binary.LittleEndian.AppendUint32(b, 0x81)
	b = append(b, 0, 0, 0, 0)
	b = append(b, td.QEVendor[:]...)
	return append(b, make([]byte, 20)...)
}

func body(td TD) []byte {
	b := append([]byte(nil), td.TEETCB[:]...)
	b = append(b, td.MRSEAM[:]...)
	b = append(b, td.MRSignerSEAM[:]...)
	for _, n := range []uint64{td.SEAMAttributes, td.Attributes, td.XFAM} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	for _, m := range [][48]byte{td.MRTD, td.MRConfigID, td.MROwner, td.MROwnerConfig, td.RTMR[0], td.RTMR[1], td.RTMR[2], td.RTMR[3]} {
		b = append(b, m[:]...)
	}
	return append(b, td.ReportData[:]...)
}

// qeReport is the SGX report of the quoting enclave (Intel SDM, REPORT structure), with production attributes.
func qeReport(td TD, vouched [32]byte) []byte {
	b := make([]byte, 384)
	b[48] = 0x11
	copy(b[128:], td.QEMRSigner[:])
	binary.LittleEndian.PutUint16(b[256:], td.QEISVProdID)
	binary.LittleEndian.PutUint16(b[258:], td.QEISVSVN)
	copy(b[320:], vouched[:])
	return b
}

// raw signs with ECDSA P-256 and SHA-256 in the form r ‖ s.
func raw(key *ecdsa.PrivateKey, message []byte) ([]byte, error) {
	digest := sha256.Sum256(message)
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		return nil, err
	}
	out := make([]byte, 64)
	r.FillBytes(out[:32])
	s.FillBytes(out[32:])
	return out, nil
}

// point is x ‖ y.
func point(k *ecdsa.PublicKey) ([]byte, error) {
	e, err := k.ECDH()
	if err != nil {
		return nil, err
	}
	return e.Bytes()[1:], nil
}

func (p *Platform) chain() []byte {
	var out []byte
	for _, c := range []*x509.Certificate{p.pck, p.ca, p.root} {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}
