package invariants_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/sdk/chain"
)

// No sum over a history is right when the log of one of its transactions was cut.
func TestAHistoryWithACutLogIsNotRead(t *testing.T) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	tx, err := solana.NewTransaction([]solana.Instruction{
		solana.NewInstruction(bindings.ProgramID, solana.AccountMetaSlice{}, bindings.Instruction_LeaseClose[:]),
	}, solana.Hash{1}, solana.TransactionPayer(key.PublicKey()))
	require.NoError(t, err)
	_, err = tx.Sign(func(solana.PublicKey) *solana.PrivateKey { return &key })
	require.NoError(t, err)
	raw, err := tx.MarshalBinary()
	require.NoError(t, err)
	event, err := bindings.LeaseClosed{Paid: 5}.Marshal()
	require.NoError(t, err)
	id := bindings.ProgramID.String()
	whole := []string{
		"Program " + id + " invoke [1]", "Program data: " + base64.StdEncoding.EncodeToString(append(bindings.Event_LeaseClosed[:], event...)), "Program " + id + " success",
	}
	for name, logs := range map[string][]string{"whole": whole, "cut": {whole[0], "Log truncated"}, "none": nil, "no event": {whole[0], whole[2]}} {
		s := fakerpc.New(t)
		s.Handle("getSignaturesForAddress", func([]json.RawMessage) (any, *fakerpc.Error) {
			return []map[string]any{{"signature": tx.Signatures[0], "slot": 3, "err": nil}}, nil
		})
		s.Handle("getTransaction", func([]json.RawMessage) (any, *fakerpc.Error) {
			return map[string]any{
				"slot": 3, "blockTime": 6, "transaction": []string{base64.StdEncoding.EncodeToString(raw), "base64"},
				"meta": map[string]any{"err": nil, "logMessages": logs, "innerInstructions": []any{}},
			}, nil
		})
		c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.URL(), WS: s.WS()}}, Commitment: chain.Confirmed, Log: zerolog.Nop()})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		h, err := invariants.ReadHistory(t.Context(), c, nil, 0)
		if name != "whole" {
			require.ErrorIs(t, err, chain.ErrUnreadable, name)
			continue
		}
		require.NoError(t, err)
		require.Len(t, h.Transactions, 1)
		require.Len(t, h.Transactions[0].Events, 1)
	}
}
