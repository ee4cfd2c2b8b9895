package rewards

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// claimed is a transaction with two claims of rewards, as a node shows it.
type claimed struct{ logs []string }

func (c claimed) Transaction(_ context.Context, sig solana.Signature, _ chain.Commitment) (chain.Landed, error) {
	in := solana.CompiledInstruction{Data: bindings.Instruction_RewardsClaim[:]}
	return chain.Landed{
		Signature: sig, Keys: []solana.PublicKey{market.ProgramID}, Logs: c.logs, Inner: map[int][]solana.CompiledInstruction{},
		Tx: &solana.Transaction{Message: solana.Message{Instructions: []solana.CompiledInstruction{in, in}}},
	}, nil
}

// A log that was cut behind the first of two claims gave the half as the whole.
func TestAmountsOfACutLogAreNotKnown(t *testing.T) {
	event, err := bindings.RewardsClaimed{ByAwards: 3, ByVote: 4}.Marshal()
	require.NoError(t, err)
	id := market.ProgramID.String()
	one := []string{
		"Program " + id + " invoke [1]", "Program data: " + base64.StdEncoding.EncodeToString(append(bindings.Event_RewardsClaimed[:], event...)), "Program " + id + " success",
	}
	tx := service.Sent{Signature: solana.Signature{1}.String()}
	var m service.Moved
	require.Len(t, service.EventsOf[bindings.RewardsClaimed](t.Context(), claimed{slices.Concat(one, one)}, chain.Confirmed, tx, &m), 2)
	require.True(t, m.Known())
	require.NoError(t, m.Failure(tx.Signature))
	for name, logs := range map[string][]string{
		"cut behind the first": append(slices.Clone(one), "Log truncated"), "cut": {"Log truncated"}, "no log": nil, "one is missing": one,
		"one without its event": append(slices.Clone(one), one[0], one[2]),
	} {
		m := service.Moved{}
		require.Empty(t, service.EventsOf[bindings.RewardsClaimed](t.Context(), claimed{logs}, chain.Confirmed, tx, &m), name)
		require.False(t, m.Known(), name)
		var f *service.Failure
		require.ErrorAs(t, m.Failure(tx.Signature), &f, name)
		require.Equal(t, service.CodeUnknown, f.Code, name)
		require.True(t, f.Told, "the command's document says it")
	}
	// The document names no amount.
	raw, err := json.Marshal(Claim{Keeper: "k", Txs: []service.Sent{tx}, Moved: service.Moved{Unknown: []string{"cut"}}})
	require.NoError(t, err)
	require.Contains(t, string(raw), `"unknown":["cut"]`)
	require.NotContains(t, string(raw), "total")
}
