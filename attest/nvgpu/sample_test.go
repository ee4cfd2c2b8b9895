package nvgpu_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu"
)

// sampleTime is when all certificates of the samples were valid: the manifests' signer until 26 June 2025.
var sampleTime = time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)

// sample is a real report with its chain. testdata's origin and licences: attest/testdata/README.md.
type sample struct {
	name   string
	report []byte
	chain  []byte
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	return data
}

func loadSample(t testing.TB, name string) sample {
	t.Helper()
	report, err := hex.DecodeString(strings.TrimSpace(string(read(t, name+".report.hex"))))
	require.NoError(t, err)
	return sample{name: name, report: report, chain: read(t, name+".chain.pem")}
}

func samples(t testing.TB) []sample {
	t.Helper()
	return []sample{loadSample(t, "gh100-a"), loadSample(t, "gh100-b")}
}

func (s sample) evidence() attest.Evidence {
	return attest.Evidence{Kind: attest.KindNVGPU, Items: []attest.Item{
		{Name: nvgpu.ItemCertificates, Data: s.chain}, {Name: nvgpu.ItemReport, Data: s.report},
	}}
}

func (s sample) nonce() [32]byte { return [32]byte(s.report[4:36]) }

// library is collateral in memory.
type library map[string][]byte

func (l library) Get(key string) ([]byte, error) {
	if data, has := l[key]; has {
		return data, nil
	}
	return nil, attest.ErrNoCollateral
}

// manifests are the two that belong to sample gh100-b.
func manifests(t testing.TB) library {
	t.Helper()
	return library{
		"nvgpu/rim/NV_GPU_DRIVER_GH100_545.00":            read(t, "driver-545.00.swidtag"),
		"nvgpu/rim/NV_GPU_VBIOS_1010_0200_882_96005E0001": read(t, "vbios-96005E0001.swidtag"),
	}
}

// The table of origins speaks of the files that are here, all of them, unchanged.
func TestSamplesAreAsRecorded(t *testing.T) {
	table, err := os.ReadFile("../testdata/README.md")
	require.NoError(t, err)
	entries, err := os.ReadDir("testdata")
	require.NoError(t, err)
	n := 0
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), "LICENSE") {
			continue
		}
		line := regexp.MustCompile(`(?m)^\| testdata/` + regexp.QuoteMeta(e.Name()) + ` \|.*\| ([0-9a-f]{64}) \| (BSD-3-Clause|Apache-2\.0) \|$`)
		match := line.FindSubmatch(table)
		require.NotNil(t, match, e.Name())
		require.Equal(t, string(match[1]), fmt.Sprintf("%x", sha256.Sum256(read(t, e.Name()))), e.Name())
		n++
	}
	require.Equal(t, 6, n)
}
