package p2p

import (
	"context"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// Strangers are answered on public protocols only.
func TestPublicProtocols(t *testing.T) {
	a := newNode(t, func(c *Options) { c.Known = func(solana.PublicKey) bool { return false } })
	stranger := newNode(t)
	answer := func(context.Context, solana.PublicKey, string) (string, error) { return "answer", nil }
	open := Protocol{ID: "/gantry/test/public/1", Public: true}
	closed := Protocol{ID: "/gantry/test/closed/1"}
	Handle(a, open, answer)
	Handle(a, closed, answer)
	require.NoError(t, stranger.Connect(t.Context(), a.Self()))
	got, err := Call[string, string](t.Context(), stranger, a.Key(), open, "question")
	require.NoError(t, err)
	require.Equal(t, "answer", got)
	_, err = Call[string, string](t.Context(), stranger, a.Key(), closed, "question")
	require.True(t, IsCode(err, CodeRefused), "%v", err)
}
