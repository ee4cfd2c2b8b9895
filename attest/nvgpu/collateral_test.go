package nvgpu_test

import (
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ocsp"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/nvgpu/nvgputest"
)

var issued = synthTime.Add(-time.Hour)

// addLists supplies a revocation list of every issuer.
func (b *bench) addLists(t testing.TB, this time.Time, revoked ...*x509.Certificate) {
	t.Helper()
	for _, issuer := range append(b.Issuers(), b.Signers()[1:]...) {
		list, err := b.CRL(issuer, this, revoked...)
		require.NoError(t, err)
		b.collateral[nvgpu.CRLKey(issuer)] = list
	}
}

func TestStrictPolicyIsMetWithEverythingSupplied(t *testing.T) {
	b := newBench(t)
	b.addLists(t, issued)
	r, err := b.verify(t, nvgpu.StrictPolicy(), b.gpu)
	require.NoError(t, err)
	require.True(t, r.Confidential)
	require.Empty(t, r.Uncovered())
}

// Every certificate that a list or response can speak of, revoked in turn.
func TestRevokedCertificatesAreRefused(t *testing.T) {
	b := newBench(t)
	paths := map[string][]*x509.Certificate{
		nvgpu.CheckRevocation: b.gpu.Chain[1:], "revocation of the driver manifest's signers": b.Signers(),
	}
	b.addLists(t, issued)
	for check, path := range paths {
		for i, c := range path[:len(path)-1] {
			issuer := path[i+1]
			good := b.collateral[nvgpu.CRLKey(issuer)]
			bad, err := b.CRL(issuer, issued, c)
			require.NoError(t, err)
			b.collateral[nvgpu.CRLKey(issuer)] = bad
			r, err := b.verify(t, nvgpu.Policy{}, b.gpu)
			require.ErrorIs(t, err, attest.ErrUntrusted)
			require.ErrorContains(t, err, check)
			require.ErrorContains(t, err, "revoked on 2026-03-01 (reason 1) by its issuer's list")
			require.False(t, r.Confidential)
			b.collateral[nvgpu.CRLKey(issuer)] = good
			b.collateral[nvgpu.OCSPKey(c)], err = b.OCSP(c, issuer, issuer, ocsp.Revoked, issued)
			require.NoError(t, err)
			_, err = b.verify(t, nvgpu.Policy{}, b.gpu)
			require.ErrorIs(t, err, attest.ErrUntrusted)
			require.ErrorContains(t, err, "revoked on 2026-03-01 (reason 1) by OCSP")
			delete(b.collateral, nvgpu.OCSPKey(c))
		}
	}
}

func TestListsThatCannotBeReliedOn(t *testing.T) {
	b, other := newBench(t).light(), otherBench(t)
	issuer := b.Issuers()[0]
	good, err := b.CRL(issuer, issued)
	require.NoError(t, err)
	foreign, err := other.CRL(other.Issuers()[0], issued)
	require.NoError(t, err)
	wrong, err := b.CRL(b.Issuers()[1], issued)
	require.NoError(t, err)
	old, err := b.CRL(issuer, synthTime.Add(-25*time.Hour))
	require.NoError(t, err)
	future, err := b.CRL(issuer, synthTime.Add(time.Minute))
	require.NoError(t, err)
	for name, test := range map[string]struct {
		list []byte
		kind error
		says string
	}{
		"another authority's": {foreign, attest.ErrUntrusted, "revocation list is not signed by"},
		"another issuer's":    {wrong, attest.ErrUntrusted, "revocation list of"},
		"out of date":         {old, attest.ErrStale, "revocation list is valid from 2026-02-28T11:00:00Z to 2026-03-01T11:00:00Z, not at 2026-03-01T12:00:00Z"},
		"from the future":     {future, attest.ErrStale, "revocation list is valid from"},
		"cut off":             {good[:len(good)-1], attest.ErrMalformed, "revocation list:"},
		"empty":               {[]byte{}, attest.ErrMalformed, "0 bytes, want 1 to"},
		"too long":            {make([]byte, 1<<20+1), attest.ErrMalformed, "1048577 bytes"},
	} {
		b.collateral[nvgpu.CRLKey(issuer)] = test.list
		_, err := b.verify(t, nvgpu.Policy{}, b.gpu)
		require.ErrorIs(t, err, test.kind, name)
		require.ErrorContains(t, err, test.says, name)
	}
	// A response that is all right does not make up for a list that is not.
	b.collateral[nvgpu.CRLKey(issuer)] = old
	b.collateral[nvgpu.OCSPKey(b.gpu.Chain[1])], err = b.OCSP(b.gpu.Chain[1], issuer, issuer, ocsp.Good, issued)
	require.NoError(t, err)
	_, err = b.verify(t, nvgpu.Policy{}, b.gpu)
	require.ErrorIs(t, err, attest.ErrStale)
}

func TestResponsesThatCannotBeReliedOn(t *testing.T) {
	b := newBench(t)
	b.light()
	c, issuer := b.gpu.Chain[1], b.gpu.Chain[2]
	sibling, err := b.NewGPU(nvgputest.GPUOptions{})
	require.NoError(t, err)
	responder := func(edit func(*x509.Certificate), by *x509.Certificate) *x509.Certificate {
		template := nvgputest.Template("OCSP responder")
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageOCSPSigning}
		edit(template)
		cert, err := b.Issue(template, by)
		require.NoError(t, err)
		return cert
	}
	asIs := func(*x509.Certificate) {}
	for _, test := range []struct {
		name      string
		responder *x509.Certificate
		status    int
		this      time.Time
		kind      error
		says      string
	}{
		{"issuer", issuer, ocsp.Good, issued, nil, ""},
		{"responder", responder(asIs, issuer), ocsp.Good, issued, nil, ""},
		{"responder without the usage", responder(func(c *x509.Certificate) { c.ExtKeyUsage = nil }, issuer), ocsp.Good, issued, attest.ErrUntrusted, "is not for signing responses"},
		{"another GPU", sibling.Chain[1], ocsp.Good, issued, attest.ErrUntrusted, "is not for signing responses"},
		{"responder of another issuer", responder(asIs, b.gpu.Chain[3]), ocsp.Good, issued, attest.ErrUntrusted, "OCSP response: bad OCSP signature"},
		{"expired responder", responder(func(c *x509.Certificate) { c.NotAfter = synthTime.Add(-time.Second) }, issuer), ocsp.Good, issued, attest.ErrStale, "OCSP responder"},
		{"unknown", issuer, ocsp.Unknown, issued, attest.ErrUntrusted, "OCSP does not know it"},
		{"out of date", issuer, ocsp.Good, synthTime.Add(-25 * time.Hour), attest.ErrStale, "OCSP response is valid from"},
		{"from the future", issuer, ocsp.Good, synthTime.Add(time.Second), attest.ErrStale, "OCSP response is valid from"},
	} {
		response, err := b.OCSP(c, issuer, test.responder, test.status, test.this)
		require.NoError(t, err, test.name)
		b.collateral[nvgpu.OCSPKey(c)] = response
		_, err = b.verify(t, nvgpu.Policy{}, b.gpu)
		if test.kind == nil {
			require.NoError(t, err, test.name)
			continue
		}
		require.ErrorIs(t, err, test.kind, test.name)
		require.ErrorContains(t, err, test.says, test.name)
	}
	other, err := b.OCSP(sibling.Chain[1], issuer, issuer, ocsp.Good, issued)
	require.NoError(t, err)
	b.collateral[nvgpu.OCSPKey(c)] = other
	_, err = b.verify(t, nvgpu.Policy{}, b.gpu)
	require.ErrorContains(t, err, "no response matching the supplied certificate")
}

func TestManifestsThatMustBeRefused(t *testing.T) {
	b, other := newBench(t), otherBench(t)
	vbios := nvgpu.VBIOSRIMKey(nvgputest.Board, nvgputest.VBIOS)
	both := b.collateral[vbios]
	delete(b.collateral, vbios)
	key := nvgpu.DriverRIMKey(nvgputest.Chip, nvgputest.Driver)
	edit := func(old, with string) func(*nvgputest.Manifest) {
		return func(m *nvgputest.Manifest) {
			m.Edit = func(xml string) string {
				require.Contains(t, xml, old)
				return strings.Replace(xml, old, with, 1)
			}
		}
	}
	for _, test := range []struct {
		name string
		edit func(*nvgputest.Manifest)
		kind error
		says string
	}{
		{"another version", func(m *nvgputest.Manifest) { m.Version = "550.90.08" }, attest.ErrUntrusted, `is of version "550.90.08", the report of 550.90.07`},
		{"another chip", func(m *nvgputest.Manifest) { m.Product = "GB100" }, attest.ErrUntrusted, `is for "GB100", the report of GH100`},
		{"nothing active", func(m *nvgputest.Manifest) {
			for i := range m.Golden {
				m.Golden[i].Active = false
			}
		}, attest.ErrMalformed, "no active measurement"},
		{"nothing at all", func(m *nvgputest.Manifest) { m.Golden = nil }, attest.ErrMalformed, "no active measurement"},
		{"index twice", func(m *nvgputest.Manifest) { m.Golden[1].Index = 7 }, attest.ErrMalformed, "measurement index 7 out of order or repeated"},
		{"index of the other manifest", func(m *nvgputest.Manifest) { m.Golden = append(nvgputest.VBIOSManifest().Golden[:1], m.Golden...) }, attest.ErrMalformed, "both have an active measurement with index 0"},
		{"index out of range", edit(`index="7"`, `index="300"`), attest.ErrMalformed, `with index "300"`},
		{"index in another form", edit(`index="7"`, `index="07"`), attest.ErrMalformed, `with index "07"`},
		{"neither active nor not", edit(`active="True"`, `active="true"`), attest.ErrMalformed, `is active="true"`},
		{"too many alternatives", edit(`alternatives="1"`, `alternatives="17"`), attest.ErrMalformed, `"17" alternatives`},
		{"value missing", edit(`alternatives="1"`, `alternatives="2"`), attest.ErrMalformed, "0 attributes Hash1"},
		{"value beyond", edit(` name="Measurement_7"`, ` ns2:Hash1="00" name="Measurement_7"`), attest.ErrMalformed, "2 values for 1 alternatives"},
		{"value of another size", edit(`size="48"`, `size="32"`), attest.ErrMalformed, "not 32 bytes in hexadecimal"},
		{"value in another namespace", edit("ns2:Hash0", "Hash0"), attest.ErrMalformed, "0 attributes Hash0"},
		{"two payloads", edit("</ns0:Payload>", "</ns0:Payload><ns0:Payload/>"), attest.ErrMalformed, "more than one Payload"},
		{"no payload", edit("<ns0:Payload>", "<ns0:Load>"), attest.ErrMalformed, ""},
		{"two versions", edit("<ns0:Entity", `<ns0:Meta colloquialVersion="550.90.07" product="GH100"/><ns0:Entity`), attest.ErrMalformed, "more than one Meta"},
		{"no version", edit("colloquialVersion", "version"), attest.ErrMalformed, "0 attributes colloquialVersion"},
		{"something else in the payload", edit("<ns0:Payload>", "<ns0:Payload><ns0:File/>"), attest.ErrMalformed, `element "File" in the payload`},
		{"another document", func(m *nvgputest.Manifest) {
			m.Edit = func(xml string) string { return strings.ReplaceAll(xml, "SoftwareIdentity", "Identity") }
		}, attest.ErrMalformed, "want SoftwareIdentity"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := nvgputest.DriverManifest()
			test.edit(&m)
			data, err := b.Sign(m)
			if test.name == "no payload" {
				require.Error(t, err, "not well-formed")
				return
			}
			require.NoError(t, err)
			b.collateral[key] = data
			if strings.HasPrefix(test.says, "both") {
				b.collateral[vbios] = both
				defer delete(b.collateral, vbios)
			}
			r, err := b.verify(t, nvgpu.Policy{}, b.gpu)
			require.ErrorIs(t, err, test.kind)
			require.ErrorContains(t, err, test.says)
			require.False(t, r.Confidential)
		})
	}
	foreign, err := other.Sign(nvgputest.DriverManifest())
	require.NoError(t, err)
	b.collateral[key] = foreign
	_, err = b.verify(t, nvgpu.Policy{}, b.gpu)
	require.ErrorIs(t, err, attest.ErrUntrusted)
	require.ErrorContains(t, err, "driver manifest: the last certificate")
}

type broken struct{}

func (broken) Get(string) ([]byte, error) { return nil, errBroken }

var errBroken = errors.New("disk on fire")

func TestMissingAndBrokenCollateral(t *testing.T) {
	b := newBench(t)
	delete(b.collateral, nvgpu.DriverRIMKey(nvgputest.Chip, nvgputest.Driver))
	r, err := b.verify(t, nvgpu.Policy{}, b.gpu)
	require.NoError(t, err)
	require.False(t, r.Confidential)
	require.Equal(t, attest.NotCovered, outcomes(r)[nvgpu.CheckMeasurements])
	require.Equal(t, attest.Passed, outcomes(r)[nvgpu.CheckVBIOSRIM])
	_, err = b.verify(t, nvgpu.Policy{RequireMeasurements: true}, b.gpu)
	require.ErrorIs(t, err, attest.ErrNoCollateral)
	require.ErrorContains(t, err, "measurements: not compared: driver and VBIOS manifests are needed")

	e, err := b.gpu.Evidence(0, binding)
	require.NoError(t, err)
	r, err = nvgpu.New(nvgpu.Options{Collateral: broken{}, Roots: b.Roots()}).Verify(e, binding, synthTime)
	require.ErrorIs(t, err, errBroken, "what cannot be read is not the same as what is not there")
	require.False(t, r.Ok())
}
