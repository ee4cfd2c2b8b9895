package records

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

func TestAnAnswerIsOneOfOneDispute(t *testing.T) {
	key := solana.NewWallet().PrivateKey
	signer, err := NewSigner(key)
	require.NoError(t, err)
	a := Answer{Domain: Domain{1}, Lease: solana.PublicKey{2}, OpenedAt: 3, WrittenAt: 4, Text: Hash{5}}
	sig, err := a.Sign(signer)
	require.NoError(t, err)
	require.NoError(t, a.Verify(key.PublicKey(), sig))
	for name, change := range map[string]func(*Answer){
		"domain": func(a *Answer) { a.Domain[0]++ }, "lease": func(a *Answer) { a.Lease[0]++ }, "dispute": func(a *Answer) { a.OpenedAt++ },
		"time": func(a *Answer) { a.WrittenAt++ }, "text": func(a *Answer) { a.Text[0]++ },
	} {
		other := a
		change(&other)
		require.ErrorIs(t, other.Verify(key.PublicKey(), sig), ErrSignature, name)
	}
	require.ErrorIs(t, a.Verify(solana.NewWallet().PublicKey(), sig), ErrSignature)
}
