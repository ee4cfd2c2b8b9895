package nvgpu

import (
	"encoding/pem"
	"fmt"
	"slices"

	"github.com/gantry-market/gantry/attest"
)

// Names of the items that evidence of kind [attest.KindNVGPU] consists of: these two, no others.
const (
	// ItemReport is what NVML returns for the nonce Binding.GPU(): see [Items].
	ItemReport = "report"
	// ItemCertificates is the attestation certificate chain, leaf first, root last: see [CanonicalChain].
	ItemCertificates = "certificates"
)

// Request is the SPDM 1.1 GET_MEASUREMENTS message that the driver sends to the GPU for a nonce: all measurements,
// signed, by the certificates in slot 0. It is here for auditors and generators: the driver makes it, and a report
// begins with it.
func Request(nonce [32]byte) [RequestSize]byte {
	m := [RequestSize]byte{spdmVersion11, codeGetMeasurements, attrSign, operationAllBlocks}
	copy(m[4:], nonce[:])
	return m
}

// Items makes a collector's evidence items of what NVML returned:
//
//   - report: nvmlConfComputeGpuAttestationReport_t.attestationReport, the first attestationReportSize bytes, after
//     nvmlDeviceGetConfComputeGpuAttestationReport with the nonce Binding.GPU(). The buffer has the request (37 bytes, with
//     the nonce) and then the whole response, so nothing is to be put in front of it.
//   - chain: nvmlConfComputeGpuCertificate_t.attestationCertChain, the first attestationCertChainSize bytes, after
//     nvmlDeviceGetConfComputeGpuCertificate. It is PEM. (certChain, beside it, is another chain and of no use here.)
//
// A report or chain that no verifier would read is refused here, where its GPU is at hand. Signatures are not checked.
func Items(report, chain []byte) ([]attest.Item, error) {
	if _, err := ParseReport(report); err != nil {
		return nil, fmt.Errorf("NVML's report: %w", err)
	}
	certificates, err := CanonicalChain(chain)
	if err != nil {
		return nil, fmt.Errorf("NVML's certificates: %w", err)
	}
	return []attest.Item{{Name: ItemCertificates, Data: certificates}, {Name: ItemReport, Data: slices.Clone(report)}}, nil
}

// CanonicalChain turns PEM with any line ends, padding of zeros or text between blocks, or DER, into the one form that
// evidence has: PEM blocks without headers, 64 characters to a line, one after the other.
func CanonicalChain(chain []byte) ([]byte, error) {
	if len(chain) > MaxChainSize {
		return nil, malformed("certificates", "%d bytes, more than %d", len(chain), MaxChainSize)
	}
	var out []byte
	for rest := chain; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != pemType {
			return nil, malformed("certificates", "a PEM block of type %q", block.Type)
		}
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: block.Bytes})...)
	}
	if out == nil {
		certs, err := parseDER(chain)
		if err != nil {
			return nil, err
		}
		out = EncodeChain(certs)
	}
	if _, err := ParseChain(out); err != nil {
		return nil, err
	}
	return out, nil
}
