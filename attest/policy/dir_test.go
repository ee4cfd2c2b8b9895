package policy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
)

func TestDir(t *testing.T) {
	dir := t.TempDir()
	d := Dir(filepath.Join(dir, "collateral"))
	require.NoError(t, os.Mkdir(string(d), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("x"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(string(d), "nvgpu%2Fcrl%2F0a"), []byte("list"), 0o600))
	data, err := d.Get("nvgpu/crl/0a")
	require.NoError(t, err)
	require.Equal(t, "list", string(data))
	for _, key := range []string{"other", "", ".", "..", "../secret", "nvgpu"} {
		_, err := d.Get(key)
		require.ErrorIs(t, err, attest.ErrNoCollateral, key)
	}
	require.NoError(t, os.WriteFile(filepath.Join(string(d), "big"), make([]byte, bundle.MaxItem+1), 0o600))
	_, err = d.Get("big")
	require.ErrorContains(t, err, "larger")
	require.NoError(t, os.Mkdir(filepath.Join(string(d), "folder"), 0o700))
	_, err = d.Get("folder")
	require.Error(t, err)
	require.NotErrorIs(t, err, attest.ErrNoCollateral)
}
