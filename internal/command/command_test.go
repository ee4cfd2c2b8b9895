package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

func TestLog(t *testing.T) {
	for _, json := range []bool{false, true} {
		log, err := Log("warn", json)
		require.NoError(t, err)
		require.Equal(t, zerolog.WarnLevel, log.GetLevel())
	}
	_, err := Log("loud", true)
	require.ErrorContains(t, err, `--log-level "loud"`)
}

func TestAFileIsNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	require.NoError(t, err)
	defer f.Close()
	require.False(t, OnTerminal(f))
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	require.True(t, OnTerminal(null), "a device of characters")
}
