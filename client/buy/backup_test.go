package buy

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/purchase"
)

// Commands that begin at once use one key of the backups: a snapshot under another one could never be read.
func TestOneBackupKeyIsMade(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state")
	secrets, errs := make([][]byte, 8), make([]error, 8)
	made := make(chan Event, len(secrets))
	var ready, wg sync.WaitGroup
	ready.Add(len(secrets))
	for i := range secrets {
		f, err := purchase.Open(root, solana.Hash{1}, solana.PublicKey{2})
		require.NoError(t, err)
		b := &Buyer{folder: f, events: &sync.Mutex{}, o: Options{OnEvent: func(e Event) { made <- e }}}
		wg.Go(func() {
			ready.Done()
			ready.Wait()
			secrets[i], errs[i] = b.backupSecret(f)
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	for _, s := range secrets {
		require.Equal(t, secrets[0], s)
	}
	require.Len(t, secrets[0], volumeSecretBytes)
	require.Len(t, made, 1, "one command says that it has made the key")
}
