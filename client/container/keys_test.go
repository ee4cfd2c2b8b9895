package container

import (
	"crypto/ed25519"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Commands that begin at once make one key, which only its owner reads.
func TestOneKeyIsMade(t *testing.T) {
	root := t.TempDir()
	var wg sync.WaitGroup
	lines, errs := make([]string, 8), make([]error, 8)
	for i := range lines {
		wg.Go(func() {
			k, err := OpenKeys(root)
			if err != nil {
				errs[i] = err
				return
			}
			own, err := k.Own()
			if errs[i] = err; err == nil {
				lines[i] = Line(own.PublicKey())
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.NotEmpty(t, lines[0])
	for _, l := range lines {
		require.Equal(t, lines[0], l)
	}
	k, err := OpenKeys(root)
	require.NoError(t, err)
	path, err := k.File()
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
}

// OpenSSH's own file format holds the host key of a lease under its alias.
func TestHostKeysAreLearned(t *testing.T) {
	k, err := OpenKeys(t.TempDir())
	require.NoError(t, err)
	pub, _, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	host, err := ssh.NewPublicKey(pub)
	require.NoError(t, err)
	lease := solana.PublicKey{7}
	require.NoError(t, k.Learn(lease, host))
	check, err := knownhosts.New(k.KnownHosts(lease))
	require.NoError(t, err)
	require.NoError(t, check(Alias(lease)+":22", &alias{}, host))
}

type alias struct{}

func (*alias) Network() string { return "tcp" }
func (*alias) String() string  { return "192.0.2.1:22" }

// A shell gives a quoted command to a program as it was.
func TestCommandsAreQuoted(t *testing.T) {
	words := []string{"printf", "%s|", "plain", "", "two words", "it's", `"$HOME"`, "a;b", "*", "new\nline", "`id`", "\\"}
	out, err := exec.Command("sh", "-c", Quote(words)).Output()
	require.NoError(t, err)
	require.Equal(t, "plain||two words|it's|\"$HOME\"|a;b|*|new\nline|`id`|\\|", string(out))
	require.Equal(t, "nvidia-smi -L", Quote([]string{"nvidia-smi", "-L"}))
}
