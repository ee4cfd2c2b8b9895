package swtpm_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-tpm/tpm2"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/tpm/swtpm"
)

func TestUnavailable(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	require.ErrorIs(t, swtpm.Available(), swtpm.ErrUnavailable)
	ca, err := swtpm.NewCA(t.TempDir())
	require.NoError(t, err)
	_, err = swtpm.Start(t.Context(), ca, t.TempDir())
	require.ErrorIs(t, err, swtpm.ErrUnavailable)
}

func TestCA(t *testing.T) {
	_, err := swtpm.NewCA(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
	spaced := filepath.Join(t.TempDir(), "a b")
	require.NoError(t, os.Mkdir(spaced, 0o700))
	_, err = swtpm.NewCA(spaced)
	require.Error(t, err)
	ca, err := swtpm.NewCA(t.TempDir())
	require.NoError(t, err)
	_, err = ca.Roots()
	require.ErrorIs(t, err, os.ErrNotExist, "no TPM was made yet")
}

func TestStartCloseStart(t *testing.T) {
	if err := swtpm.Available(); err != nil {
		t.Skipf("needs a software TPM: %v", err)
	}
	dir, err := os.MkdirTemp("", "gantry-tpm")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	ca, err := swtpm.NewCA(dir)
	require.NoError(t, err)
	_, err = swtpm.Start(t.Context(), ca, filepath.Join(dir, strings.Repeat("x", 100)))
	require.ErrorContains(t, err, "at most 107")

	ek := func() []byte {
		machine, err := swtpm.Start(t.Context(), ca, dir)
		require.NoError(t, err)
		c, err := machine.Open()
		require.NoError(t, err)
		reply, err := tpm2.ReadPublic{ObjectHandle: tpm2.TPMHandle(0x81010001)}.Execute(c)
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.NoError(t, machine.Close())
		require.NoError(t, machine.Close(), "closing twice")
		return reply.Name.Buffer
	}
	require.Equal(t, ek(), ek(), "the same TPM after a restart")
	roots, err := ca.Roots()
	require.NoError(t, err)
	require.NotNil(t, roots)
}

// A process that dies without closing its TPM leaves none behind.
func TestEndsWithItsParent(t *testing.T) {
	const variable = "GANTRY_SWTPM_CHILD"
	if dir := os.Getenv(variable); dir != "" {
		ca, err := swtpm.NewCA(dir)
		require.NoError(t, err)
		machine, err := swtpm.Start(t.Context(), ca, dir)
		require.NoError(t, err)
		_, err = os.Stdout.WriteString("listening on " + machine.Socket() + "\n")
		require.NoError(t, err)
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the end
		os.Exit(3)
	}
	if err := swtpm.Available(); err != nil {
		t.Skipf("needs a software TPM: %v", err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can do that")
	}
	dir, err := os.MkdirTemp("", "gantry-tpm")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	cmd := exec.Command(os.Args[0], "-test.run", "^TestEndsWithItsParent$")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	socket := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	conn, err := net.Dial("unix", socket)
	require.NoError(t, err)
	require.NoError(t, stdin.Close())
	require.Error(t, cmd.Wait(), "it exits with 3")
	// The connection ends when the TPM does.
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, conn.Close())
	// A process that is killed closes what it has open in any order: the socket may go after the connection.
	require.Eventually(t, func() bool {
		conn, err := net.Dial("unix", socket)
		return err != nil || conn.Close() != nil
	}, time.Minute, 5*time.Millisecond, "nobody listens any more")
}
