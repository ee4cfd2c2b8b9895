package nvgpu_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/nvgpu/nvgputest"
)

func TestCertificatesThatMustBeRefused(t *testing.T) {
	b := newBench(t).light()
	unknown := pkix.Extension{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}}
	for _, test := range []struct {
		name string
		o    nvgputest.GPUOptions
		kind error
		says string
	}{
		{"leaf is an issuer", nvgputest.GPUOptions{EditLeaf: func(c *x509.Certificate) {
			c.IsCA, c.BasicConstraintsValid = true, true
		}}, attest.ErrUntrusted, "is not for signing reports"},
		{"leaf may not sign", nvgputest.GPUOptions{EditLeaf: func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyAgreement }}, attest.ErrUntrusted, "is not for signing reports"},
		{"device is no issuer", nvgputest.GPUOptions{EditDevice: func(c *x509.Certificate) { c.IsCA = false }}, attest.ErrUntrusted, "is not for issuing certificates"},
		{"device may not issue", nvgputest.GPUOptions{EditDevice: func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature }}, attest.ErrUntrusted, "is not for issuing certificates"},
		{"leaf expired", nvgputest.GPUOptions{EditLeaf: func(c *x509.Certificate) { c.NotAfter = synthTime.Add(-time.Second) }}, attest.ErrStale, "certificate 1"},
		{"device not yet valid", nvgputest.GPUOptions{EditDevice: func(c *x509.Certificate) { c.NotBefore = synthTime.Add(time.Second) }}, attest.ErrStale, "certificate 2"},
		{"critical extension", nvgputest.GPUOptions{EditLeaf: func(c *x509.Certificate) { c.ExtraExtensions = append(c.ExtraExtensions, unknown) }}, attest.ErrUntrusted, "unknown critical extension 1.2.3"},
		{"no firmware id", nvgputest.GPUOptions{EditLeaf: func(c *x509.Certificate) { c.ExtraExtensions = c.ExtraExtensions[:1] }}, attest.ErrMalformed, "0 firmware ids"},
		{"no name", nvgputest.GPUOptions{EditLeaf: func(c *x509.Certificate) { c.ExtraExtensions = c.ExtraExtensions[1:] }}, attest.ErrMalformed, "0 alternative names"},
		{"another vendor", nvgputest.GPUOptions{Chip: "GH100:1"}, attest.ErrMalformed, "want NVIDIA:chip:serial"},
		{"another chip", nvgputest.GPUOptions{Chip: "GB100"}, attest.ErrUntrusted, "the certificate says GB100 and leads to"},
		{"short firmware id", nvgputest.GPUOptions{EditLeaf: fwid(t, nil, make([]byte, 32))}, attest.ErrMalformed, "firmware id: 32 bytes, want 48"},
		{"firmware id with more", nvgputest.GPUOptions{EditLeaf: func(c *x509.Certificate) {
			c.ExtraExtensions[1].Value = append(c.ExtraExtensions[1].Value, 0)
		}}, attest.ErrMalformed, "firmware id: 1 bytes after the end"},
	} {
		t.Run(test.name, func(t *testing.T) {
			gpu, err := b.NewGPU(test.o)
			require.NoError(t, err)
			_, err = b.verify(t, nvgpu.Policy{}, gpu)
			require.ErrorIs(t, err, test.kind)
			require.ErrorContains(t, err, test.says)
		})
	}
}

// fwid replaces the firmware id extension: deviceKey nil stands for an empty sequence.
func fwid(t *testing.T, deviceKey, digest []byte) func(*x509.Certificate) {
	if deviceKey == nil {
		deviceKey = []byte{0x30, 0}
	}
	e, err := nvgputest.CompositeDeviceID(deviceKey, digest)
	require.NoError(t, err)
	return func(c *x509.Certificate) { c.ExtraExtensions[1] = e }
}

// A device that certifies firmware with another device's key in it is not the device that the firmware runs on.
func TestFirmwareOfAnotherDeviceIsRefused(t *testing.T) {
	b := newBench(t).light()
	gpu, err := b.NewGPU(nvgputest.GPUOptions{EditLeaf: fwid(t, b.gpu.Chain[1].RawSubjectPublicKeyInfo, b.gpu.FWID[:])})
	require.NoError(t, err)
	_, err = b.verify(t, nvgpu.Policy{}, gpu)
	require.ErrorIs(t, err, attest.ErrUntrusted)
	require.ErrorContains(t, err, "is for another device than its issuer")
}

// Whoever holds a GPU's firmware key, or any certificate that is not an issuer's, cannot issue himself a GPU; nor can a
// self-made root with the right name stand in for the pinned one.
func TestSelfMadeIssuersAreRefused(t *testing.T) {
	b, other := newBench(t).light(), otherBench(t)
	_, err := b.verify(t, nvgpu.Policy{}, other.gpu)
	require.ErrorIs(t, err, attest.ErrUntrusted)
	require.ErrorContains(t, err, "is not the pinned root")

	grafted := *other.gpu
	root := b.Issuers()[len(b.Issuers())-1]
	grafted.Chain = append(append([]*x509.Certificate(nil), grafted.Chain[:4]...), root)
	_, err = b.verify(t, nvgpu.Policy{}, &grafted)
	require.ErrorIs(t, err, attest.ErrUntrusted)
	require.ErrorContains(t, err, `certificate 4 ("NVIDIA GH100 Identity SYNTHETIC") is not signed by certificate 5`)

	forged, err := b.NewGPU(nvgputest.GPUOptions{Device: b.gpu.Chain[0]})
	require.NoError(t, err)
	e, err := forged.Evidence(0, binding)
	require.NoError(t, err)
	e.Items[0].Data = forged.Chain[0].Raw // as DER, since PEM of so many would be too long
	for _, c := range b.gpu.Chain {
		e.Items[0].Data = append(e.Items[0].Data, c.Raw...)
	}
	_, err = nvgpu.New(nvgpu.Options{Roots: b.Roots()}).Verify(e, binding, synthTime)
	require.ErrorIs(t, err, attest.ErrUntrusted)
	require.ErrorContains(t, err, "is not for issuing certificates")
}

func TestOtherCurveIsRefused(t *testing.T) {
	b := newBench(t).light()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := *b.gpu.Chain[0]
	template.ExtraExtensions, template.SerialNumber = b.gpu.Chain[0].Extensions, nil
	leaf, err := b.IssueFor(&template, b.gpu.Chain[1], key)
	require.NoError(t, err)
	gpu := *b.gpu
	gpu.Chain = append([]*x509.Certificate{leaf}, gpu.Chain[1:]...)
	_, err = b.verify(t, nvgpu.Policy{}, &gpu)
	require.ErrorIs(t, err, attest.ErrUntrusted)
	require.ErrorContains(t, err, "certificate 1 (\"GH100 GSP FMC LF SYNTHETIC\") is not ECDSA with P-384 and SHA-384")
}
