package market_test

import (
	"bytes"
	"crypto/sha256"
	"testing"

	bin "github.com/gagliardetto/binary"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// reportData is a report's account with these roots, weights falling.
func reportData(t *testing.T, roots int) []byte {
	r := bindings.Report{Period: 7, CandidateCount: uint8(min(roots, 4)), Version: market.LayoutVersion}
	var behind bytes.Buffer
	for i := range roots {
		c := bindings.Candidate{Root: sha256.Sum256([]byte{byte(i)}), Weight: uint64(1_000 - i)}
		c.Voters[i/8], r.Voters[i/8] = 1<<(i%8), r.Voters[i/8]|1<<(i%8)
		if i < 4 {
			r.Candidates[i] = c
			continue
		}
		raw, err := c.Marshal()
		require.NoError(t, err)
		behind.Write(raw)
	}
	var out bytes.Buffer
	out.Write(bindings.Account_Report[:])
	require.NoError(t, r.MarshalWithEncoder(bin.NewBorshEncoder(&out)))
	out.Write(behind.Bytes())
	return out.Bytes()
}

// A report shows every root that has votes, also those behind its struct.
func TestReportsAreReadToTheirEnd(t *testing.T) {
	for _, roots := range []int{0, 1, 4, 5, 13, 256} {
		got, err := market.Decode(market.Meta{}, reportData(t, roots))
		require.NoError(t, err)
		require.Equal(t, market.KindReport, got.Kind)
		r := got.Value.(*market.Report)
		require.Len(t, r.Roots(), roots)
		for i, c := range r.Roots() {
			require.EqualValues(t, 1_000-i, c.Weight)
			require.True(t, r.Voted(uint16(i)))
			require.Equal(t, i, r.Find(sha256.Sum256([]byte{byte(i)})))
		}
		require.Equal(t, -1, r.Find([32]byte{}))
	}
	for _, cut := range []int{1, 103} {
		whole := reportData(t, 6)
		_, err := market.Decode(market.Meta{}, whole[:len(whole)-cut])
		require.ErrorIs(t, err, market.ErrLayout)
	}
	_, err := market.Decode(market.Meta{}, append(reportData(t, 4), 0))
	require.ErrorIs(t, err, market.ErrLayout)
	_, err = market.Decode(market.Meta{}, reportData(t, 4)[:600])
	require.ErrorIs(t, err, market.ErrLayout)
}
