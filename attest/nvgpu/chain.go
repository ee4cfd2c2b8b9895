package nvgpu

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
)

const (
	// MaxChainSize is a chain's largest size in bytes, as evidence and as NVML returns it
	// (NVML_GPU_ATTESTATION_CERT_CHAIN_SIZE).
	MaxChainSize = 0x1400

	minChain = 3
	maxChain = 8
	pemType  = "CERTIFICATE"
)

// Chain is a parsed certificate chain: the GPU's attestation certificate first, a root last. It is to be believed only
// after [Roots.CheckDevice].
type Chain struct {
	Certificates []*x509.Certificate
	// Leaf is what the attestation certificate says about the GPU.
	Leaf Identity
}

// ParseChain reads a chain as evidence has it: PEM blocks in the form of [CanonicalChain], or the same certificates as
// DER one after the other. Exactly one PEM encoding of a chain is accepted; a missing last line end is forgiven,
// because NVIDIA's own samples lack it.
func ParseChain(data []byte) (*Chain, error) {
	if len(data) > MaxChainSize {
		return nil, malformed("certificates", "%d bytes, more than %d", len(data), MaxChainSize)
	}
	der, err := decodePEM(data)
	if err != nil {
		return nil, err
	}
	certs, err := parseDER(der)
	if err != nil {
		return nil, err
	}
	if len(certs) < minChain {
		return nil, malformed("certificates", "%d, a chain has at least %d", len(certs), minChain)
	}
	leaf, err := parseIdentity(certs[0])
	if err != nil {
		return nil, err
	}
	return &Chain{Certificates: certs, Leaf: leaf}, nil
}

// decodePEM returns the content of canonical PEM, and anything that does not begin like PEM as it is.
func decodePEM(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte("-----")) {
		return data, nil
	}
	var der, canonical []byte
	for rest := data; len(rest) > 0; {
		block, after := pem.Decode(rest)
		if block == nil {
			return nil, malformed("certificates", "%d bytes that are not PEM", len(rest))
		}
		if block.Type != pemType {
			return nil, malformed("certificates", "a PEM block of type %q", block.Type)
		}
		der = append(der, block.Bytes...)
		canonical = append(canonical, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: block.Bytes})...)
		rest = after
	}
	if !bytes.Equal(data, canonical) && !bytes.Equal(append(bytes.Clone(data), '\n'), canonical) {
		return nil, malformed("certificates", "PEM is not in canonical form")
	}
	return der, nil
}

// parseDER reads certificates that follow each other.
func parseDER(der []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for len(der) > 0 {
		if len(certs) == maxChain {
			return nil, malformed("certificates", "more than %d", maxChain)
		}
		var raw asn1.RawValue
		rest, err := asn1.Unmarshal(der, &raw)
		if err != nil {
			return nil, malformed("certificates", "number %d: %v", len(certs)+1, err)
		}
		cert, err := x509.ParseCertificate(raw.FullBytes)
		if err != nil {
			return nil, malformed("certificates", "number %d: %v", len(certs)+1, err)
		}
		certs, der = append(certs, cert), rest
	}
	if certs == nil {
		return nil, malformed("certificates", "none")
	}
	return certs, nil
}

// EncodeChain is the PEM that evidence has.
func EncodeChain(certs []*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: c.Raw})...)
	}
	return out
}

// LeafDigest is sha256 of the attestation certificate's DER.
func (c *Chain) LeafDigest() [32]byte { return sha256.Sum256(c.Certificates[0].Raw) }

// DeviceID is sha256("gantry-nvgpu-device-1" ‖ public key of the certificate that issued the attestation certificate).
// That key is burnt into the GPU and certified by NVIDIA; the attestation key itself is derived from it and from the
// firmware, so that one GPU has another attestation key after each firmware update and would count as two devices.
func (c *Chain) DeviceID() [32]byte {
	return sha256.Sum256(append([]byte("gantry-nvgpu-device-1"), c.Certificates[1].RawSubjectPublicKeyInfo...))
}
