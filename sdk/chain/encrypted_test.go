package chain

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// quick is a work factor for tests.
const quick = 8

// passphraseFile writes a passphrase to a file of its own.
func passphraseFile(t *testing.T, content string) string {
	path := filepath.Join(t.TempDir(), "passphrase")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// An encrypted file is opened with its passphrase, from each of the places that it can come from, in either form of age, and
// with no other.
func TestEncryptedKeypair(t *testing.T) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	text, err := encryptKeypair(key, "correct horse", quick)
	require.NoError(t, err)
	require.NotContains(t, string(text), key.PublicKey().String())
	binary, err := io.ReadAll(armor.NewReader(bytes.NewReader(text)))
	require.NoError(t, err)
	dir := t.TempDir()
	for name, raw := range map[string][]byte{"text": text, "binary": binary} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, raw, 0o600))
		load := func() error {
			got, err := LoadKeypair(path)
			if err == nil {
				require.Equal(t, key, got)
			}
			return err
		}
		t.Setenv(PassphraseVariable, "")
		t.Setenv("CREDENTIALS_DIRECTORY", "")
		t.Setenv(PassphraseVariable, passphraseFile(t, "correct horse\n"))
		require.NoError(t, load())
		t.Setenv(PassphraseVariable, passphraseFile(t, "correct horse\r\nand more"))
		require.NoError(t, load())
		for _, wrong := range []string{"correct", "", "\ncorrect horse", string(make([]byte, maxPassphrase+1))} {
			t.Setenv(PassphraseVariable, passphraseFile(t, wrong))
			require.ErrorIs(t, load(), ErrPassphrase, "%.20q", wrong)
		}
		t.Setenv(PassphraseVariable, "/nowhere")
		require.ErrorIs(t, load(), ErrPassphrase)

		t.Setenv(PassphraseVariable, "")
		credentials := t.TempDir()
		t.Setenv("CREDENTIALS_DIRECTORY", credentials)
		require.NoError(t, os.WriteFile(filepath.Join(credentials, PassphraseCredential), []byte("correct horse"), 0o400))
		require.NoError(t, load())
	}

	t.Setenv(PassphraseVariable, passphraseFile(t, "correct horse"))
	for i := range binary {
		damaged := bytes.Clone(binary)
		damaged[i] ^= 1
		_, err := readKeypair("k", damaged)
		require.Error(t, err, "byte %d", i)
		require.NotContains(t, err.Error(), "correct horse")
	}
	_, err = readKeypair("k", binary[:len(binary)-1])
	require.ErrorIs(t, err, ErrKeypairFormat)
}

// What is encrypted and is no keypair, or is encrypted in another way, is refused; so is work without end.
func TestOtherEncryptedFiles(t *testing.T) {
	t.Setenv(PassphraseVariable, passphraseFile(t, "x"))
	seal := func(content string, to age.Recipient) []byte {
		var out bytes.Buffer
		w, err := age.Encrypt(&out, to)
		require.NoError(t, err)
		_, err = io.WriteString(w, content)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	scrypt, err := age.NewScryptRecipient("x")
	require.NoError(t, err)
	scrypt.SetWorkFactor(quick)
	_, err = readKeypair("k", seal("[1,2,3]", scrypt))
	require.ErrorIs(t, err, ErrKeypairFormat)
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	_, err = readKeypair("k", seal("[1,2,3]", identity.Recipient()))
	require.ErrorIs(t, err, ErrPassphrase)

	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	raw, err := encryptKeypair(key, "x", quick)
	require.NoError(t, err)
	header, err := io.ReadAll(armor.NewReader(bytes.NewReader(raw)))
	require.NoError(t, err)
	line := bytes.Index(header, []byte(" 8\n"))
	require.Positive(t, line)
	heavy := append(append(bytes.Clone(header[:line]), " 30\n"...), header[line+3:]...)
	_, err = readKeypair("k", heavy)
	require.Error(t, err)

	_, err = EncryptKeypair(key, "")
	require.ErrorIs(t, err, ErrPassphrase)
	path := filepath.Join(t.TempDir(), "k.age")
	require.ErrorIs(t, SaveEncrypted(path, key, ""), ErrPassphrase)
	require.NoFileExists(t, path)
	require.NoError(t, saveKeypair(path, raw))
	require.ErrorIs(t, saveKeypair(path, raw), ErrKeypairExists)
	got, err := LoadKeypair(path)
	require.NoError(t, err)
	require.Equal(t, key, got)
}
