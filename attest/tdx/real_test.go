package tdx_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tdx"
	"github.com/gantry-market/gantry/attest/tdx/tdxtest"
)

// realTime is a moment at which the certificates of the real quote and its collateral are valid.
var realTime = time.Date(2023, 7, 1, 0, 0, 0, 0, time.UTC)

// realQuoteSize is that of the quote itself: the sample has a remark of its authors after it.
const realQuoteSize = 4935

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return b
}

func realQuote(t testing.TB) []byte {
	return read(t, "tdx_prod_quote_SPR_E4.dat")[:realQuoteSize]
}

func realCollateral(t testing.TB) tdxtest.Collateral {
	return tdxtest.Collateral{
		tdx.CollateralTCBInfo("50806f000000"): read(t, "sample_tcbInfo_response"),
		tdx.CollateralQEIdentity:              read(t, "sample_qeIdentity_response"),
		tdx.CollateralSigningChain:            read(t, "sample_tcb_signing_chain.pem"),
		tdx.CollateralPCKCRL:                  read(t, "pckcrl"),
		tdx.CollateralRootCRL:                 read(t, "rootcrl.der"),
	}
}

func pinned(t testing.TB) func(q []byte) error {
	root, err := tdx.PinnedRoot()
	require.NoError(t, err)
	return func(raw []byte) error {
		q, err := tdx.ParseQuote(raw)
		if err != nil {
			return err
		}
		_, err = tdx.Verify(q, root, realTime)
		return err
	}
}

func TestTheRealQuoteIsGenuine(t *testing.T) {
	q, err := tdx.ParseQuote(realQuote(t))
	require.NoError(t, err)
	root, err := tdx.PinnedRoot()
	require.NoError(t, err)
	trusted, err := tdx.Verify(q, root, realTime)
	require.NoError(t, err)
	require.Equal(t, "50806f000000", trusted.FMSPC)
	var res attest.Result
	require.NoError(t, tdx.Policy{AllowSeptVE: true, Measurements: []tdx.Measurement{{MRTD: q.MRTD()}}}.Validate(trusted, q.ReportData(), &res))
	require.True(t, res.Ok())
	require.False(t, q.Debug())

	// Intel's collateral is genuine at its time, and says that this platform lacks a microcode update.
	require.NoError(t, trusted.CheckRevocation(realCollateral(t), realTime))
	_, err = trusted.CheckTCB(realCollateral(t), realTime)
	require.ErrorIs(t, err, attest.ErrPolicy)
	require.ErrorContains(t, err, "no matching TCB level")
	for _, months := range []int{-1, 1} {
		at := realTime.AddDate(0, months, 0)
		_, err = trusted.CheckTCB(realCollateral(t), at)
		require.ErrorIs(t, err, attest.ErrStale, "the collateral is of one month")
		require.ErrorIs(t, trusted.CheckRevocation(realCollateral(t), at), attest.ErrStale)
	}
}

func TestTheRealQuoteCannotBeReplayed(t *testing.T) {
	v, err := tdx.New(tdx.Options{Policy: tdx.Policy{AllowSeptVE: true}})
	require.NoError(t, err)
	e := attest.Evidence{Kind: attest.KindTDX, Items: []attest.Item{{Name: tdx.ItemQuote, Data: realQuote(t)}}}
	res, err := v.Verify(e, attest.Binding{Nonce: [32]byte{1}}, realTime)
	require.ErrorIs(t, err, attest.ErrStale)
	require.ErrorContains(t, err, tdx.CheckReportData)
	require.False(t, res.Confidential)
	require.NotContains(t, res.Claims, tdx.ClaimTCBStatus)
}

// TestPinnedRootIsIntels pins the fingerprint a second time.
func TestPinnedRootIsIntels(t *testing.T) {
	root, err := tdx.PinnedRoot()
	require.NoError(t, err)
	sum := sha256.Sum256(root.Raw)
	require.Equal(t, "44a0196b2b99f889b8e149e95b807a350e7424964399e885a7cbb8ccfab674d3", hex.EncodeToString(sum[:]))
}

// TestEveryFlippedBitIsRefused flips each bit of the real quote with all that is in it. Every 29th without
// GANTRY_EXHAUSTIVE=1.
func TestEveryFlippedBitIsRefused(t *testing.T) {
	quote, genuine := realQuote(t), pinned(t)
	require.NoError(t, genuine(quote))
	step := 29
	if os.Getenv("GANTRY_EXHAUSTIVE") != "" {
		step = 1
	} else {
		t.Log("every 29th bit; all with GANTRY_EXHAUSTIVE=1")
	}
	flips, reasons := 0, map[error]int{}
	for bit := 0; bit < 8*len(quote); bit += step {
		bad := bytes.Clone(quote)
		bad[bit/8] ^= 1 << (bit % 8)
		err := genuine(bad)
		require.Error(t, err, "byte 0x%x, bit %d", bit/8, bit%8)
		flips++
		named := false
		for _, s := range []error{attest.ErrMalformed, attest.ErrUntrusted, attest.ErrStale} {
			if errors.Is(err, s) {
				reasons[s]++
				named = true
				break
			}
		}
		require.True(t, named, "no reason named: %v", err)
	}
	t.Logf("quote: %d bits flipped, %d refused as malformed, %d as untrusted, %d as stale, 0 accepted", flips,
		reasons[attest.ErrMalformed], reasons[attest.ErrUntrusted], reasons[attest.ErrStale])
}

// TestOnePEMOnly breaks a line of the chain one character early: the same certificates in another encoding.
func TestOnePEMOnly(t *testing.T) {
	quote := realQuote(t)
	begin := bytes.Index(quote, []byte("-----BEGIN CERTIFICATE-----\n")) + 28
	at := begin + bytes.IndexByte(quote[begin:], '\n')
	quote[at-1], quote[at] = quote[at], quote[at-1]
	_, err := tdx.ParseQuote(quote)
	require.ErrorIs(t, err, attest.ErrMalformed)
	require.ErrorContains(t, err, "canonical PEM")
}

// TestLengths cuts the real quote at each byte and adds to it.
func TestLengths(t *testing.T) {
	quote := realQuote(t)
	for n := range quote {
		_, err := tdx.ParseQuote(quote[:n])
		require.ErrorIs(t, err, attest.ErrMalformed, "%d bytes", n)
	}
	for name, longer := range map[string][]byte{
		"the sample's remark": read(t, "tdx_prod_quote_SPR_E4.dat"),
		"zeros":               append(bytes.Clone(quote), 0, 0),
		"too long":            append(bytes.Clone(quote), make([]byte, 16<<10)...),
	} {
		_, err := tdx.ParseQuote(longer)
		require.ErrorIs(t, err, attest.ErrMalformed, name)
	}
}
