package tdx_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tdx"
)

// FuzzVerify feeds any bytes as a quote. Nothing may panic, and nothing but the real quote is genuine.
func FuzzVerify(f *testing.F) {
	real, genuine := realQuote(f), pinned(f)
	f.Add(real)
	f.Add(append(bytes.Clone(real), 0))
	f.Fuzz(func(t *testing.T, quote []byte) {
		if genuine(quote) == nil {
			require.True(t, bytes.Equal(quote, real), "another quote is genuine: %x", quote)
		}
	})
}

// FuzzCollateral feeds any bytes as one piece of Intel's collateral. The real one is genuine and says that the real
// platform is out of date; what leads to the same answer holds the same signed bytes.
func FuzzCollateral(f *testing.F) {
	tcb, lists := tdx.CollateralTCBInfo("50806f000000"), []string{tdx.CollateralPCKCRL, tdx.CollateralRootCRL}
	keys := append([]string{tcb, tdx.CollateralQEIdentity, tdx.CollateralSigningChain}, lists...)
	real := realCollateral(f)
	for i, k := range keys {
		f.Add(uint8(i), real[k])
	}
	root, err := tdx.PinnedRoot()
	require.NoError(f, err)
	q, err := tdx.ParseQuote(realQuote(f))
	require.NoError(f, err)
	trusted, err := tdx.Verify(q, root, realTime)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		key := keys[int(which)%len(keys)]
		c := real.Without(key)
		c[key] = data
		_, err := trusted.CheckTCB(c, realTime)
		require.Error(t, err)
		if errors.Is(err, attest.ErrPolicy) && (key == tcb || key == tdx.CollateralQEIdentity) {
			whole := real[key]
			body := whole[bytes.IndexByte(whole, ':')+1 : bytes.LastIndex(whole, []byte(`,"signature"`))]
			require.True(t, bytes.Contains(data, body), "other information is believed: %s", data)
		}
		if trusted.CheckRevocation(c, realTime) == nil && slices.Contains(lists, key) {
			require.True(t, bytes.Equal(data, real[key]), "another list is believed: %x", data)
		}
	})
}
