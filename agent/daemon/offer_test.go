package daemon

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The agent uses the GPUs while it is measured; other processes are not its own.
func TestOurs(t *testing.T) {
	require.True(t, ours(uint32(os.Getpid())))
	require.False(t, ours(uint32(os.Getppid())))
	require.False(t, ours(1<<31), "no such process")
}
