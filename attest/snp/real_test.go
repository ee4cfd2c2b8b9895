package snp_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/snp"
)

// realTime is a moment at which all certificates of the real report are valid.
var realTime = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// realPolicy fits the real report: an early Milan machine with SMT, whose guest was launched with debugging allowed.
func realPolicy(t testing.TB) snp.Policy {
	r, err := snp.ParseReport(read(t, "milan_report.bin"))
	require.NoError(t, err)
	return snp.Policy{AllowDebug: true, AllowSMT: true, Measurements: [][48]byte{r.Measurement()}}
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return b
}

func realEvidence(t testing.TB) attest.Evidence {
	return attest.Evidence{Kind: attest.KindSNP, Items: []attest.Item{
		{Name: snp.ItemReport, Data: read(t, "milan_report.bin")}, {Name: snp.ItemVCEK, Data: read(t, "milan_vcek.der")},
	}}
}

func TestTheRealMilanReportIsGenuine(t *testing.T) {
	roots, err := snp.PinnedRoots()
	require.NoError(t, err)
	e := realEvidence(t)
	report, err := snp.ParseReport(e.Items[0].Data)
	require.NoError(t, err)
	chain, err := snp.ParseChain(e)
	require.NoError(t, err)
	trusted, err := snp.Verify(report, chain, roots, realTime)
	require.NoError(t, err)
	require.Equal(t, snp.Milan, trusted.Product)

	// It answers its authors' nonce, so that every content check but that one passes.
	var res attest.Result
	require.NoError(t, realPolicy(t).Validate(trusted, report.ReportData(), &res))
	require.True(t, res.Ok())
	require.Equal(t, "host data, identity block", res.Uncovered())
	require.Equal(t, snp.TCB{Bootloader: 2, SNP: 5, Microcode: 68}, report.TCB())

	// Debugging was allowed when it was made: the default policy refuses it.
	require.True(t, report.Debug())
	err = snp.Policy{AllowSMT: true}.Validate(trusted, report.ReportData(), &res)
	require.ErrorIs(t, err, attest.ErrPolicy)
	require.ErrorContains(t, err, snp.CheckDebug)
}

func TestTheRealReportCannotBeReplayed(t *testing.T) {
	v, err := snp.New(snp.Options{Policy: realPolicy(t)})
	require.NoError(t, err)
	res, err := v.Verify(realEvidence(t), attest.Binding{Nonce: [32]byte{1}}, realTime)
	require.ErrorIs(t, err, attest.ErrStale)
	require.ErrorContains(t, err, snp.CheckReportData)
	require.False(t, res.Confidential)
	require.False(t, res.Ok())
}

// TestPinnedRootsAreAMDs pins the fingerprints a second time, so that another set of roots in the library is noticed.
func TestPinnedRootsAreAMDs(t *testing.T) {
	roots, err := snp.PinnedRoots()
	require.NoError(t, err)
	got := map[string]string{}
	for name, r := range roots {
		sum := sha256.Sum256(r.ARK.Raw)
		got[name] = hex.EncodeToString(sum[:])
	}
	require.Equal(t, map[string]string{
		snp.Milan: "69d063b45344d26a2e94e1f4210de49ef555308287d4c174445c95639a540bcd",
		snp.Genoa: "4c6598d19c18719c5dfd4a7d335f674e5bfe1d8f800cea2cf270c10d103db2f1",
	}, got)
}
