package nvgpu_test

import (
	"bytes"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/nvgpu/nvgputest"
)

var (
	synthTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	binding   = attest.Binding{Nonce: [32]byte{1, 2, 3}}
)

// bench is an authority with one healthy GPU.
type bench struct {
	*nvgputest.Authority
	gpu        *nvgputest.GPU
	collateral nvgputest.Collateral
}

// newBench is the shared authority with a copy of its collateral. The tests that use it run one after the other.
func newBench(t testing.TB) *bench {
	t.Helper()
	b, err := shared()
	require.NoError(t, err)
	return &bench{b.Authority, b.gpu, maps.Clone(b.collateral)}
}

// shared makes keys once: under the race detector they take a while.
var shared = sync.OnceValues(makeBench)

func otherBench(t testing.TB) *bench {
	t.Helper()
	b, err := makeBench()
	require.NoError(t, err)
	return b
}

func makeBench() (*bench, error) {
	a, err := nvgputest.NewAuthority()
	if err != nil {
		return nil, err
	}
	gpu, err := a.NewGPU(nvgputest.GPUOptions{})
	if err != nil {
		return nil, err
	}
	collateral, err := a.Collateral()
	return &bench{a, gpu, collateral}, err
}

// light leaves the manifests out, which take most of the time and have no part in most checks.
func (b *bench) light() *bench {
	clear(b.collateral)
	return b
}

// verify checks a report of gpu, edited before it is signed.
func (b *bench) verify(t testing.TB, p nvgpu.Policy, gpu *nvgputest.GPU, edits ...func(*nvgputest.Spec)) (attest.Result, error) {
	t.Helper()
	e, err := gpu.Evidence(3, binding, edits...)
	require.NoError(t, err)
	return nvgpu.New(nvgpu.Options{Policy: p, Collateral: b.collateral, Roots: b.Roots()}).Verify(e, binding, synthTime)
}

func TestHealthySyntheticGPU(t *testing.T) {
	b := newBench(t)
	r, err := b.verify(t, nvgpu.Policy{RequireMeasurements: true, RequireReportFWID: true, RequireFeature: true}, b.gpu)
	require.NoError(t, err)
	require.True(t, r.Confidential)
	require.Equal(t, uint16(3), r.Instance)
	require.Equal(t, "33/33", r.Claims[nvgpu.ClaimMeasured])
	require.Equal(t, "SPT", r.Claims[nvgpu.ClaimFeature])
	require.Equal(t, "true", r.Claims[nvgpu.ClaimSynthetic])

	e, err := b.gpu.Evidence(0, binding)
	require.NoError(t, err)
	_, err = nvgpu.New(nvgpu.Options{Collateral: b.collateral}).Verify(e, binding, synthTime)
	require.ErrorIs(t, err, attest.ErrUntrusted, "NVIDIA's roots do not accept synthetic evidence")
	require.ErrorContains(t, err, "is not the pinned root")
}

// One GPU is one device, whatever firmware runs on it; its attestation key differs.
func TestDeviceIdentityOutlivesFirmware(t *testing.T) {
	b := newBench(t).light()
	updated, err := b.NewGPU(nvgputest.GPUOptions{Device: b.gpu.Chain[1], Firmware: "2"})
	require.NoError(t, err)
	other, err := b.NewGPU(nvgputest.GPUOptions{})
	require.NoError(t, err)
	var results []attest.Result
	for _, gpu := range []*nvgputest.GPU{b.gpu, updated, other} {
		r, err := b.verify(t, nvgpu.Policy{}, gpu)
		require.NoError(t, err)
		results = append(results, r)
	}
	require.Equal(t, results[0].Devices[0].Identity, results[1].Devices[0].Identity)
	require.NotEqual(t, results[0].Keys, results[1].Keys)
	require.NotEqual(t, results[0].Devices[0].Identity, results[2].Devices[0].Identity)
}

// Reports that are validly signed and say something that must be refused.
func TestValidSignaturesOverBadContents(t *testing.T) {
	set := func(id nvgpu.Field, value ...byte) func(*nvgputest.Spec) {
		return func(s *nvgputest.Spec) { s.Set(id, value) }
	}
	remove := func(id nvgpu.Field) func(*nvgputest.Spec) { return func(s *nvgputest.Spec) { s.Remove(id) } }
	at := func(i int, value byte) func(*nvgputest.Spec) {
		return func(s *nvgputest.Spec) { s.Tamper = func(m []byte) []byte { m[i] = value; return m } }
	}
	driver := func(s string) nvgpu.DriverVersion {
		v, err := nvgpu.ParseDriverVersion(s)
		require.NoError(t, err)
		return v
	}
	vbios := func(s string) nvgpu.VBIOSVersion {
		v, err := nvgpu.ParseVBIOSVersion(s)
		require.NoError(t, err)
		return v
	}
	tests := []struct {
		name   string
		policy nvgpu.Policy
		edit   func(*nvgputest.Spec)
		kind   error
		says   string
	}{
		{"another nonce", nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Request[4] ^= 1 }, attest.ErrStale, "nonce: the report answers"},
		{"duplicate field", nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Opaque = append(s.Opaque, s.Opaque[0]) }, attest.ErrMalformed, "field 6 more than once"},
		{"duplicate unknown field", nvgpu.Policy{}, func(s *nvgputest.Spec) {
			s.Opaque = append(s.Opaque, nvgputest.TLV{ID: 999}, nvgputest.TLV{ID: 999})
		}, attest.ErrMalformed, "field 999 more than once"},
		{"duplicate block", nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Blocks[5].Index = 5 }, attest.ErrMalformed, "block index 5 out of order or repeated"},
		{"blocks out of order", nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Blocks[5], s.Blocks[6] = s.Blocks[6], s.Blocks[5] }, attest.ErrMalformed, "block index 6 out of order"},
		{"block 0", nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Blocks[0].Index = 0 }, attest.ErrMalformed, "block index 0"},
		{"no blocks", nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Blocks = nil }, attest.ErrMalformed, "measurements: none"},
		{"empty block", nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Blocks[0].Value = nil }, attest.ErrMalformed, "value of 0 bytes"},
		{"huge block", nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Blocks[0].Value = make([]byte, 65) }, attest.ErrMalformed, "value of 65 bytes"},
		{"unsigned request", nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Request[2] = 0 }, attest.ErrMalformed, "request: header"},
		{"slot 8", nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Request[36] = 8 }, attest.ErrMalformed, "certificate slot 8"},
		{"slots differ", nvgpu.Policy{}, at(40, 1), attest.ErrMalformed, "parameters 0001 for slot 0"},
		{"another response", nvgpu.Policy{}, at(38, 0x7f), attest.ErrMalformed, "response: header"},
		{"fewer blocks than there are", nvgpu.Policy{}, at(41, 63), attest.ErrMalformed, "55 bytes after the last block"},
		{"more blocks than there are", nvgpu.Policy{}, at(41, 65), attest.ErrMalformed, "block 65 of 65 is cut off"},
		{"record longer than the report", nvgpu.Policy{}, at(44, 0xff), attest.ErrMalformed, "measurement record of"},
		{"other specification", nvgpu.Policy{}, at(46, 2), attest.ErrMalformed, "specification 0x02"},
		{"bytes after the opaque data", nvgpu.Policy{}, func(s *nvgputest.Spec) {
			s.Tamper = func(m []byte) []byte { return append(m, 0) }
		}, attest.ErrMalformed, "left before the signature"},
		{"too long", nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Set(999, make([]byte, 5000)) }, attest.ErrMalformed, "more than 8192"},
		{"text with a line end", nvgpu.Policy{}, set(nvgpu.FieldDriver, []byte("550\n90")...), attest.ErrMalformed, "field 3: a text with byte 0x0a"},
		{"text that is a path", nvgpu.Policy{}, set(nvgpu.FieldDriver, []byte("../550")...), attest.ErrMalformed, "field 3: a text with byte 0x2f"},
		{"long text", nvgpu.Policy{}, set(nvgpu.FieldProject, bytes.Repeat([]byte("1"), 33)...), attest.ErrMalformed, "field 17: a text of 33 bytes"},
		{"short firmware id", nvgpu.Policy{}, set(nvgpu.FieldFWID, 1, 2, 3), attest.ErrMalformed, "field 20 has 3 bytes, want 48"},
		{"VBIOS of another form", nvgpu.Policy{}, set(nvgpu.FieldVBIOS, 0, 0x9f, 0, 0x96, 1, 0, 0, 9), attest.ErrMalformed, "unknown meaning"},

		{"other firmware", nvgpu.Policy{}, set(nvgpu.FieldFWID, make([]byte, 48)...), attest.ErrUntrusted, "firmware id: the report is of firmware 0000"},
		{"no firmware id", nvgpu.Policy{RequireReportFWID: true}, remove(nvgpu.FieldFWID), attest.ErrPolicy, "firmware id: the report does not state it"},
		{"firmware not allowed", nvgpu.Policy{FirmwareIDs: [][48]byte{{1}}}, nil, attest.ErrPolicy, "is not in the list of 1"},
		{"other chip in the report", nvgpu.Policy{}, set(nvgpu.FieldChip, []byte("GB100\x00")...), attest.ErrUntrusted, "chip: the report says GB100, its certificate GH100"},
		{"chip not allowed", nvgpu.Policy{Chips: []string{"GB100", "GB202"}}, nil, attest.ErrPolicy, "chip: GH100, want GB100 or GB202"},
		{"board not allowed", nvgpu.Policy{Boards: []nvgpu.Board{{Project: "G520"}, {Project: "1010", Chip: "865"}}}, nil, attest.ErrPolicy, "board: 1010_0200_882 is not in the list of 2"},
		{"old driver", nvgpu.Policy{MinDriver: driver("550.127.05")}, nil, attest.ErrPolicy, "driver version: 550.90.07 is below 550.127.05"},
		{"driver not listed", nvgpu.Policy{Drivers: []nvgpu.DriverVersion{driver("550.90.08"), driver("550.90")}}, nil, attest.ErrPolicy, "driver version: 550.90.07 is not in the list of 2"},
		{"no driver", nvgpu.Policy{}, remove(nvgpu.FieldDriver), attest.ErrPolicy, `driver version: version ""`},
		{"old VBIOS", nvgpu.Policy{MinVBIOS: vbios("96.00.9F.00.0A")}, nil, attest.ErrPolicy, "VBIOS version: 96.00.9F.00.01 is below 96.00.9F.00.0A"},
		{"VBIOS not listed", nvgpu.Policy{VBIOSes: []nvgpu.VBIOSVersion{vbios("96.00.9f.00.02")}}, nil, attest.ErrPolicy, "VBIOS version: 96.00.9F.00.01 is not in the list of 1"},
		{"no VBIOS", nvgpu.Policy{}, remove(nvgpu.FieldVBIOS), attest.ErrPolicy, `VBIOS version: version ""`},
		{"debug firmware", nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Blocks[36].Value = make([]byte, 48) }, attest.ErrPolicy, "measurements: 32 of 33 golden measurements match; index 36 (driver, Measurement_36): golden"},
		{"missing measurement", nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Blocks = s.Blocks[:40] }, attest.ErrPolicy, "32 of 33 golden measurements match; index 40 (driver, Measurement_40): golden"},
		{"short measurement", nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Blocks[12].Value = s.Blocks[12].Value[:32] }, attest.ErrPolicy, "index 12 (VBIOS"},
		{"decoder enabled and changed", nvgpu.Policy{}, func(s *nvgputest.Spec) {
			s.Set(nvgpu.FieldNVDEC0, []byte{nvgpu.StatusEnabled})
			s.Blocks[35].Value = make([]byte, 48)
		}, attest.ErrPolicy, "index 35 (driver"},
		{"decoder unstated and changed", nvgpu.Policy{}, func(s *nvgputest.Spec) {
			s.Remove(nvgpu.FieldNVDEC0)
			s.Blocks[35].Value = make([]byte, 48)
		}, attest.ErrPolicy, "index 35 (driver"},
		{"protected PCIe", nvgpu.Policy{}, func(s *nvgputest.Spec) {
			s.Set(nvgpu.FieldProtectedPCI, []byte{nvgpu.StatusEnabled})
			s.Set(nvgpu.FieldFeature, []byte{byte(nvgpu.FeaturePPCIE)})
		}, attest.ErrPolicy, "confidential mode: protected PCIe leaves NVLink in the clear"},
		{"protected PCIe by status alone", nvgpu.Policy{}, func(s *nvgputest.Spec) {
			s.Set(nvgpu.FieldProtectedPCI, []byte{nvgpu.StatusEnabled})
			s.Remove(nvgpu.FieldFeature)
		}, attest.ErrPolicy, "protected PCIe leaves"},
		{"flag and status disagree", nvgpu.Policy{AllowPPCIE: true}, set(nvgpu.FieldFeature, byte(nvgpu.FeaturePPCIE)), attest.ErrPolicy, "PPCIE with protected PCIe status 0x55"},
		{"unknown feature", nvgpu.Policy{}, set(nvgpu.FieldFeature, 7), attest.ErrPolicy, "confidential mode: unknown feature 7"},
		{"unknown status", nvgpu.Policy{}, set(nvgpu.FieldProtectedPCI, 7), attest.ErrPolicy, "protected PCIe has status 0x07"},
		{"no feature", nvgpu.Policy{RequireFeature: true}, remove(nvgpu.FieldFeature), attest.ErrPolicy, "confidential mode: mode not stated"},
		{"revocation required", nvgpu.StrictPolicy(), nil, attest.ErrNoCollateral, "revocation of the GPU's certificates: nothing supplied about"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			edit := test.edit
			if edit == nil {
				edit = func(*nvgputest.Spec) {}
			}
			b := newBench(t)
			if !strings.Contains(test.says, "index") {
				b.light()
			}
			r, err := b.verify(t, test.policy, b.gpu, edit)
			require.ErrorIs(t, err, test.kind)
			require.ErrorContains(t, err, test.says)
			require.False(t, r.Ok())
			require.False(t, r.Confidential)
		})
	}
}

// What is different and all right.
func TestVariantsThatAreAccepted(t *testing.T) {
	b := newBench(t)
	for name, test := range map[string]struct {
		policy nvgpu.Policy
		edit   func(*nvgputest.Spec)
	}{
		"disabled decoder changed": {nvgpu.Policy{RequireMeasurements: true}, func(s *nvgputest.Spec) { s.Blocks[35].Value = make([]byte, 48) }},
		"unknown field":            {nvgpu.Policy{RequireMeasurements: true}, func(s *nvgputest.Spec) { s.Set(777, []byte("new")) }},
		"inactive measurement":     {nvgpu.Policy{RequireMeasurements: true}, func(s *nvgputest.Spec) { s.Blocks[60].Value = make([]byte, 48) }},
		"protected PCIe allowed": {nvgpu.Policy{AllowPPCIE: true, RequireMeasurements: true}, func(s *nvgputest.Spec) {
			s.Set(nvgpu.FieldProtectedPCI, []byte{nvgpu.StatusEnabled})
			s.Set(nvgpu.FieldFeature, []byte{byte(nvgpu.FeaturePPCIE)})
		}},
		"board allowed":      {nvgpu.Policy{Boards: []nvgpu.Board{{Chip: "882"}}}, func(*nvgputest.Spec) {}},
		"chip in the report": {nvgpu.Policy{}, func(s *nvgputest.Spec) { s.Set(nvgpu.FieldChip, []byte("GH100\x00")) }},
	} {
		r, err := b.verify(t, test.policy, b.gpu, test.edit)
		require.NoError(t, err, name)
		require.True(t, r.Confidential, name)
	}
	r, err := b.verify(t, nvgpu.Policy{}, b.gpu, func(s *nvgputest.Spec) { s.Blocks[35].Value = make([]byte, 48) })
	require.NoError(t, err)
	require.Equal(t, "32/33", r.Claims[nvgpu.ClaimMeasured], "what does not count is not counted as a match")
}

func TestEvidenceOfAnotherFormIsRefused(t *testing.T) {
	b := newBench(t).light()
	good, err := b.gpu.Evidence(0, binding)
	require.NoError(t, err)
	v := nvgpu.New(nvgpu.Options{Roots: b.Roots()})
	require.Equal(t, attest.KindNVGPU, v.Kind())
	for name, items := range map[string][]attest.Item{
		"no items": nil, "no report": good.Items[:1], "no certificates": good.Items[1:],
		"something else": append(append([]attest.Item(nil), good.Items...), attest.Item{Name: "rim"}),
	} {
		_, err := v.Verify(attest.Evidence{Kind: attest.KindNVGPU, Items: items}, binding, synthTime)
		require.ErrorIs(t, err, attest.ErrMalformed, name)
	}
	good.Kind = attest.KindTPM
	_, err = v.Verify(good, binding, synthTime)
	require.ErrorIs(t, err, attest.ErrMalformed)
	require.ErrorContains(t, err, "of kind TPM quote")
}
