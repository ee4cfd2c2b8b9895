package chain_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// holding makes a server a node on which these accounts exist, all of the upgradeable loader.
func holding(t *testing.T, accounts map[solana.PublicKey][]byte) *fakerpc.Server {
	s := fakerpc.New(t)
	s.Handle("getMultipleAccounts", func(params []json.RawMessage) (any, *fakerpc.Error) {
		var keys []solana.PublicKey
		if err := json.Unmarshal(params[0], &keys); err != nil {
			return nil, &fakerpc.Error{Code: chain.CodeInvalidParams, Message: err.Error()}
		}
		values := make([]any, len(keys))
		for i, key := range keys {
			if data, ok := accounts[key]; ok {
				values[i] = map[string]any{
					"lamports": 1, "owner": solana.BPFLoaderUpgradeableProgramID, "executable": true,
					"data": []string{base64.StdEncoding.EncodeToString(data), "base64"},
				}
			}
		}
		return map[string]any{"context": map[string]any{"slot": 7}, "value": values}, nil
	})
	return s
}

func key(b byte) (k solana.PublicKey) {
	k[0] = b
	return k
}

// programData writes the account of deployed code as the loader does.
func programData(slot uint64, authority solana.PublicKey, code []byte) []byte {
	out := binary.LittleEndian.AppendUint32(nil, 3)
	out = binary.LittleEndian.AppendUint64(out, slot)
	if authority.IsZero() {
		out = append(out, make([]byte, 33)...)
	} else {
		out = append(append(out, 1), authority[:]...)
	}
	return append(out, code...)
}

func programOf(data solana.PublicKey) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, 2), data[:]...)
}

func TestDeployedCodeIsComparedWithAFileAndWithItsHash(t *testing.T) {
	file, err := os.ReadFile("../../program/artifacts/gantry_market.so")
	require.NoError(t, err)
	hash := sha256.Sum256(file)
	padded := append(slices.Clone(file), make([]byte, 4096)...)
	other := slices.Clone(padded)
	other[len(file)/2] ^= 1
	appended := slices.Clone(padded)
	appended[len(appended)-1] = 1
	for name, test := range map[string]struct {
		code  []byte
		equal bool
	}{
		"as long as the file": {file, true}, "with room for later": {padded, true}, "a bit differs": {other, false},
		"something after the file": {appended, false}, "cut off": {file[:len(file)-1], false}, "nothing": {nil, false},
		"zeros only": {make([]byte, len(file)), false},
	} {
		s := holding(t, map[solana.PublicKey][]byte{key(1): programOf(key(2)), key(2): programData(99, key(3), test.code)})
		code, err := client(t, s).Code(ctxFor(t), key(1), chain.Confirmed)
		require.NoError(t, err, name)
		require.Equal(t, []any{key(2), key(3), uint64(99)}, []any{code.Account, code.Authority, code.Slot}, name)
		require.Equal(t, test.equal, code.Is(file), name)
		require.Equal(t, test.equal, code.HasHash(hash), name)
		found, ok := code.File()
		require.Equal(t, test.equal, ok && found == hash, name)
	}
}

func TestWhoMayReplaceTheCodeIsRead(t *testing.T) {
	code := []byte("code")
	buffer := append(append(binary.LittleEndian.AppendUint32(nil, 1), 1), append(slices.Clone(key(8).Bytes()), code...)...)
	s := holding(t, map[solana.PublicKey][]byte{
		key(1): programOf(key(2)), key(2): programData(5, solana.PublicKey{}, code), key(3): programOf(key(4)), key(5): buffer,
		key(6): programOf(key(7)), key(7): binary.LittleEndian.AppendUint32(nil, 0), key(9): {2, 0},
	})
	c := client(t, s)
	got, err := c.Code(ctxFor(t), key(1), chain.Confirmed)
	require.NoError(t, err)
	require.True(t, got.Authority.IsZero(), "frozen: nobody")
	got, err = c.Code(ctxFor(t), key(5), chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, chain.Code{Account: key(5), Authority: key(8), Bytes: code}, got)
	for account, want := range map[byte]error{
		3: chain.ErrAccountNotFound, 6: chain.ErrNotUpgradeable, 7: chain.ErrNotUpgradeable, 9: chain.ErrNotUpgradeable, 10: chain.ErrAccountNotFound,
	} {
		_, err = c.Code(ctxFor(t), key(account), chain.Confirmed)
		require.ErrorIs(t, err, want, "account %d", account)
	}
}
