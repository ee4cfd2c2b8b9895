package watch

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// listText is the text of a list of accounts without its end.
func listText(t *testing.T, program solana.PublicKey, lamports int, data string, keys ...byte) string {
	out := `"result":{"context":{"slot":5},"value":[`
	for i, k := range keys {
		raw, err := json.Marshal(map[string]any{"pubkey": solana.PublicKey{k}, "account": map[string]any{
			"lamports": lamports, "owner": program, "executable": false, "data": []string{base64.StdEncoding.EncodeToString([]byte(data)), "base64"},
		}})
		require.NoError(t, err)
		if i > 0 {
			out += ","
		}
		out += string(raw)
	}
	return out
}

// What an endpoint has sent of a list that broke off counts for nothing: neither its accounts nor that they were seen.
func TestAListThatBreaksOffLeavesNothing(t *testing.T) {
	program := solana.PublicKey{9}
	broken, whole := fakerpc.New(t), fakerpc.New(t)
	broken.Stream("getProgramAccounts", func(w io.Writer, id string) error {
		_, err := io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,`+listText(t, program, 7, "of the broken list", 1, 2))
		return err
	})
	whole.Stream("getProgramAccounts", func(w io.Writer, id string) error {
		_, err := io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,`+listText(t, program, 7, "whole", 2, 3, 3)+`]}}`)
		return err
	})
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: broken.URL()}, {RPC: whole.URL()}}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	st := newState(program, Scope{})
	snap, err := read(t.Context(), c, program, chain.Confirmed, Scope{}, []string{whole.URL()}, st.same)
	require.NoError(t, err)
	require.Equal(t, 1, broken.Calls("getProgramAccounts"), "the test asks the broken one first")
	require.Equal(t, map[solana.PublicKey]bool{{2}: true, {3}: true}, snap.seen)
	require.Len(t, snap.accounts, 2, "each once")
	for _, a := range snap.accounts {
		require.Equal(t, "whole", string(a.Data))
	}
}

// An account that is listed without lamports is in doubt like one that is not listed.
func TestAnAccountWithoutLamportsIsInDoubt(t *testing.T) {
	program := solana.PublicKey{9}
	s := fakerpc.New(t)
	list := func(lamports int) {
		s.Stream("getProgramAccounts", func(w io.Writer, id string) error {
			_, err := io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,`+listText(t, program, lamports, "x", 1)+`]}}`)
			return err
		})
	}
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.URL()}}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	st := newState(program, Scope{})
	apply := func() map[solana.PublicKey]doubt {
		snap, err := read(t.Context(), c, program, chain.Confirmed, Scope{}, nil, st.same)
		require.NoError(t, err)
		lacks, err := st.applySnapshot(snap, func(Event) {})
		require.NoError(t, err)
		return lacks
	}
	list(1)
	require.Empty(t, apply())
	list(0)
	require.Contains(t, apply(), solana.PublicKey{1})
}
