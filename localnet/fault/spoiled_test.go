package fault

import (
	"net/http"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/chain"
)

func TestEmptyLists(t *testing.T) {
	c := newCluster(t)
	c.next(c.put(solana.PublicKey{1}, owned{c.program, []byte("one")}))
	p, _, client := c.behind(t)
	p.Set(Faults{Empty: 1})
	all, slot, err := client.ProgramAccounts(t.Context(), c.program, chain.Confirmed, chain.Filter{})
	require.NoError(t, err)
	require.Empty(t, all)
	require.EqualValues(t, 101, slot, "the slot is the true one")
	a, err := client.Account(t.Context(), solana.PublicKey{1}, chain.Confirmed)
	require.ErrorContains(t, err, "Method not found", "other reads are the node's: %v", a)
	some, err := client.Accounts(t.Context(), []solana.PublicKey{{1}}, chain.Confirmed)
	require.NoError(t, err)
	require.NotNil(t, some[0])
	require.Equal(t, uint64(2), p.Counts().Emptied, "the client asks for an empty list twice")
	// A refusal stays one.
	c.srv.Handle("getProgramAccounts", nil)
	_, _, err = client.ProgramAccounts(t.Context(), c.program, chain.Confirmed, chain.Filter{})
	require.ErrorContains(t, err, "Method not found")
}

func TestNullAnswers(t *testing.T) {
	c := newCluster(t)
	p, _, _ := c.behind(t)
	p.Set(Faults{Null: 1})
	for method := range nullable {
		code, text, err := ask(t.Context(), p, method)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code)
		require.JSONEq(t, `{"jsonrpc":"2.0","id":7,"result":null}`, text, method)
	}
	require.EqualValues(t, len(nullable), p.Counts().Nulled)
	_, text, err := ask(t.Context(), p, "getGenesisHash")
	require.NoError(t, err)
	require.NotContains(t, text, "null")
}

// A node on a fork shows other blocks at some slots, the same each time, and as parents of the next ones.
func TestAnotherFork(t *testing.T) {
	c := newCluster(t)
	p, _, client := c.behind(t)
	p.Set(Faults{Disagree: 0.5})
	blocks := client.Blocks(chain.Confirmed)
	other, later := 0, 0
	for slot := uint64(1); slot <= 100; slot++ {
		b, err := blocks.At(t.Context(), slot)
		require.NoError(t, err)
		again, err := blocks.At(t.Context(), slot)
		require.NoError(t, err)
		require.Equal(t, b, again)
		if b.Hash != blockhash(slot) {
			other++
		} else {
			require.EqualValues(t, 1_000_000+slot, b.Time.Unix())
		}
		later += int(b.Time.Unix() - 1_000_000 - int64(slot))
		var next struct {
			Previous solana.Hash `json:"previousBlockhash"`
		}
		require.NoError(t, client.Raw(t.Context(), &next, "getBlock", slot+1, map[string]string{"commitment": confirmed}))
		require.EqualValues(t, b.Hash, next.Previous)
	}
	require.InDelta(t, 50, other, 30)
	require.InDelta(t, other/2, later, 20)
	require.Positive(t, p.Counts().Disagreed)
	// Two nodes disagree with each other, too.
	q, err := StartProxy(t.Context(), c.srv.URL())
	require.NoError(t, err)
	t.Cleanup(q.Close)
	require.NotEqual(t, p.seed, q.seed)
}
