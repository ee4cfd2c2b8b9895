package chain_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// versioned signs a transaction that changes one account.
func versioned(t *testing.T, version solana.MessageVersion, data int) *solana.Transaction {
	t.Helper()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	tx, err := solana.NewTransaction([]solana.Instruction{solana.NewInstruction(
		solana.PublicKey{7}, solana.AccountMetaSlice{solana.Meta(solana.PublicKey{8}).WRITE(), solana.Meta(solana.PublicKey{9})}, make([]byte, data),
	)}, solana.Hash{1}, solana.TransactionPayer(key.PublicKey()))
	require.NoError(t, err)
	_, err = tx.Message.SetVersion(version)
	require.NoError(t, err)
	_, err = tx.Sign(func(solana.PublicKey) *solana.PrivateKey { return &key })
	require.NoError(t, err)
	return tx
}

// shows makes a server answer with these bytes, as nodes do: not to those who ask for a lower version.
func shows(t *testing.T, s *fakerpc.Server, version int, raw []byte, loaded map[string]any) {
	s.Handle("getTransaction", func(p []json.RawMessage) (any, *fakerpc.Error) {
		var o struct {
			Max *int `json:"maxSupportedTransactionVersion"`
		}
		require.NoError(t, json.Unmarshal(p[1], &o))
		if o.Max == nil || *o.Max < version {
			return nil, &fakerpc.Error{Code: -32015, Message: "Transaction version (1) is not supported by the requesting client"}
		}
		return map[string]any{
			"slot": 5, "blockTime": 6, "transaction": []string{base64.StdEncoding.EncodeToString(raw), "base64"},
			"meta": map[string]any{"err": nil, "fee": 5000, "logMessages": []string{"log"}, "computeUnitsConsumed": 3, "loadedAddresses": loaded},
		}, nil
	})
}

func TestTransactionsOfVersion1AreRead(t *testing.T) {
	for name, version := range map[string]solana.MessageVersion{"legacy": solana.MessageVersionLegacy, "0": solana.MessageVersionV0, "1": solana.MessageVersionV1} {
		data := 100
		if version == solana.MessageVersionV1 {
			data = 3_000 // more than earlier versions could hold
		}
		tx := versioned(t, version, data)
		raw, err := tx.MarshalBinary()
		require.NoError(t, err)
		s := fakerpc.New(t)
		shows(t, s, int(version)-1, raw, nil)
		l, err := client(t, s).Transaction(ctxFor(t), tx.Signatures[0], chain.Confirmed)
		require.NoError(t, err, name)
		require.Equal(t, version, l.Tx.Message.GetVersion())
		require.Equal(t, []solana.PublicKey{tx.Message.AccountKeys[0], {8}}, l.Writable, name)
		require.Equal(t, tx.Message.AccountKeys, solana.PublicKeySlice(l.Keys))
		require.Len(t, l.Tx.Message.Instructions[0].Data, data)
		require.NoError(t, l.Tx.VerifySignatures())
	}
}

func TestAccountsOfLookupTablesAreNotOverlooked(t *testing.T) {
	tx := versioned(t, solana.MessageVersionV0, 1)
	tx.Message.AddAddressTableLookup(solana.MessageAddressTableLookup{AccountKey: solana.PublicKey{3}, WritableIndexes: []uint8{0}, ReadonlyIndexes: []uint8{1}})
	raw, err := tx.MarshalBinary()
	require.NoError(t, err)
	s := fakerpc.New(t)
	shows(t, s, 0, raw, map[string]any{"writable": []solana.PublicKey{{4}}, "readonly": []solana.PublicKey{{5}}})
	l, err := client(t, s).Transaction(ctxFor(t), tx.Signatures[0], chain.Confirmed)
	require.NoError(t, err)
	require.Contains(t, l.Writable, solana.PublicKey{4})
	require.NotContains(t, l.Writable, solana.PublicKey{5})
	require.Equal(t, []solana.PublicKey{{4}, {5}}, l.Keys[len(l.Keys)-2:])
	shows(t, s, 0, raw, nil)
	_, err = client(t, s).Transaction(ctxFor(t), tx.Signatures[0], chain.Confirmed)
	require.ErrorIs(t, err, chain.ErrUnreadable)
}

func TestWhatCannotBeReadIsSaidToBeUnreadable(t *testing.T) {
	v1, legacy := versioned(t, solana.MessageVersionV1, 1), versioned(t, solana.MessageVersionLegacy, 1)
	bytes := func(tx *solana.Transaction) []byte {
		raw, err := tx.MarshalBinary()
		require.NoError(t, err)
		return raw
	}
	big := versioned(t, solana.MessageVersionLegacy, 1_300)
	for name, tc := range map[string]struct {
		sig     solana.Signature
		version int
		raw     []byte
		says    string
	}{
		"of a later version":          {v1.Signatures[0], 2, nil, "not supported"},
		"without its signature":       {v1.Signatures[0], 1, bytes(v1)[:len(bytes(v1))-64], "bytes remain"},
		"no signature, before v1":     {legacy.Signatures[0], 0, append([]byte{0}, bytes(legacy)[65:]...), "0 signatures, its header says 1"},
		"with bytes after its end":    {v1.Signatures[0], 1, append(bytes(v1), 0), "trailing"},
		"larger than is possible":     {big.Signatures[0], 0, bytes(big), "at most 1232 are possible"},
		"another transaction":         {legacy.Signatures[0], 1, bytes(v1), "the node sent the transaction"},
		"of a version nobody defined": {v1.Signatures[0], 1, append([]byte{0x85}, bytes(v1)[1:]...), "discriminator"},
	} {
		s := fakerpc.New(t)
		shows(t, s, tc.version, tc.raw, nil)
		_, err := client(t, s).Transaction(ctxFor(t), tc.sig, chain.Confirmed)
		require.ErrorIs(t, err, chain.ErrUnreadable, name)
		require.ErrorContains(t, err, tc.says, name)
	}
}

// What programs have called is shown with the place of the instruction that led to it; not every node shows it.
func TestInnerInstructions(t *testing.T) {
	tx := versioned(t, solana.MessageVersionV0, 1)
	raw, err := tx.MarshalBinary()
	require.NoError(t, err)
	for shown, want := range map[string]map[int][]solana.CompiledInstruction{
		`null`: nil, `[]`: {},
		`[{"index":0,"instructions":[{"programIdIndex":2,"accounts":[0,1],"data":"5Q","stackHeight":2}]}]`: {0: {{ProgramIDIndex: 2, Accounts: []uint16{0, 1}, Data: []byte{0xff}}}},
	} {
		s := fakerpc.New(t)
		s.Handle("getTransaction", func([]json.RawMessage) (any, *fakerpc.Error) {
			return map[string]any{
				"slot": 5, "transaction": []string{base64.StdEncoding.EncodeToString(raw), "base64"},
				"meta": map[string]any{"innerInstructions": json.RawMessage(shown)},
			}, nil
		})
		l, err := client(t, s).Transaction(ctxFor(t), tx.Signatures[0], chain.Confirmed)
		require.NoError(t, err, shown)
		require.Equal(t, want, l.Inner, shown)
	}
	s := fakerpc.New(t)
	s.Handle("getTransaction", func([]json.RawMessage) (any, *fakerpc.Error) {
		return map[string]any{
			"slot": 5, "transaction": []string{base64.StdEncoding.EncodeToString(raw), "base64"},
			"meta": map[string]any{"innerInstructions": json.RawMessage(`[{"index":1,"instructions":[]}]`)},
		}, nil
	})
	_, err = client(t, s).Transaction(ctxFor(t), tx.Signatures[0], chain.Confirmed)
	require.ErrorIs(t, err, chain.ErrUnreadable)
}
