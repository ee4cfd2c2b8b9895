package records

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

func TestReadySigner(t *testing.T) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	s, err := NewSigner(key)
	require.NoError(t, err)
	require.Equal(t, key.PublicKey(), s.PublicKey())
	got, err := s.Sign([]byte("message"))
	require.NoError(t, err)
	want, err := key.Sign([]byte("message"))
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = NewSigner(key[:40])
	require.Error(t, err)
}
