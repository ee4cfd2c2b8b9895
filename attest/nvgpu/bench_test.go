package nvgpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/nvgpu"
)

func BenchmarkParseReport(b *testing.B) {
	s := loadSample(b, "gh100-a")
	b.SetBytes(int64(len(s.report)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := nvgpu.ParseReport(s.report); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseChain(b *testing.B) {
	s := loadSample(b, "gh100-a")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := nvgpu.ParseChain(s.chain); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerifyReport is a whole verification without manifests: parsing, four certificates, one report signature.
func BenchmarkVerifyReport(b *testing.B) {
	s, v := loadSample(b, "gh100-a"), nvgpu.New(nvgpu.Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.VerifyNonce(s.evidence(), s.nonce(), sampleTime); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerifyReportWithManifests adds two manifests with their chains, and the comparison.
func BenchmarkVerifyReportWithManifests(b *testing.B) {
	s, v := loadSample(b, "gh100-b"), nvgpu.New(nvgpu.Options{Collateral: manifests(b)})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.VerifyNonce(s.evidence(), s.nonce(), sampleTime); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifyRIM(b *testing.B) {
	data := read(b, "driver-545.00.swidtag")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (nvgpu.Roots{}).VerifyRIM(data, sampleTime); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	report, err := nvgpu.ParseReport(loadSample(b, "gh100-b").report)
	require.NoError(b, err)
	driver, err := nvgpu.Roots{}.VerifyRIM(read(b, "driver-545.00.swidtag"), sampleTime)
	require.NoError(b, err)
	vbios, err := nvgpu.Roots{}.VerifyRIM(read(b, "vbios-96005E0001.swidtag"), sampleTime)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if c, err := nvgpu.Compare(report, driver, vbios); err != nil || c.Matched != 33 {
			b.Fatal(c, err)
		}
	}
}
