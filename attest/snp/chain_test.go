package snp_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-sev-guest/abi"
	spb "github.com/google/go-sev-guest/proto/sevsnp"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/snp"
	"github.com/gantry-market/gantry/attest/snp/snptest"
)

func set(e attest.Evidence, name string, data []byte) attest.Evidence {
	e.Items = append([]attest.Item(nil), e.Items...)
	for i := range e.Items {
		if e.Items[i].Name == name {
			e.Items[i].Data = data
			return e
		}
	}
	e.Items = append(e.Items, attest.Item{Name: name, Data: data})
	return e
}

func drop(e attest.Evidence, name string) attest.Evidence {
	var items []attest.Item
	for _, i := range e.Items {
		if i.Name != name {
			items = append(items, i)
		}
	}
	e.Items = items
	return e
}

// TestBrokenEvidenceIsRefusedByName covers the forms and chains that nobody honest sends.
func TestBrokenEvidenceIsRefusedByName(t *testing.T) {
	m, genoa, vlek := machine(t), machine(t, snptest.Product("Genoa-B1")), machine(t, snptest.VLEK())
	evidence := func(m *snptest.Machine, change func(*spb.Report)) attest.Evidence {
		e, err := m.Evidence(binding.ReportData(), change)
		require.NoError(t, err)
		return e
	}
	good, genoaGood, vlekGood := evidence(m, nil), evidence(genoa, nil), evidence(vlek, nil)
	item := func(e attest.Evidence, name string) []byte {
		b, ok := e.Item(name)
		require.True(t, ok)
		return b
	}
	report := item(good, snp.ItemReport)
	edit := func(at int, b byte) []byte {
		c := bytes.Clone(report)
		c[at] = b
		return c
	}
	odd := item(evidence(m, func(r *spb.Report) { r.Version, r.Cpuid1EaxFms = 3, 0x00a00f11 }), snp.ItemReport)
	odd[0x18a] = 0xf1 // a stepping has four bits
	for name, row := range map[string]struct {
		e        attest.Evidence
		sentinel error
		reason   string
	}{
		"no report":              {drop(good, snp.ItemReport), attest.ErrMalformed, `no item "report"`},
		"no certificate":         {drop(good, snp.ItemVCEK), attest.ErrMalformed, "exactly one of the items"},
		"two certificates":       {set(good, snp.ItemVLEK, item(vlekGood, snp.ItemVLEK)), attest.ErrMalformed, "exactly one of the items"},
		"an item too many":       {set(good, "extra", nil), attest.ErrMalformed, `"extra" has no meaning`},
		"an item twice":          {attest.Evidence{Kind: attest.KindSNP, Items: append(good.Items, good.Items[0])}, attest.ErrMalformed, "there twice"},
		"truncated":              {set(good, snp.ItemReport, report[:len(report)-1]), attest.ErrMalformed, "1183"},
		"padded":                 {set(good, snp.ItemReport, append(bytes.Clone(report), 0)), attest.ErrMalformed, "1185"},
		"certificate padded":     {set(good, snp.ItemVCEK, append(bytes.Clone(item(good, snp.ItemVCEK)), 0)), attest.ErrMalformed, "trailing data"},
		"certificate too big":    {set(good, snp.ItemVCEK, make([]byte, 5000)), attest.ErrMalformed, "longer than"},
		"version 1":              {set(good, snp.ItemReport, edit(0, 1)), attest.ErrMalformed, "version"},
		"version 9":              {set(good, snp.ItemReport, edit(0, 9)), attest.ErrMalformed, "version"},
		"algorithm":              {set(good, snp.ItemReport, edit(0x34, 2)), attest.ErrMalformed, "signature algorithm 2"},
		"unsigned":               {set(good, snp.ItemReport, edit(0x48, 7<<2)), attest.ErrMalformed, "not signed"},
		"reserved bytes":         {set(good, snp.ItemReport, edit(0x4c, 1)), attest.ErrMalformed, "mbz"},
		"padding of signature":   {set(good, snp.ItemReport, edit(snp.ReportSize-1, 1)), attest.ErrMalformed, "mbz"},
		"another kind":           {attest.Evidence{Kind: attest.KindTDX, Items: good.Items}, attest.ErrMalformed, "not the machine's SEV-SNP report"},
		"another instance":       {attest.Evidence{Kind: attest.KindSNP, Instance: 1, Items: good.Items}, attest.ErrMalformed, "not the machine's SEV-SNP report"},
		"VLEK for VCEK":          {drop(set(good, snp.ItemVLEK, item(vlekGood, snp.ItemVLEK)), snp.ItemVCEK), attest.ErrMalformed, "signed with a VCEK"},
		"unpinned line":          {genoaGood, attest.ErrUntrusted, `no root is pinned for product line "Genoa"`},
		"another's intermediate": {set(good, snp.ItemASK, item(genoaGood, snp.ItemASK)), attest.ErrUntrusted, `of issuer "ARK-Genoa"`},
		"VLEK's intermediate":    {set(good, snp.ItemASK, item(vlekGood, snp.ItemASK)), attest.ErrUntrusted, "unknown authority"},
		"signature of another report": {
			set(good, snp.ItemReport, append(bytes.Clone(report[:0x2a0]), item(evidence(m, func(r *spb.Report) { r.GuestSvn = 1 }), snp.ItemReport)[0x2a0:]...)),
			attest.ErrUntrusted, "signature verification",
		},
		"another chip":           {evidence(m, func(r *spb.Report) { r.ChipId = bytes.Repeat([]byte{1}, 64) }), attest.ErrUntrusted, "another chip"},
		"processor not named":    {evidence(m, func(r *spb.Report) { r.Version = 3 }), attest.ErrMalformed, "names its processor"},
		"stepping of eight bits": {set(good, snp.ItemReport, odd), attest.ErrMalformed, "byte 394 has no meaning"},
		"unknown processor":      {evidence(m, func(r *spb.Report) { r.Version, r.Cpuid1EaxFms = 3, 0x00c00f10 }), attest.ErrMalformed, "no known product line"},
		"Turin":                  {evidence(m, func(r *spb.Report) { r.Version, r.Cpuid1EaxFms = 3, 0x00b00f21 }), attest.ErrUntrusted, `"Turin"`},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := snp.New(snp.Options{Roots: m.Roots()})
			require.NoError(t, err)
			res, err := v.Verify(row.e, binding, now)
			require.ErrorIs(t, err, row.sentinel)
			require.ErrorContains(t, err, row.reason)
			require.False(t, res.Ok())
			require.False(t, res.Confidential)
		})
	}
}

func TestTimeOfCertificates(t *testing.T) {
	m := machine(t, snptest.Validity(now.AddDate(0, -1, 0), now.AddDate(0, 1, 0)))
	e, err := m.Evidence(binding.ReportData(), nil)
	require.NoError(t, err)
	v, err := snp.New(snp.Options{Roots: m.Roots()})
	require.NoError(t, err)
	_, err = v.Verify(e, binding, now)
	require.NoError(t, err)
	for _, months := range []int{-2, 2} {
		_, err = v.Verify(e, binding, now.AddDate(0, months, 0))
		require.ErrorIs(t, err, attest.ErrStale)
		require.ErrorContains(t, err, "is valid from")
	}
}

// TestTestKeysAreWorthNothing: AMD's pinned roots refuse all that the simulation signs.
func TestTestKeysAreWorthNothing(t *testing.T) {
	e, err := machine(t).Evidence(binding.ReportData(), nil)
	require.NoError(t, err)
	v, err := snp.New(snp.Options{})
	require.NoError(t, err)
	_, err = v.Verify(e, binding, now)
	require.ErrorIs(t, err, attest.ErrUntrusted)
	_, err = v.Verify(drop(e, snp.ItemASK), binding, now)
	require.ErrorIs(t, err, attest.ErrUntrusted)
}

func TestReportsOfLaterVersions(t *testing.T) {
	for version, fms := range map[uint32]uint32{3: 0x00a00f11, 4: 0x00a00f10, 5: 0x00a00f11} {
		res, err := verify(t, machine(t), snp.Policy{}, nil, func(r *spb.Report) { r.Version, r.Cpuid1EaxFms = version, fms })
		require.NoError(t, err, "version %d", version)
		require.Equal(t, snp.Milan, res.Claims[snp.ClaimProduct])
	}
}

func TestFromTSM(t *testing.T) {
	for _, o := range [][]snptest.Option{nil, {snptest.VLEK()}} {
		m := machine(t, o...)
		want, err := m.Evidence(binding.ReportData(), nil)
		require.NoError(t, err)
		raw, _ := want.Item(snp.ItemReport)
		got, err := snp.FromTSM(raw, m.CertTable())
		require.NoError(t, err)
		require.Equal(t, want, got)

		_, err = snp.FromTSM(raw, nil)
		require.ErrorIs(t, err, attest.ErrMalformed)
		_, err = snp.FromTSM(raw, make([]byte, abi.CertTableEntrySize))
		require.ErrorContains(t, err, "certificate table has no")
		overflow := m.CertTable()
		binary.LittleEndian.PutUint32(overflow[abi.GUIDSize:], 1<<31)
		binary.LittleEndian.PutUint32(overflow[abi.GUIDSize+4:], 1<<31)
		_, err = snp.FromTSM(raw, overflow)
		require.ErrorContains(t, err, "lies outside")
	}
}
