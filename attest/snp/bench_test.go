package snp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/snp"
)

// BenchmarkVerify is the real Milan report: parsing, chain and signature.
func BenchmarkVerify(b *testing.B) {
	roots, err := snp.PinnedRoots()
	require.NoError(b, err)
	e := realEvidence(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := genuine(e, roots); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseReport is the parsing alone.
func BenchmarkParseReport(b *testing.B) {
	raw := read(b, "milan_report.bin")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := snp.ParseReport(raw); err != nil {
			b.Fatal(err)
		}
	}
}
