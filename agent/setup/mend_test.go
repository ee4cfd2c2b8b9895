package setup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ran")
	command := "sudo printf x >>" + file + " && sudo echo done"
	var out strings.Builder
	require.NoError(t, Mend(t.Context(), &out, []string{"false", command, command, "printf y >>" + file}))
	ran, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "xy", string(ran), "each once, and one that fails keeps none from being run")
	require.Contains(t, out.String(), "$ false\n   it failed: exit status 1\n")
	require.Contains(t, out.String(), "done\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Mend(ctx, &out, []string{"true"}), context.Canceled)
}
