package tdx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/tdx"
)

// BenchmarkVerify is the real quote: parsing, chain and signatures.
func BenchmarkVerify(b *testing.B) {
	quote, genuine := realQuote(b), pinned(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := genuine(quote); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseQuote is the parsing alone.
func BenchmarkParseQuote(b *testing.B) {
	quote := realQuote(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tdx.ParseQuote(quote); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCollateral is TCB, quoting enclave and revocation by simulated collateral, after the quote.
func BenchmarkCollateral(b *testing.B) {
	p := platform(b)
	c := collateral(b, p, nil)
	e, err := p.Evidence(binding.ReportData(), nil)
	require.NoError(b, err)
	q, err := tdx.ParseQuote(e.Items[0].Data)
	require.NoError(b, err)
	trusted, err := tdx.Verify(q, p.Root(), now)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := trusted.CheckTCB(c, now); err != nil {
			b.Fatal(err)
		}
		if err := trusted.CheckRevocation(c, now); err != nil {
			b.Fatal(err)
		}
	}
}
