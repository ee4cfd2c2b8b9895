package secret

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretsDiffer(t *testing.T) {
	one, err := New("gantry_")
	require.NoError(t, err)
	another, err := New("gantry_")
	require.NoError(t, err)
	require.Regexp(t, `^gantry_[A-Za-z0-9_-]{43}$`, one)
	require.NotEqual(t, one, another)
	require.Equal(t, Hash(one), Hash(one))
	require.NotEqual(t, Hash(one), Hash(another))
}
