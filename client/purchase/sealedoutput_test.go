package purchase

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// Keys of sealed output are kept for each attempt, readable by their owner alone, and found without the order.
func TestOutputKeys(t *testing.T) {
	f := &Folder{dir: t.TempDir()}
	order, lease := solana.PublicKey{1}, solana.PublicKey{2}
	require.NoError(t, os.MkdirAll(filepath.Join(f.dir, orders, order.String()), 0o700))
	keys, err := f.OutputKeys(order, lease)
	require.NoError(t, err)
	require.Empty(t, keys)
	require.NoError(t, f.AddOutputKey(order, lease, []byte{1, 2}))
	require.NoError(t, f.AddOutputKey(order, lease, []byte{3, 4}))
	for _, of := range []solana.PublicKey{order, {}} {
		keys, err = f.OutputKeys(of, lease)
		require.NoError(t, err)
		require.Equal(t, [][]byte{{1, 2}, {3, 4}}, keys)
	}
	info, err := os.Stat(filepath.Join(f.dir, orders, order.String(), fileOutputKeys(lease)))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	keys, err = f.OutputKeys(solana.PublicKey{}, solana.PublicKey{3})
	require.NoError(t, err)
	require.Empty(t, keys)
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, orders, order.String(), fileOutputKeys(lease)), []byte("zz\n"), 0o600))
	_, err = f.OutputKeys(order, lease)
	require.ErrorIs(t, err, ErrRecord)
}
