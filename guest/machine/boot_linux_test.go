package machine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindPort(t *testing.T) {
	dir := t.TempDir()
	for device, name := range map[string]string{"vport1p1": "other\n", "vport2p1": "gantry.control\n", "vport3p1": ""} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, device), 0o700))
		if name != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, device, "name"), []byte(name), 0o600))
		}
	}
	device, err := findPort(dir, "gantry.control")
	require.NoError(t, err)
	require.Equal(t, "vport2p1", device)
	device, err = findPort(dir, "gantry")
	require.NoError(t, err)
	require.Empty(t, device)
}
