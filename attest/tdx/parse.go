package tdx

import (
	"bytes"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"fmt"

	"github.com/google/go-tdx-guest/abi"
	pb "github.com/google/go-tdx-guest/proto/tdx"

	"github.com/gantry-market/gantry/attest"
)

// ItemQuote is the one item of the evidence: the quote as the quoting enclave made it, version 4.
const ItemQuote = "quote"

// Offsets and sizes of a version 4 quote, Intel "TDX DCAP Quote Generation Library", appendix 3.
const (
	headerSize   = 48
	bodySize     = 584
	attributesAt = headerSize + 0x78
	sizeAt       = headerSize + bodySize
	authAt       = sizeAt + 4
	authFixed    = 64 + 64 + 6 // signature, attestation key, certification data type and size
	qeReportSize = 384
	qeFixed      = qeReportSize + 64 + 2 // QE report, its signature, size of the authentication data
	chainFixed   = 6                     // type and size of the PCK chain
	// maxQuote bounds a quote. Real ones are 5 KiB.
	maxQuote = 16 << 10
)

// Quote is a parsed quote. Only what [ParseQuote] returns is valid.
type Quote struct {
	raw          []byte
	proto        *pb.QuoteV4
	pck, ca, sgx *x509.Certificate
}

// ParseQuote reads a quote of version 4 with a PCK certificate chain in it. Its error wraps [attest.ErrMalformed].
func ParseQuote(raw []byte) (*Quote, error) {
	chain, err := layout(raw)
	if err != nil {
		return nil, err
	}
	parsed, err := abi.QuoteToProto(bytes.Clone(raw))
	if err != nil {
		return nil, malformed("%v", err)
	}
	v4, ok := parsed.(*pb.QuoteV4)
	if !ok {
		return nil, malformed("the quote is not of version 4")
	}
	// Some quoting enclaves end the chain with a NUL.
	certs, err := parsePEM(bytes.TrimSuffix(chain, []byte{0}), 3)
	if err != nil {
		return nil, err
	}
	return &Quote{raw: bytes.Clone(raw), proto: v4, pck: certs[0], ca: certs[1], sgx: certs[2]}, nil
}

// layout follows every length in the quote, makes sure that they add up to exactly its size, and returns the PCK chain.
func layout(raw []byte) ([]byte, error) {
	if len(raw) > maxQuote {
		return nil, malformed("a quote of %d bytes is longer than %d", len(raw), maxQuote)
	}
	if len(raw) < authAt+authFixed+qeFixed+chainFixed {
		return nil, malformed("%d bytes are too few for a quote", len(raw))
	}
	if v := binary.LittleEndian.Uint16(raw); v != 4 {
		return nil, malformed("quote version %d is not 4", v)
	}
	auth := raw[authAt:]
	if n := binary.LittleEndian.Uint32(raw[sizeAt:]); uint64(n) != uint64(len(auth)) {
		return nil, malformed("the signature data is %d bytes by its size and %d by the quote's", n, len(auth))
	}
	kind, size := binary.LittleEndian.Uint16(auth[128:]), binary.LittleEndian.Uint32(auth[130:])
	cert := auth[authFixed:]
	if kind != 6 || uint64(size) != uint64(len(cert)) {
		return nil, malformed("certification data of type %d and %d bytes, want type 6 and %d", kind, size, len(cert))
	}
	authData := int(binary.LittleEndian.Uint16(cert[qeFixed-2:]))
	rest := cert[qeFixed:]
	if len(rest) < authData+chainFixed {
		return nil, malformed("authentication data of %d bytes runs over the quote's end", authData)
	}
	chain := rest[authData+chainFixed:]
	kind, size = binary.LittleEndian.Uint16(rest[authData:]), binary.LittleEndian.Uint32(rest[authData+2:])
	if kind != 5 || uint64(size) != uint64(len(chain)) {
		return nil, malformed("PCK chain of type %d and %d bytes, want type 5 and %d", kind, size, len(chain))
	}
	return chain, nil
}

// parsePEM reads exactly n certificates in canonical PEM, and nothing else.
func parsePEM(rest []byte, n int) ([]*x509.Certificate, error) {
	certs := make([]*x509.Certificate, n)
	for i := range certs {
		block, after := pem.Decode(rest)
		if block == nil {
			return nil, malformed("a chain of %d certificates, want %d", i, n)
		}
		want := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes})
		if !bytes.Equal(want, rest[:len(rest)-len(after)]) {
			return nil, malformed("certificate %d of the chain is not in canonical PEM", i+1)
		}
		var err error
		if certs[i], err = x509.ParseCertificate(block.Bytes); err != nil {
			return nil, malformed("certificate %d of the chain: %v", i+1, err)
		}
		rest = after
	}
	if len(rest) != 0 {
		return nil, malformed("%d bytes follow the chain", len(rest))
	}
	return certs, nil
}

// ReportData is what the trust domain asked to have signed.
func (q *Quote) ReportData() [64]byte { return [64]byte(q.proto.GetTdQuoteBody().GetReportData()) }

// MRTD is the measurement of the trust domain's initial memory.
func (q *Quote) MRTD() [48]byte { return [48]byte(q.proto.GetTdQuoteBody().GetMrTd()) }

// RTMR is a run-time measurement register, 0 to 3.
func (q *Quote) RTMR(i int) [48]byte { return [48]byte(q.proto.GetTdQuoteBody().GetRtmrs()[i]) }

// MRSEAM is the measurement of the TDX module.
func (q *Quote) MRSEAM() [48]byte { return [48]byte(q.proto.GetTdQuoteBody().GetMrSeam()) }

// TEETCB are the TDX module's and platform's security versions.
func (q *Quote) TEETCB() [16]byte { return [16]byte(q.proto.GetTdQuoteBody().GetTeeTcbSvn()) }

// Attributes are the trust domain's: see the Attribute constants.
func (q *Quote) Attributes() uint64 {
	return binary.LittleEndian.Uint64(q.proto.GetTdQuoteBody().GetTdAttributes())
}

// XFAM is the extended features that the trust domain may use.
func (q *Quote) XFAM() uint64 { return binary.LittleEndian.Uint64(q.proto.GetTdQuoteBody().GetXfam()) }

// Attributes of a trust domain (Intel TDX module ABI, ATTRIBUTES).
const (
	// AttributeDebug lets the host read the trust domain's memory and registers.
	AttributeDebug uint64 = 1 << 0
	// AttributeSeptVEDisable keeps the host from making chosen memory accesses fail inside the trust domain.
	AttributeSeptVEDisable uint64 = 1 << 28
	// AttributeMigratable lets the trust domain be moved to another host.
	AttributeMigratable uint64 = 1 << 29
	// AttributePerfmon lets the trust domain use performance counters.
	AttributePerfmon uint64 = 1 << 63
)

// Debug reports whether the host may read the trust domain. Any of the eight "under debug" bits does.
func (q *Quote) Debug() bool { return q.Attributes()&0xff != 0 }

// FromTSM makes evidence of what Linux's configfs-tsm returns in outblob for a TDX guest.
func FromTSM(outblob []byte) (attest.Evidence, error) {
	if _, err := ParseQuote(outblob); err != nil {
		return attest.Evidence{}, err
	}
	return attest.Evidence{Kind: attest.KindTDX, Items: []attest.Item{{Name: ItemQuote, Data: bytes.Clone(outblob)}}}, nil
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), attest.ErrMalformed)
}
