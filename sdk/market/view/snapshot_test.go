package view

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/watch"
)

// After an upgrade of the program that has changed a layout, a snapshot without the accounts of that layout would show a market
// that has none of them. It is refused. What is no account of the market at all stays left out.
func TestASnapshotOfALaterLayoutIsRefused(t *testing.T) {
	read := func(extra int, more ...[]byte) error {
		srv := fakerpc.New(t)
		data := append(slices.Clone(bindings.Account_GpuModel[:]), make([]byte, 200+extra)...)
		data[203] = market.LayoutVersion
		list := []any{}
		for i, d := range append([][]byte{data}, more...) {
			list = append(list, map[string]any{"pubkey": solana.PublicKey{byte(i), 1}, "account": map[string]any{
				"lamports": 1, "owner": market.ProgramID, "executable": false, "rentEpoch": 0, "data": []string{base64.StdEncoding.EncodeToString(d), "base64"},
			}})
		}
		srv.Handle("getProgramAccounts", func([]json.RawMessage) (any, *fakerpc.Error) {
			return map[string]any{"context": map[string]any{"slot": 7}, "value": list}, nil
		})
		c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: srv.URL(), WS: srv.WS()}}})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return Snapshot(t.Context(), c, New(Options{}), chain.Confirmed, watch.Scope{})
	}
	require.NoError(t, read(0))
	require.NoError(t, read(0, []byte("of no type that the market has")))
	err := read(8)
	require.ErrorIs(t, err, market.ErrProgramMismatch)
	require.ErrorContains(t, err, "has 8 bytes more than known")
	require.ErrorContains(t, err, "update gantry")
}
