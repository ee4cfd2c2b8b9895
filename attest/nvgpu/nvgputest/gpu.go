package nvgputest

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu"
)

// GPU is a synthetic GPU: a device key, an attestation key and the certificates for both.
type GPU struct {
	// Chain is leaf first, root last. It may be edited: evidence has what is here.
	Chain []*x509.Certificate
	// FWID is what certificate and report say of the firmware.
	FWID [48]byte

	authority *Authority
}

// GPUOptions are what a synthetic GPU is to be. The zero value is a GH100.
type GPUOptions struct {
	// Chip in the attestation certificate. "": Chip.
	Chip string
	// Firmware is any text that stands for the GPU's firmware.
	Firmware string
	// Device, if set, is the certificate of an existing GPU's device key: the same GPU with other firmware.
	Device *x509.Certificate
	// EditDevice and EditLeaf change the certificates before they are issued.
	EditDevice, EditLeaf func(*x509.Certificate)
}

// NewGPU makes a GPU with fresh keys.
func (a *Authority) NewGPU(o GPUOptions) (*GPU, error) {
	if o.Chip == "" {
		o.Chip = Chip
	}
	device := o.Device
	if device == nil {
		t := CATemplate(o.Chip + " GSP BROM")
		if t.KeyUsage = x509.KeyUsageCertSign; o.EditDevice != nil {
			o.EditDevice(t)
		}
		var err error
		if device, err = a.Issue(t, a.device[0]); err != nil {
			return nil, err
		}
	}
	g := &GPU{FWID: sha512.Sum384([]byte("synthetic firmware " + o.Firmware)), authority: a}
	t := Template(o.Chip + " GSP FMC LF")
	san, err := DeviceInfo(fmt.Sprintf("NVIDIA:%s:SYNTHETIC%04d", o.Chip, a.serial))
	if err != nil {
		return nil, err
	}
	fwid, err := CompositeDeviceID(device.RawSubjectPublicKeyInfo, g.FWID[:])
	if err != nil {
		return nil, err
	}
	if t.ExtraExtensions = []pkix.Extension{san, fwid}; o.EditLeaf != nil {
		o.EditLeaf(t)
	}
	leaf, err := a.Issue(t, device)
	if err != nil {
		return nil, err
	}
	g.Chain = append([]*x509.Certificate{leaf, device}, a.device...)
	return g, nil
}

// DeviceInfo is a subject alternative name extension with SPDM's vendor:product:serial.
func DeviceInfo(text string) (pkix.Extension, error) {
	type otherName struct {
		ID    asn1.ObjectIdentifier
		Value string `asn1:"tag:0,explicit,utf8"`
	}
	name, err := asn1.MarshalWithParams(otherName{asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 412, 274, 1}, text}, "tag:0")
	if err != nil {
		return pkix.Extension{}, fmt.Errorf("alternative name: %w", err)
	}
	value, err := asn1.Marshal([]asn1.RawValue{{FullBytes: name}})
	return pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: value}, err
}

// CompositeDeviceID is a firmware id extension as Hopper's certificates have it.
func CompositeDeviceID(deviceKey, fwid []byte) (pkix.Extension, error) {
	type firmware struct {
		Algorithm asn1.ObjectIdentifier
		Digest    []byte
	}
	value, err := asn1.Marshal(struct {
		Version  int
		DeviceID asn1.RawValue
		FWID     firmware
	}{1, asn1.RawValue{FullBytes: deviceKey}, firmware{asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 2}, fwid}})
	if err != nil {
		return pkix.Extension{}, fmt.Errorf("firmware id: %w", err)
	}
	return pkix.Extension{Id: asn1.ObjectIdentifier{2, 23, 133, 5, 4, 1}, Value: value}, nil
}

// Evidence answers a binding. Edits change the report before it is signed.
func (g *GPU) Evidence(instance uint16, b attest.Binding, edits ...func(*Spec)) (attest.Evidence, error) {
	spec := g.Spec(b.GPU())
	for _, edit := range edits {
		edit(&spec)
	}
	report, err := g.Sign(spec)
	if err != nil {
		return attest.Evidence{}, err
	}
	return attest.Evidence{Kind: attest.KindNVGPU, Instance: instance, Items: []attest.Item{
		{Name: nvgpu.ItemCertificates, Data: nvgpu.EncodeChain(g.Chain)}, {Name: nvgpu.ItemReport, Data: report},
	}}, nil
}

// Sign encodes a report and signs it with the key of the chain's first certificate.
func (g *GPU) Sign(s Spec) ([]byte, error) {
	key := g.authority.Key(g.Chain[0])
	if key == nil {
		return nil, fmt.Errorf("the key of %s is not known", g.Chain[0].Subject.CommonName)
	}
	message := s.encode()
	digest := sha512.Sum384(message)
	r, sig, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		return nil, fmt.Errorf("report signature: %w", err)
	}
	out := make([]byte, nvgpu.SignatureSize)
	r.FillBytes(out[:nvgpu.SignatureSize/2])
	sig.FillBytes(out[nvgpu.SignatureSize/2:])
	return append(message, out...), nil
}
