package ix

import (
	"crypto/ed25519"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txform"
)

// wrongCell is the leaf of attest/measure's genuine run, with a path as deep as that of the largest order and of the most
// rounds: the builder follows no path.
func wrongCell(t *testing.T) WrongCell {
	t.Helper()
	raw, err := os.ReadFile("../../../attest/measure/testdata/vectors.json")
	require.NoError(t, err)
	var doc struct {
		Run struct {
			Commitment, Entry string
			Leaf              struct{ Bytes string }
			Signature         string
			NodeSecret        string `json:"node_secret"`
		}
	}
	require.NoError(t, json.Unmarshal(raw, &doc))
	decode := func(s string) []byte {
		b, err := hex.DecodeString(s)
		require.NoError(t, err)
		return b
	}
	w := WrongCell{
		Commitment: decode(doc.Run.Commitment), Signature: solana.SignatureFromBytes(decode(doc.Run.Signature)),
		Entry: [EntryBytes]byte(decode(doc.Run.Entry)), Block: InstantBlock{Period: 7, Tick: 3, Slot: 99, Hash: [32]byte{4}},
		Round: 2, Before: [32]byte{5}, Leaf: 77, Group: 9, Bytes: [MeasuredLeafBytes]byte(decode(doc.Run.Leaf.Bytes)),
		Path: make([][32]byte, 23), RoundPath: make([][32]byte, 12),
	}
	for i := range w.Path {
		w.Path[i][0] = byte(i)
	}
	for i := range w.RoundPath {
		w.RoundPath[i][0] = byte(100 + i)
	}
	w.Node.Address = solana.PublicKey(w.Commitment[72:104])
	w.Node.NodeKey = solana.PublicKeyFromBytes(ed25519.NewKeyFromSeed(decode(doc.Run.NodeSecret)).Public().(ed25519.PublicKey))
	w.Node.Node.Provider, w.Node.Spec.Model = solana.PublicKey{3}, 6
	return w
}

func TestAWrongCellIsBroughtInThreeTransactions(t *testing.T) {
	finder := solana.PublicKey{8}
	w := wrongCell(t)
	commit, err := w.Commit(finder)
	require.NoError(t, err)
	require.Len(t, commit, 2)
	require.Equal(t, market.Ed25519ProgramID, commit[0].ProgramID())
	data, err := commit[1].Data()
	require.NoError(t, err)
	d := bindings.Instruction_FraudProofCommitment
	require.Equal(t, d[:], data[:8])
	require.EqualValues(t, 7, binary.LittleEndian.Uint64(data[8:]))
	require.Equal(t, w.Entry[:], data[64:])

	leaf, err := w.AddLeaf(finder)
	require.NoError(t, err)
	data, err = leaf.Data()
	require.NoError(t, err)
	require.Equal(t, w.Bytes[:], data[49:305])
	require.EqualValues(t, 20, binary.LittleEndian.Uint32(data[305:]))
	require.Equal(t, w.Path[19][:], data[len(data)-32:])

	prove, err := w.Prove(finder)
	require.NoError(t, err)
	data, err = prove.Data()
	require.NoError(t, err)
	require.EqualValues(t, 3+12, binary.LittleEndian.Uint32(data[8:]))
	require.Equal(t, w.Path[20][:], data[12:44])
	require.Equal(t, w.RoundPath[11][:], data[len(data)-32:])
	accounts := prove.Accounts()
	require.Equal(t, market.ModelAddress(6), accounts[5].PublicKey)
	require.Equal(t, market.WorkFaultAddress(w.Node.Address, finder, 7), accounts[6].PublicKey)

	for _, ixs := range [][]solana.Instruction{commit, {leaf}, {prove}} {
		require.True(t, txform.Legacy.Holds(finder, ixs...), "with the compute budget it fits a transaction")
	}
}

func TestAWrongCellThatDoesNotBelongTogether(t *testing.T) {
	for name, change := range map[string]func(*WrongCell){
		"node":             func(w *WrongCell) { w.Node.Address[0]++ },
		"key":              func(w *WrongCell) { w.Node.NodeKey[0]++ },
		"signature":        func(w *WrongCell) { w.Signature[0]++ },
		"commitment":       func(w *WrongCell) { w.Commitment[40]++ },
		"short commitment": func(w *WrongCell) { w.Commitment = w.Commitment[:104] },
		"odd commitment":   func(w *WrongCell) { w.Commitment = append(w.Commitment, 0) },
		"entry":            func(w *WrongCell) { w.Entry[0]++ },
	} {
		w := wrongCell(t)
		change(&w)
		_, err := w.Commit(solana.PublicKey{8})
		require.ErrorIs(t, err, ErrInstruction, name)
		_, err = w.AddLeaf(solana.PublicKey{8})
		require.ErrorIs(t, err, ErrInstruction, name)
		_, err = w.Prove(solana.PublicKey{8})
		require.ErrorIs(t, err, ErrInstruction, name)
	}
}
