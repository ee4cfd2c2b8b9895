package query

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// The market may be called by a transaction, and by another program that the transaction calls.
func TestEventsOfALandedTransaction(t *testing.T) {
	id, wallet := market.ProgramID, solana.PublicKey{7}
	data := bindings.Instruction_ReportClose[:]
	event := "Program data: " + base64.StdEncoding.EncodeToString(append(bindings.Event_ReportClosed[:], make([]byte, 8)...))
	in := solana.CompiledInstruction{ProgramIDIndex: 1, Data: data}
	by := solana.CompiledInstruction{ProgramIDIndex: 2}
	own := []string{"Program " + id.String() + " invoke [1]", event, "Program " + id.String() + " success"}
	made := []string{"Program Multisig invoke [1]", "Program " + id.String() + " invoke [2]", event, "Program " + id.String() + " success", "Program Multisig success"}
	landed := func(logs []string, inner map[int][]solana.CompiledInstruction, tops ...solana.CompiledInstruction) *chain.Landed {
		return &chain.Landed{
			Keys: []solana.PublicKey{wallet, id, {9}}, Logs: logs, Inner: inner,
			Tx: &solana.Transaction{Message: solana.Message{Instructions: tops}},
		}
	}
	none := map[int][]solana.CompiledInstruction{}
	second := map[int][]solana.CompiledInstruction{1: {in}}
	for name, c := range map[string]struct {
		l    *chain.Landed
		read int // events; -1 for unread
	}{
		"its own call":                           {landed(own, none, in), 1},
		"a call of another program":              {landed(append(own, made...), second, in, by), 2},
		"a call of another program, left out":    {landed(own, second, in, by), -1},
		"a call of another program, not listed":  {landed(made, nil, by), 1},
		"cut":                                    {landed([]string{"Log truncated"}, none, in), -1},
		"cut, perhaps a call that is not listed": {landed([]string{"Log truncated"}, nil, by), -1},
		"failed":                                 {&chain.Landed{Err: json.RawMessage(`"x"`)}, 0},
	} {
		got, err := Events(c.l)
		if c.read < 0 {
			require.ErrorIs(t, err, chain.ErrUnreadable, name)
			require.Empty(t, got, name)
			continue
		}
		require.NoError(t, err, name)
		require.Len(t, got, c.read, name)
	}
	other := landed([]string{"Log truncated"}, nil, by)
	other.Keys[1] = solana.PublicKey{8}
	got, err := Events(other)
	require.NoError(t, err, "it does not name the market")
	require.Empty(t, got)
}
