package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/chain"
)

// A keypair file is encrypted, read where a keypair file is read, and written back as it was.
func TestEncryptedKeyFiles(t *testing.T) {
	dir := t.TempDir()
	plain, sealed, again := filepath.Join(dir, "id.json"), filepath.Join(dir, "id.age"), filepath.Join(dir, "again.json")
	key := testmarket.Key(t)
	require.NoError(t, chain.SaveKeypair(plain, key))
	passphrase := filepath.Join(dir, "passphrase")
	require.NoError(t, os.WriteFile(passphrase, []byte("a b c\n"), 0o600))
	run := func(code int, args ...string) (string, string) {
		t.Helper()
		var out, err bytes.Buffer
		require.Equal(t, code, cli.Run(t.Context(), cli.Streams{Out: &out, Err: &err}, append([]string{"key"}, args...)), "%v: %s", args, &err)
		return out.String(), err.String()
	}
	t.Setenv(chain.PassphraseVariable, passphrase)
	out, _ := run(cli.ExitDone, "encrypt", plain, sealed)
	require.Contains(t, out, key.PublicKey().String())
	raw, err := os.ReadFile(sealed)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(raw), "-----BEGIN AGE ENCRYPTED FILE-----\n"))
	info, err := os.Stat(sealed)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	run(cli.ExitDone, "decrypt", sealed, again)
	want, err := os.ReadFile(plain)
	require.NoError(t, err)
	got, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Equal(t, want, got)
	out, _ = run(cli.ExitDone, "address", plain)
	require.Equal(t, key.PublicKey().String()+"\n", out)

	_, said := run(cli.ExitRefused, "decrypt", plain, again)
	require.Contains(t, said, "exists already")
	require.NoError(t, os.WriteFile(passphrase, nil, 0o600))
	_, said = run(cli.ExitUsage, "address", sealed)
	require.Contains(t, said, "has no passphrase in its first line")
	_, said = run(cli.ExitUsage, "encrypt", plain)
	require.Contains(t, said, "NEW is missing")
}
