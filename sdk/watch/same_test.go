package watch

import (
	"context"
	"encoding/base64"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// A list that is read again shares the data of the accounts that have not changed, while others change.
func TestAListIsNotHeldTwice(t *testing.T) {
	program := solana.PublicKey{9}
	s := fakerpc.New(t)
	list := func(first string) {
		var value []any
		for i, data := range []string{first, "second", "third"} {
			value = append(value, map[string]any{"pubkey": solana.PublicKey{byte(i + 1)}, "account": map[string]any{
				"lamports": 1, "owner": program, "executable": false, "data": []string{base64.StdEncoding.EncodeToString([]byte(data)), "base64"},
			}})
		}
		s.Answer("getProgramAccounts", map[string]any{"context": map[string]any{"slot": 5}, "value": value})
	}
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.URL()}}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	st := newState(program, Scope{})
	silent := func(Event) {}
	take := func() snapshot {
		snap, err := read(ctx, c, program, chain.Confirmed, Scope{}, nil, st.same)
		require.NoError(t, err)
		return snap
	}

	list("first")
	_, err = st.applySnapshot(take(), silent)
	require.NoError(t, err)
	list("changed")
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		for i := range 100 {
			st.present(chain.Account{Key: solana.PublicKey{100, byte(i)}, Owner: program, Lamports: 1, Data: []byte{1}, Slot: 6}, silent)
			st.absent(solana.PublicKey{100, byte(i)}, 7, silent)
		}
	}()
	snap := take()
	<-changed
	require.Len(t, snap.accounts, 3)
	require.Equal(t, "changed", string(snap.accounts[0].Data))
	for _, a := range snap.accounts[1:] {
		require.Same(t, &st.entries[a.Key].data[0], &a.Data[0])
	}
}
