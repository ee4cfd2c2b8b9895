package nvgputest

import (
	"crypto"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu"
)

// Collateral is collateral in memory.
type Collateral map[string][]byte

// Get implements [attest.Collateral].
func (c Collateral) Get(key string) ([]byte, error) {
	if data, has := c[key]; has {
		return data, nil
	}
	return nil, attest.ErrNoCollateral
}

// Manifest is a reference manifest before it is signed.
type Manifest struct {
	Version, Product string
	Golden           []nvgpu.Golden
	// Edit, if set, changes the document before it is signed.
	Edit func(xml string) string
}

// Indices of the golden measurements that synthetic manifests have, as NVIDIA's have them.
var (
	vbiosIndices  = []int{0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12}
	driverIndices = []int{7, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40}
)

// DriverManifest and VBIOSManifest are those of a healthy synthetic GPU: 33 golden measurements between them.
func DriverManifest() Manifest { return manifest(Driver, driverIndices) }

// VBIOSManifest is the other one.
func VBIOSManifest() Manifest { return manifest(VBIOS, vbiosIndices) }

func manifest(version string, indices []int) Manifest {
	m := Manifest{Version: version, Product: Chip}
	for _, i := range indices {
		m.Golden = append(m.Golden, nvgpu.Golden{
			Index: uint8(i), Name: fmt.Sprintf("Measurement_%d", i), Active: true, Values: [][]byte{Measurement(i + 1)},
		})
	}
	return m
}

// Collateral has both manifests of a healthy synthetic GPU.
func (a *Authority) Collateral() (Collateral, error) {
	driver, err := a.Sign(DriverManifest())
	if err != nil {
		return nil, err
	}
	vbios, err := a.Sign(VBIOSManifest())
	if err != nil {
		return nil, err
	}
	return Collateral{nvgpu.DriverRIMKey(Chip, Driver): driver, nvgpu.VBIOSRIMKey(Board, VBIOS): vbios}, nil
}

// Sign writes a manifest the way NVIDIA's are written and signs it.
func (a *Authority) Sign(m Manifest) ([]byte, error) {
	text := m.xml()
	if m.Edit != nil {
		text = m.Edit(text)
	}
	doc := etree.NewDocument()
	if err := doc.ReadFromString(text); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	var chain [][]byte
	for _, c := range a.rim {
		chain = append(chain, c.Raw)
	}
	ctx, err := dsig.NewSigningContext(a.Key(a.rim[0]), chain)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	ctx.Hash, ctx.Canonicalizer = crypto.SHA384, dsig.MakeC14N11Canonicalizer()
	signed, err := ctx.SignEnveloped(doc.Root())
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	value := signed.FindElement("./Signature/SignatureValue")
	if err := rawSignature(value); err != nil {
		return nil, err
	}
	doc.SetRoot(signed)
	return doc.WriteToBytes()
}

// rawSignature turns ASN.1, which the library writes, into r and s, which the standard and NVIDIA have.
func rawSignature(value *etree.Element) error {
	der, err := base64.StdEncoding.DecodeString(value.Text())
	if err != nil {
		return fmt.Errorf("manifest signature: %w", err)
	}
	var sig struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &sig); err != nil {
		return fmt.Errorf("manifest signature: %w", err)
	}
	raw := make([]byte, nvgpu.SignatureSize)
	sig.R.FillBytes(raw[:nvgpu.SignatureSize/2])
	sig.S.FillBytes(raw[nvgpu.SignatureSize/2:])
	value.SetText(base64.StdEncoding.EncodeToString(raw))
	return nil
}

func (m Manifest) xml() string {
	var b strings.Builder
	b.WriteString(`<SoftwareIdentity xmlns="http://standards.iso.org/iso/19770/-2/2015/schema.xsd"` +
		` xmlns:ns0="http://standards.iso.org/iso/19770/-2/2015/schema.xsd" xmlns:ns2="http://www.w3.org/2001/04/xmlenc#sha384"` +
		` name="` + m.Product + `" tagId="SYNTHETIC" version="1.0" tagVersion="0">` + "\n" +
		`<ns0:Entity name="SYNTHETIC" role="softwareCreator tagCreator"/>` + "\n" +
		`<ns0:Meta colloquialVersion="` + m.Version + `" edition="GPU" product="` + m.Product + `"/>` + "\n<ns0:Payload>\n")
	for _, g := range m.Golden {
		active, size := "False", 48
		if g.Active {
			active, size = "True", len(g.Values[0])
		}
		fmt.Fprintf(&b, `<ns0:Resource type="Measurement" index="%d" active="%s" alternatives="%d"`, g.Index, active, len(g.Values))
		for i, v := range g.Values {
			fmt.Fprintf(&b, ` ns2:Hash%d="%x"`, i, v)
		}
		fmt.Fprintf(&b, " name=%q size=\"%d\"/>\n", g.Name, size)
	}
	b.WriteString("</ns0:Payload>\n</SoftwareIdentity>")
	return b.String()
}
