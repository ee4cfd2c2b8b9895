package chain_test

import (
	"encoding/json"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// A dry run shows the accounts that were asked for, in their order, and knows one that is gone in both ways in which nodes show it.
func TestSimulationShowsAccounts(t *testing.T) {
	s := fakerpc.New(t)
	c := client(t, s)
	key := solana.NewWallet().PublicKey()
	tx, err := solana.NewTransaction([]solana.Instruction{solana.NewInstruction(key, nil, []byte{1})}, solana.Hash{1}, solana.TransactionPayer(key))
	require.NoError(t, err)
	tx.Signatures = make([]solana.Signature, 1)
	var asked map[string]any
	var accounts []any
	var failed any
	s.Handle("simulateTransaction", func(p []json.RawMessage) (any, *fakerpc.Error) {
		require.NoError(t, json.Unmarshal(p[1], &asked))
		value := map[string]any{"err": failed, "logs": []string{}, "unitsConsumed": 7}
		if accounts != nil {
			value["accounts"] = accounts
		}
		return map[string]any{"context": map[string]any{"slot": 9}, "value": value}, nil
	})
	account := func(lamports uint64) any {
		return map[string]any{"lamports": lamports, "owner": key, "data": []string{"", "base64"}, "executable": false, "rentEpoch": 0, "space": 165}
	}
	o := chain.SimulateOptions{Commitment: chain.Processed, Accounts: []solana.PublicKey{key, key, key}}
	accounts = []any{account(5), nil, account(0)}
	got, err := c.Simulate(ctxFor(t), tx, o)
	require.NoError(t, err)
	require.Equal(t, []*chain.AccountAfter{{Lamports: 5, Owner: key, Space: 165}, nil, nil}, got.Accounts)
	require.Len(t, asked["accounts"].(map[string]any)["addresses"], 3)

	accounts = []any{account(5)}
	_, err = c.Simulate(ctxFor(t), tx, o)
	require.ErrorIs(t, err, chain.ErrAnswer)
	accounts, failed = nil, "AccountNotFound"
	got, err = c.Simulate(ctxFor(t), tx, o)
	require.NoError(t, err, "a transaction that fails leaves nothing to show")
	require.Empty(t, got.Accounts)
	asked, failed = nil, nil
	_, err = c.Simulate(ctxFor(t), tx, chain.SimulateOptions{Commitment: chain.Processed})
	require.NoError(t, err)
	require.NotContains(t, asked, "accounts")
}
