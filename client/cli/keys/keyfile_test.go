package keys_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/cli/keys"
	"github.com/gantry-market/gantry/client/service"
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
		require.Equal(t, code, command.Run(t.Context(), command.Streams{Out: &out, Err: &err}, append([]string{"key"}, args...), keys.Commands), "%v: %s", args, &err)
		return out.String(), err.String()
	}
	t.Setenv(chain.PassphraseVariable, passphrase)
	out, _ := run(service.CodeDone, "encrypt", plain, sealed)
	require.Contains(t, out, key.PublicKey().String())
	raw, err := os.ReadFile(sealed)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(raw), "-----BEGIN AGE ENCRYPTED FILE-----\n"))
	info, err := os.Stat(sealed)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	run(service.CodeDone, "decrypt", sealed, again)
	want, err := os.ReadFile(plain)
	require.NoError(t, err)
	got, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Equal(t, want, got)
	out, _ = run(service.CodeDone, "address", plain)
	require.Equal(t, key.PublicKey().String()+"\n", out)

	_, said := run(service.CodeRefused, "decrypt", plain, again)
	require.Contains(t, said, "exists already")
	require.NoError(t, os.WriteFile(passphrase, nil, 0o600))
	_, said = run(service.CodeUsage, "address", sealed)
	require.Contains(t, said, "has no passphrase in its first line")
	_, said = run(service.CodeUsage, "encrypt", plain)
	require.Contains(t, said, "NEW is missing")
}

// A person needs no other tool for keys: a new one, one that a wallet has exported, and either with a passphrase.
func TestKeysAreMadeAndTakenOver(t *testing.T) {
	dir := t.TempDir()
	passphrase := filepath.Join(dir, "passphrase")
	require.NoError(t, os.WriteFile(passphrase, []byte("a b c\n"), 0o600))
	t.Setenv(chain.PassphraseVariable, passphrase)
	run := func(code int, in string, args ...string) (string, string) {
		t.Helper()
		var out, err bytes.Buffer
		require.Equal(t, code, command.Run(t.Context(), command.Streams{In: strings.NewReader(in), Out: &out, Err: &err}, args, keys.Commands), "%v: %s", args, &err)
		return out.String(), err.String()
	}
	made := filepath.Join(dir, "made.json")
	out, _ := run(service.CodeDone, "", "key", "new", made)
	key, err := chain.LoadKeypair(made)
	require.NoError(t, err)
	require.Contains(t, out, key.PublicKey().String())
	info, err := os.Stat(made)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	_, said := run(service.CodeRefused, "", "key", "new", made)
	require.Contains(t, said, "exists already")

	again, err := os.ReadFile(made)
	require.NoError(t, err)
	for name, text := range map[string]string{"base58": key.String() + "\n", "json": string(again)} {
		path := filepath.Join(dir, name)
		run(service.CodeDone, text, "key", "import", path)
		got, err := chain.LoadKeypair(path)
		require.NoError(t, err)
		require.Equal(t, key, got, name)
	}
	other := testmarket.Key(t)
	mixed := append(append([]byte{}, key[:32]...), other[32:]...) // halves of two keys
	for _, bad := range []string{"", "nonsense", key.PublicKey().String(), solana.PrivateKey(mixed).String(), "[1,2,3]"} {
		_, said := run(service.CodeUsage, bad, "key", "import", filepath.Join(dir, "bad"))
		require.Contains(t, said, "that is not a secret key")
		if bad != "" {
			require.NotContains(t, said, bad)
		}
		require.NoFileExists(t, filepath.Join(dir, "bad"))
	}

	sealed := filepath.Join(dir, "sealed")
	run(service.CodeDone, key.String(), "key", "import", "--passphrase", sealed)
	raw, err := os.ReadFile(sealed)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(raw), "-----BEGIN AGE ENCRYPTED FILE-----\n"))
	got, err := chain.LoadKeypair(sealed)
	require.NoError(t, err)
	require.Equal(t, key, got)

	// Without a file it is the one that commands read.
	home := filepath.Join(dir, "home.json")
	run(service.CodeDone, "", "--keypair", home, "key", "new")
	require.FileExists(t, home)
}
