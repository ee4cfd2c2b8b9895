package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sessions have the environment that was named; a server with another host key than is known gets no session.
func TestSSH(t *testing.T) {
	sshd, err := exec.LookPath("sshd")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("SKIPPED: it takes root and OpenSSH's server: scripts/toolchain.sh peers")
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("SKIPPED: OpenSSH's client is missing: scripts/toolchain.sh ssh")
	}
	dir := t.TempDir()
	start := func(name string) *SSH {
		s, err := StartSSH(t.Context(), sshd, filepath.Join(dir, name), map[string]string{"NAME": name, "TEXT": "two words"})
		require.NoError(t, err)
		t.Cleanup(s.Stop)
		return s
	}
	one, two := start("one"), start("two")
	out, err := exec.CommandContext(t.Context(), ssh, append(one.Client(), `echo "$NAME $TEXT"`)...).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "one two words\n")
	for name, known := range map[string]*SSH{"right": two, "wrong": one} {
		config, err := two.HostConfig("rack", known)
		require.NoError(t, err)
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
		out, err := exec.CommandContext(t.Context(), ssh, "-F", file, "-o", "BatchMode=yes", "rack", "echo $NAME").CombinedOutput()
		if known == two {
			require.NoError(t, err, string(out))
			require.Equal(t, "two\n", string(out))
		} else {
			require.Error(t, err)
			require.Contains(t, string(out), "Host key verification failed")
		}
	}
}
