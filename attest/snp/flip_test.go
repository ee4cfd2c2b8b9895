package snp_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/snp"
)

// genuine runs the parse and verify steps: whatever it accepts, AMD's chip signed.
func genuine(e attest.Evidence, roots snp.Roots) error {
	raw, _ := e.Item(snp.ItemReport)
	r, err := snp.ParseReport(raw)
	if err != nil {
		return err
	}
	c, err := snp.ParseChain(e)
	if err != nil {
		return err
	}
	_, err = snp.Verify(r, c, roots, realTime)
	return err
}

// TestEveryFlippedBitIsRefused flips each bit of the real report and of its certificate, one at a time. None may pass,
// and each refusal has a named reason. Without GANTRY_EXHAUSTIVE=1 it takes every 29th bit.
func TestEveryFlippedBitIsRefused(t *testing.T) {
	roots, err := snp.PinnedRoots()
	require.NoError(t, err)
	e := realEvidence(t)
	require.NoError(t, genuine(e, roots))
	step := 29
	if os.Getenv("GANTRY_EXHAUSTIVE") != "" {
		step = 1
	} else {
		t.Log("every 29th bit; all with GANTRY_EXHAUSTIVE=1")
	}
	for i, item := range e.Items {
		flips, reasons := 0, map[error]int{}
		for bit := 0; bit < 8*len(item.Data); bit += step {
			e.Items[i].Data = bytes.Clone(item.Data)
			e.Items[i].Data[bit/8] ^= 1 << (bit % 8)
			err := genuine(e, roots)
			require.Error(t, err, "item %s, byte %d, bit %d", item.Name, bit/8, bit%8)
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
		e.Items[i].Data = item.Data
		t.Logf("%s: %d bits flipped, %d refused as malformed, %d as untrusted, %d as stale, 0 accepted", item.Name, flips,
			reasons[attest.ErrMalformed], reasons[attest.ErrUntrusted], reasons[attest.ErrStale])
	}
}
