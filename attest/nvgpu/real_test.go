package nvgpu_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu"
)

// outcomes lists a result's checks by outcome.
func outcomes(r attest.Result) map[string]attest.Outcome {
	all := map[string]attest.Outcome{}
	for _, c := range r.Checks {
		all[c.Name] = c.Outcome
	}
	return all
}

func TestRealReportWithoutManifests(t *testing.T) {
	s := loadSample(t, "gh100-a")
	r, err := nvgpu.New(nvgpu.Options{}).VerifyNonce(s.evidence(), s.nonce(), sampleTime)
	require.NoError(t, err)
	require.True(t, r.Ok())
	require.Equal(t, map[string]attest.Outcome{
		nvgpu.CheckParse: attest.Passed, nvgpu.CheckNonce: attest.Passed, nvgpu.CheckChain: attest.Passed,
		nvgpu.CheckSignature: attest.Passed, nvgpu.CheckChip: attest.Passed, nvgpu.CheckBoard: attest.Passed,
		nvgpu.CheckFWID: attest.Passed, nvgpu.CheckDriver: attest.Passed, nvgpu.CheckVBIOS: attest.Passed,
		nvgpu.CheckRevocation: attest.NotCovered, nvgpu.CheckDriverRIM: attest.NotCovered,
		nvgpu.CheckVBIOSRIM: attest.NotCovered, nvgpu.CheckMeasurements: attest.NotCovered, nvgpu.CheckMode: attest.NotCovered,
	}, outcomes(r))
	require.False(t, r.Confidential, "nothing said that debugging is off")
	require.Equal(t, map[string]string{
		"chip": "GH100", "board": "1010_0200_882", "driver": "550.90.07", "vbios": "96.00.9F.00.01",
		"fwid": "f5c384aebb579217a2c66b17ed0f28e6a9b8d639041acd7b4721cec004f7275494ba94bb5cdfdb3055ee051762b1f75d",
	}, r.Claims)
	require.Len(t, r.Keys, 1)
	require.Equal(t, "93385399f329ea108ce7b003a16124a1bca74d24cd844f405d58a64ec704f27b", hex.EncodeToString(r.Keys[0][:]))
}

func TestRealReportMatchesItsManifests(t *testing.T) {
	s := loadSample(t, "gh100-b")
	v := nvgpu.New(nvgpu.Options{Collateral: manifests(t), Policy: nvgpu.Policy{RequireMeasurements: true}})
	r, err := v.VerifyNonce(s.evidence(), s.nonce(), sampleTime)
	require.NoError(t, err)
	require.Equal(t, "33/33", r.Claims[nvgpu.ClaimMeasured])
	require.True(t, r.Confidential)
	require.Equal(t, attest.Passed, outcomes(r)[nvgpu.CheckMeasurements])
	require.Equal(t, attest.NotCovered, outcomes(r)[nvgpu.CheckFWID], "this driver states none")
	require.NotContains(t, r.Claims, nvgpu.ClaimSynthetic)
	for _, c := range r.Checks {
		t.Logf("%-40s %-12s %s", c.Name, c.Outcome, c.Detail)
	}
}

func TestDeviceIdentitiesDiffer(t *testing.T) {
	var ids [][32]byte
	for _, s := range samples(t) {
		c, err := nvgpu.ParseChain(s.chain)
		require.NoError(t, err)
		ids = append(ids, c.DeviceID())
	}
	require.NotEqual(t, ids[0], ids[1])
}

func TestReplayedReportIsRefused(t *testing.T) {
	for _, s := range samples(t) {
		r, err := nvgpu.New(nvgpu.Options{}).Verify(s.evidence(), attest.Binding{Nonce: s.nonce()}, sampleTime)
		require.ErrorIs(t, err, attest.ErrStale)
		require.ErrorContains(t, err, "nonce: the report answers")
		require.False(t, r.Ok())
		require.Empty(t, r.Claims, "an unauthenticated report claims nothing")
		require.Empty(t, r.Devices)
	}
}

func TestSwappedChainsAreRefused(t *testing.T) {
	all := samples(t)
	all[0].chain, all[1].chain = all[1].chain, all[0].chain
	for _, s := range all {
		_, err := nvgpu.New(nvgpu.Options{}).VerifyNonce(s.evidence(), s.nonce(), sampleTime)
		require.ErrorIs(t, err, attest.ErrUntrusted)
		require.ErrorContains(t, err, "report signature: the report is not signed by")
	}
}

func TestWrongRootIsRefused(t *testing.T) {
	s := loadSample(t, "gh100-a")
	c, err := nvgpu.ParseChain(s.chain)
	require.NoError(t, err)
	for _, other := range c.Certificates[:4] {
		v := nvgpu.New(nvgpu.Options{Roots: nvgpu.Roots{Device: other}})
		_, err = v.VerifyNonce(s.evidence(), s.nonce(), sampleTime)
		require.ErrorIs(t, err, attest.ErrUntrusted)
		require.ErrorContains(t, err, "is not the pinned root")
	}
}

// A chain that ends before the root, even at a certificate that the root issued, is not a chain to the root.
func TestShortenedAndReorderedChainsAreRefused(t *testing.T) {
	s := loadSample(t, "gh100-a")
	c, err := nvgpu.ParseChain(s.chain)
	require.NoError(t, err)
	all := c.Certificates
	for name, certs := range map[string][]*x509.Certificate{
		"without root": all[:4], "without leaf": all[1:], "without 2": {all[0], all[2], all[3], all[4]},
		"without 3": {all[0], all[1], all[3], all[4]}, "2 and 3 swapped": {all[0], all[2], all[1], all[3], all[4]},
		"root twice": {all[0], all[1], all[2], all[3], all[4], all[4]}, "leaf twice": {all[0], all[0], all[1], all[2], all[3], all[4]},
	} {
		s.chain = nvgpu.EncodeChain(certs)
		_, err = nvgpu.New(nvgpu.Options{}).VerifyNonce(s.evidence(), s.nonce(), sampleTime)
		require.Error(t, err, name)
		t.Logf("%s: %v", name, err)
	}
}

func TestExpiredManifestIsRefused(t *testing.T) {
	s := loadSample(t, "gh100-b")
	v := nvgpu.New(nvgpu.Options{Collateral: manifests(t), Policy: nvgpu.Policy{RequireMeasurements: true}})
	for _, now := range []time.Time{
		time.Date(2025, 6, 26, 6, 10, 13, 0, time.UTC), time.Date(2023, 6, 27, 6, 10, 11, 0, time.UTC),
	} {
		r, err := v.VerifyNonce(s.evidence(), s.nonce(), now)
		require.ErrorIs(t, err, attest.ErrStale)
		require.ErrorContains(t, err, "driver manifest: certificate 1 (\"HCC RIM L4 Signer\") is valid from 2023-06-27 to 2025-06-26")
		require.False(t, r.Confidential)
	}
	roots := nvgpu.Roots{}
	_, err := roots.VerifyRIM(read(t, "driver-545.00.swidtag"), time.Date(2025, 6, 26, 6, 10, 12, 0, time.UTC))
	require.NoError(t, err, "the last second of its validity")
}

func TestChainNotYetValid(t *testing.T) {
	s := loadSample(t, "gh100-a")
	_, err := nvgpu.New(nvgpu.Options{}).VerifyNonce(s.evidence(), s.nonce(), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	require.ErrorIs(t, err, attest.ErrStale)
	require.ErrorContains(t, err, "certificate chain: certificate 1")
}

// Manifests of the other report's versions: supplied under the right key, they are still not what the report speaks of.
func TestManifestOfAnotherVersionIsRefused(t *testing.T) {
	s, l := loadSample(t, "gh100-a"), manifests(t)
	swapped := library{
		"nvgpu/rim/NV_GPU_DRIVER_GH100_550.90.07":         l["nvgpu/rim/NV_GPU_DRIVER_GH100_545.00"],
		"nvgpu/rim/NV_GPU_VBIOS_1010_0200_882_96009F0001": l["nvgpu/rim/NV_GPU_VBIOS_1010_0200_882_96005E0001"],
	}
	r, err := nvgpu.New(nvgpu.Options{Collateral: swapped}).VerifyNonce(s.evidence(), s.nonce(), sampleTime)
	require.ErrorIs(t, err, attest.ErrUntrusted)
	require.ErrorContains(t, err, `is of version "545.00", the report of 550.90.07`)
	require.Equal(t, attest.Failed, outcomes(r)[nvgpu.CheckVBIOSRIM])
	require.Equal(t, attest.NotCovered, outcomes(r)[nvgpu.CheckMode])
}

// Compared nevertheless, the other report's measurements differ, and the diff says where.
func TestDiffIsReadable(t *testing.T) {
	l := manifests(t)
	driver, err := nvgpu.Roots{}.VerifyRIM(l["nvgpu/rim/NV_GPU_DRIVER_GH100_545.00"], sampleTime)
	require.NoError(t, err)
	vbios, err := nvgpu.Roots{}.VerifyRIM(l["nvgpu/rim/NV_GPU_VBIOS_1010_0200_882_96005E0001"], sampleTime)
	require.NoError(t, err)
	report, err := nvgpu.ParseReport(loadSample(t, "gh100-a").report)
	require.NoError(t, err)
	c, err := nvgpu.Compare(report, driver, vbios)
	require.NoError(t, err)
	require.Equal(t, 33, c.Golden)
	require.Equal(t, c.Golden, c.Matched+len(c.Mismatches)+len(c.Skipped))
	require.NotEmpty(t, c.Mismatches)
	require.Contains(t, c.String(), "13 of 33 golden measurements match; "+
		"index 1 (VBIOS, HashedMeasurement_1_FSP): golden 0b42836f56a7162e…, measured 8048dfd18fe229bf…; index 2 ")
	require.Equal(t, "8048dfd18fe229bf16eb9d30cca0f11a24dafe6eb731de1462984645a0b189b77c4e4e17de727a5e19e3d07de51da338",
		hex.EncodeToString(c.Mismatches[0].Measured))
	_, err = nvgpu.Compare(report, driver, driver)
	require.ErrorIs(t, err, attest.ErrMalformed)
	require.ErrorContains(t, err, "both have an active measurement with index 7")
}

func TestPinnedRootsAreNVIDIAs(t *testing.T) {
	c, err := nvgpu.ParseChain(loadSample(t, "gh100-a").chain)
	require.NoError(t, err)
	root := sha256.Sum256(c.Certificates[4].Raw)
	require.Equal(t, "102bf659d5419614c9d8e6aecebc80454eb26b1df6a769ac720b9a690b167b48", hex.EncodeToString(root[:]))
	rim, err := nvgpu.Roots{}.VerifyRIM(read(t, "driver-545.00.swidtag"), sampleTime)
	require.NoError(t, err)
	root = sha256.Sum256(rim.Signers[3].Raw)
	require.Equal(t, "12977b5115acb0381179279fffeb5a8c4d264971ebb32298023a465fa41df5d1", hex.EncodeToString(root[:]))
}

// The standard library's path building agrees on what is a chain.
func TestStandardLibraryAgrees(t *testing.T) {
	for _, s := range samples(t) {
		c, err := nvgpu.ParseChain(s.chain)
		require.NoError(t, err)
		require.NoError(t, nvgpu.Roots{}.CheckDevice(c, sampleTime))
		roots, between := x509.NewCertPool(), x509.NewCertPool()
		roots.AddCert(c.Certificates[4])
		for _, i := range c.Certificates[1:4] {
			between.AddCert(i)
		}
		chains, err := c.Certificates[0].Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: between, CurrentTime: sampleTime, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
		})
		require.NoError(t, err)
		require.Equal(t, [][]*x509.Certificate{c.Certificates}, chains)
	}
}

func TestCanonicalChain(t *testing.T) {
	s := loadSample(t, "gh100-a")
	c, err := nvgpu.ParseChain(s.chain)
	require.NoError(t, err)
	canonical := nvgpu.EncodeChain(c.Certificates)
	var der []byte
	for _, cert := range c.Certificates {
		der = append(der, cert.Raw...)
	}
	for name, in := range map[string][]byte{
		"as shipped": s.chain, "canonical": canonical, "DER": der, "padded": append(append([]byte(nil), s.chain...), "\n\x00\x00\x00"...),
		"CRLF": []byte(crlf(string(canonical))),
	} {
		out, err := nvgpu.CanonicalChain(in)
		require.NoError(t, err, name)
		require.Equal(t, canonical, out, name)
	}
	items, err := nvgpu.Items(s.report, s.chain)
	require.NoError(t, err)
	s.chain = items[0].Data
	_, err = nvgpu.New(nvgpu.Options{}).VerifyNonce(s.evidence(), s.nonce(), sampleTime)
	require.NoError(t, err)
	request := nvgpu.Request(s.nonce())
	require.Equal(t, s.report[:nvgpu.RequestSize], request[:])
}

func crlf(s string) string {
	out := ""
	for _, c := range s {
		if c == '\n' {
			out += "\r"
		}
		out += string(c)
	}
	return out
}
