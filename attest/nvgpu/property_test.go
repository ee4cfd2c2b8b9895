package nvgpu_test

import (
	"bytes"
	"crypto/x509"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu"
	"github.com/gantry-market/gantry/attest/nvgpu/nvgputest"
)

// Whatever a GPU may say is read back as it was said, and its signature holds.
func TestReportsReadBackAsWritten(t *testing.T) {
	b := newBench(t)
	rapid.Check(t, func(t *rapid.T) {
		spec := b.gpu.Spec([32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "nonce")))
		spec.Request[nvgpu.RequestSize-1] = byte(rapid.IntRange(0, 7).Draw(t, "slot"))
		spec.Blocks = nil
		index := 0
		for range rapid.IntRange(1, 80).Draw(t, "blocks") {
			index += rapid.IntRange(1, 3).Draw(t, "step")
			spec.Blocks = append(spec.Blocks, nvgpu.Block{
				Index: uint8(index), Type: rapid.Byte().Draw(t, "type"), Value: rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(t, "value"),
			})
		}
		for id := 100; id < 100+rapid.IntRange(0, 20).Draw(t, "fields"); id++ {
			spec.Set(nvgpu.Field(id), rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "field"))
		}
		data, err := b.gpu.Sign(spec)
		require.NoError(t, err)
		report, err := nvgpu.ParseReport(data)
		require.NoError(t, err)
		require.NoError(t, report.CheckSignature(b.gpu.Chain[0]))
		require.Equal(t, spec.Blocks, report.Blocks)
		require.Len(t, report.Opaque, len(spec.Opaque))
		for _, f := range spec.Opaque {
			require.True(t, bytes.Equal(f.Value, report.Opaque[f.ID]))
		}
		require.Equal(t, [32]byte(spec.Request[4:36]), report.Nonce)
		require.Equal(t, spec.DeviceNonce, report.DeviceNonce)
	})
}

// Bytes changed anywhere in a report, however many, leave nothing that is signed.
func TestChangedReportsAreNotSigned(t *testing.T) {
	b := newBench(t)
	good, err := b.gpu.Sign(b.gpu.Spec([32]byte{}))
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		data := bytes.Clone(good)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		if bytes.Equal(data, good) {
			return
		}
		report, err := nvgpu.ParseReport(data)
		if err == nil {
			err = report.CheckSignature(b.gpu.Chain[0])
		}
		require.Error(t, err)
	})
}

func TestVersionsAreOrdered(t *testing.T) {
	for _, pair := range [][2]string{{"550.90.07", "550.127.05"}, {"545.00", "550.90.07"}, {"550.90", "550.90.07"}, {"535.999", "545.1"}} {
		low, err := nvgpu.ParseDriverVersion(pair[0])
		require.NoError(t, err)
		b := newPolicyCheck(t, nvgpu.Policy{MinDriver: low})
		require.NoError(t, b(pair[1]))
		high, err := nvgpu.ParseDriverVersion(pair[1])
		require.NoError(t, err)
		require.ErrorIs(t, newPolicyCheck(t, nvgpu.Policy{MinDriver: high})(pair[0]), attest.ErrPolicy)
	}
	for _, bad := range []string{"", ".", "550.", "550.x", "-1", "+5.1", "65536.1", "1.2.3.4.5.6.7.8.9", "550 90", strings.Repeat("0", 65)} {
		_, err := nvgpu.ParseDriverVersion(bad)
		require.ErrorIs(t, err, attest.ErrMalformed, bad)
	}
	var v nvgpu.VBIOSVersion
	require.NoError(t, v.UnmarshalText([]byte("96.00.9f.00.01")))
	out, err := v.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "96.00.9F.00.01", string(out))
}

// newPolicyCheck returns what a policy makes of a report by a driver.
func newPolicyCheck(t *testing.T, p nvgpu.Policy) func(driver string) error {
	b := newBench(t).light()
	return func(driver string) error {
		_, err := b.verify(t, p, b.gpu, func(s *nvgputest.Spec) { s.Set(nvgpu.FieldDriver, []byte(driver+"\x00")) })
		return err
	}
}

// One verifier serves many at once.
func TestVerifierIsSafeForConcurrentUse(t *testing.T) {
	s := loadSample(t, "gh100-b")
	v := nvgpu.New(nvgpu.Options{Collateral: manifests(t)})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			r, err := v.VerifyNonce(s.evidence(), s.nonce(), sampleTime)
			if err != nil || !r.Confidential {
				t.Errorf("%v, %v", r.Confidential, err)
			}
		})
	}
	group.Wait()
}

// The largest inputs that get past the first checks stay far below 64 MiB, even counting what is freed in between.
func TestMemoryIsBounded(t *testing.T) {
	good := string(read(t, "driver-545.00.swidtag"))
	pad := func(s string) []byte { return []byte(s + strings.Repeat(" ", nvgpu.MaxRIMSize-len(s))) }
	big := strings.Replace(good, "</ns0:Payload>", strings.Repeat("<a "+strings.TrimSpace(attributes(31))+"/>", 90)+"</ns0:Payload>", 1)
	require.Less(t, len(big), nvgpu.MaxRIMSize)
	deep := strings.Replace(good, "</ns0:Payload>", strings.Repeat("<a><a><a><a><a/></a></a></a></a>", 50)+"</ns0:Payload>", 1)
	names := strings.Replace(good, "<ns0:Payload ", "<ns0:Payload "+namespaces(30), 1)
	report := make([]byte, nvgpu.MaxReportSize)
	copy(report, []byte{0x11, 0xe0, 0x01, 0xff})
	var fields []byte
	for i := range 64 {
		fields = append(fields, byte(100+i), 0, 100, 0)
		fields = append(fields, make([]byte, 100)...)
	}
	chain := bytes.Repeat([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"), nvgpu.MaxChainSize/54)
	for name, run := range map[string]func(){
		"manifest of attributes": func() { _, _ = nvgpu.Roots{}.VerifyRIM([]byte(big), sampleTime) },
		"deep manifest":          func() { _, _ = nvgpu.Roots{}.VerifyRIM([]byte(deep), sampleTime) },
		"manifest of namespaces": func() { _, _ = nvgpu.Roots{}.VerifyRIM([]byte(names), sampleTime) },
		"manifest of spaces":     func() { _, _ = nvgpu.Roots{}.VerifyRIM(pad(good), sampleTime) },
		"manifest of brackets":   func() { _, _ = nvgpu.Roots{}.VerifyRIM(bytes.Repeat([]byte("<a>"), nvgpu.MaxRIMSize/3), sampleTime) },
		"report":                 func() { _, _ = nvgpu.ParseReport(report) },
		"opaque data":            func() { _, _ = nvgpu.ParseOpaque(fields) },
		"chain":                  func() { _, _ = nvgpu.ParseChain(chain) },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run()
		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		t.Logf("%-24s %6d KiB", name, used>>10)
		require.Less(t, used, uint64(64<<20), name)
	}
}

func namespaces(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("xmlns:a" + strings.Repeat("b", i) + `="urn:x" `)
	}
	return b.String()
}

// A verification list stops at the first constraint that is not understood.
func TestConstraintsAreNotPassedOver(t *testing.T) {
	b := newBench(t).light()
	gpu, err := b.NewGPU(nvgputest.GPUOptions{EditDevice: func(c *x509.Certificate) {
		c.PermittedDNSDomainsCritical, c.PermittedDNSDomains = true, []string{"example.com"}
	}})
	require.NoError(t, err)
	_, err = b.verify(t, nvgpu.Policy{}, gpu)
	require.ErrorIs(t, err, attest.ErrUntrusted)
	require.ErrorContains(t, err, "unknown critical extension 2.5.29.30")
}
