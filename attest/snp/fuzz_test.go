package snp_test

import (
	"bytes"
	"crypto/x509"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/snp"
)

// FuzzVerify feeds any bytes as report and certificates. Nothing may panic, and nothing but the real report is genuine.
func FuzzVerify(f *testing.F) {
	real := realEvidence(f)
	roots, err := snp.PinnedRoots()
	require.NoError(f, err)
	f.Add(real.Items[0].Data, real.Items[1].Data, []byte{}, false)
	f.Add(real.Items[0].Data, real.Items[1].Data, roots[snp.Milan].ASK.Raw, true)
	f.Fuzz(func(t *testing.T, report, endorsement, ask []byte, vlek bool) {
		e := attest.Evidence{Kind: attest.KindSNP, Items: []attest.Item{
			{Name: snp.ItemReport, Data: report}, {Name: snp.ItemVCEK, Data: endorsement},
		}}
		if vlek {
			e.Items[1].Name = snp.ItemVLEK
		}
		if len(ask) > 0 {
			e.Items = append(e.Items, attest.Item{Name: snp.ItemASK, Data: ask})
		}
		if genuine(e, roots) == nil {
			require.True(t, bytes.Equal(report, real.Items[0].Data), "another report is genuine: %x", report)
		}
	})
}

// FuzzFromTSM feeds any bytes as what the kernel returns.
func FuzzFromTSM(f *testing.F) {
	m := machine(f)
	report, err := m.Report([64]byte{}, nil)
	require.NoError(f, err)
	f.Add(report, m.CertTable())
	f.Fuzz(func(t *testing.T, report, table []byte) {
		e, err := snp.FromTSM(report, table)
		if err != nil {
			require.ErrorIs(t, err, attest.ErrMalformed)
			return
		}
		require.Equal(t, attest.KindSNP, e.Kind)
		for i := 1; i < len(e.Items); i++ {
			require.Less(t, e.Items[i-1].Name, e.Items[i].Name)
		}
	})
}

// FuzzRevocationList feeds any bytes as a revocation list.
func FuzzRevocationList(f *testing.F) {
	m := machine(f)
	e, err := m.Evidence(binding.ReportData(), nil)
	require.NoError(f, err)
	raw, _ := e.Item(snp.ItemReport)
	r, err := snp.ParseReport(raw)
	require.NoError(f, err)
	c, err := snp.ParseChain(e)
	require.NoError(f, err)
	trusted, err := snp.Verify(r, c, m.Roots(), now)
	require.NoError(f, err)
	crl, err := m.CRL(now.AddDate(0, 0, -1), now.AddDate(0, 0, 1))
	require.NoError(f, err)
	want, err := x509.ParseRevocationList(crl)
	require.NoError(f, err)
	f.Add(crl)
	f.Fuzz(func(t *testing.T, b []byte) {
		if trusted.CheckRevocation(b, now) == nil {
			// The signature is salted anew in each process, what it covers is not.
			list, err := x509.ParseRevocationList(b)
			require.NoError(t, err)
			require.True(t, bytes.Equal(list.RawTBSRevocationList, want.RawTBSRevocationList), "a list that nobody signed is accepted: %x", b)
		}
	})
}
