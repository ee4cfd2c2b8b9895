package shell

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/sdk/sshkeys"
)

// newKey is a key of a client, and its line for a job.
func newKey(t *testing.T) (ssh.Signer, string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromSigner(key)
	require.NoError(t, err)
	return signer, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
}

// serve serves one connection, and returns the client's end and the host key. ended is closed when the server has
// returned.
func serve(t *testing.T, keys ...string) (c net.Conn, host ssh.PublicKey, ended chan struct{}) {
	t.Helper()
	_, node, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	setup, err := NewSetup(node, [32]byte{1}, keys)
	require.NoError(t, err)
	raw, err := setup.PublicHostKey()
	require.NoError(t, err)
	host, err = ssh.ParsePublicKey(raw)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	c, err = net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	server, err := l.Accept()
	require.NoError(t, err)
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		_ = Serve(context.Background(), server, setup)
	}()
	t.Cleanup(func() { c.Close(); waitFor(t, ended) })
	return c, host, ended
}

func waitFor(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("did not end")
	}
}

// client logs in.
func client(t *testing.T) (*ssh.Client, chan struct{}) {
	t.Helper()
	key, line := newKey(t)
	c, host, ended := serve(t, line)
	conn, channels, requests, err := ssh.NewClientConn(c, "lease", &ssh.ClientConfig{
		User: "any", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.FixedHostKey(host),
	})
	require.NoError(t, err)
	return ssh.NewClient(conn, channels, requests), ended
}

func opened(t *testing.T, c *ssh.Client) *ssh.Session {
	t.Helper()
	s, err := c.NewSession()
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// OpenSSH's clients name ChaCha20 first.
func TestAESIsUsedWhereTheProcessorKnowsIt(t *testing.T) {
	if len(ciphers()) == len(ssh.SupportedAlgorithms().Ciphers) {
		t.Skip("SKIPPED: this processor has no instructions for AES")
	}
	key, line := newKey(t)
	c, host, _ := serve(t, line)
	config := &ssh.ClientConfig{Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.FixedHostKey(host)}
	config.Ciphers = []string{ssh.CipherChaCha20Poly1305, ssh.CipherAES128GCM, ssh.CipherAES256CTR}
	conn, _, _, err := ssh.NewClientConn(c, "lease", config)
	require.NoError(t, err)
	used, ok := conn.(ssh.AlgorithmsConnMetadata)
	require.True(t, ok)
	require.Equal(t, ssh.CipherAES128GCM, used.Algorithms().Write.Cipher)
	require.Equal(t, ssh.CipherAES128GCM, used.Algorithms().Read.Cipher)
}

func TestOtherKeysAreRefused(t *testing.T) {
	_, named := newKey(t)
	stranger, _ := newKey(t)
	c, host, ended := serve(t, named)
	_, _, _, err := ssh.NewClientConn(c, "lease", &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(stranger), ssh.Password("x")}, HostKeyCallback: ssh.FixedHostKey(host),
	})
	require.ErrorContains(t, err, "unable to authenticate")
	c.Close()
	waitFor(t, ended)
}

func TestKeysOfAJobAreChecked(t *testing.T) {
	_, node, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	_, line := newKey(t)
	for _, bad := range []string{"", "ssh-rsa AAAA", `command="x" ` + line, line + "\n" + line} {
		_, err := NewSetup(node, [32]byte{}, []string{line, bad})
		require.ErrorIs(t, err, sshkeys.ErrKeys, bad)
	}
	a, err := NewSetup(node, [32]byte{1}, nil)
	require.NoError(t, err)
	b, err := NewSetup(node, [32]byte{2}, nil)
	require.NoError(t, err)
	require.NotEqual(t, a.HostKey, b.HostKey, "each lease has a host key of its own")
}

func TestCommandsHaveInputOutputAndExit(t *testing.T) {
	c, _ := client(t)
	s := opened(t, c)
	require.NoError(t, s.Setenv("GIVEN", "by the client"))
	s.Stdin = strings.NewReader("through")
	var out, errs strings.Builder
	s.Stdout, s.Stderr = &out, &errs
	err := s.Run(`cat; printf ' %s' "$GIVEN"; echo wrong >&2; exit 7`)
	var exit *ssh.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 7, exit.ExitStatus())
	require.Equal(t, "through by the client", out.String())
	require.Equal(t, "wrong\n", errs.String())
	require.Error(t, s.Start("true"), "one command a session")
}

func TestWordsWithoutAShell(t *testing.T) {
	for line, want := range map[string][]string{
		"ls -l":                            {"ls", "-l"},
		` printf '%s|' 'a b'  '$HOME' '' `: {"printf", "%s|", "a b", "$HOME", ""},
		`echo 'it'\''s' a\ b`:              {"echo", "it's", "a b"},
	} {
		got, err := words(line)
		require.NoError(t, err, line)
		require.Equal(t, want, got)
	}
	for _, line := range []string{"", "  ", "''", "echo 'x", `echo \`, "a && b", "echo $HOME", "a > b"} {
		_, err := words(line)
		require.Error(t, err, line)
	}
}

// What is not there and what may not be executed have the statuses that shells give them.
func TestStatusOfWhatWasNotStarted(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(data, nil, 0o600))
	for name, want := range map[string]uint32{data: 126, data + "-missing": 127, "gantry-no-such-command": 127} {
		require.Equal(t, want, statusOf(exec.Command(name).Start()), name)
	}
}

func TestMuchOutputArrivesWhole(t *testing.T) {
	c, _ := client(t)
	for _, terminal := range []bool{false, true} {
		s := opened(t, c)
		if terminal {
			require.NoError(t, s.RequestPty("xterm", 24, 80, nil))
		}
		out, err := s.Output("head -c 3000000 /dev/zero | tr '\\0' x; exit 0")
		require.NoError(t, err)
		require.Len(t, out, 3000000)
	}
}

func TestATerminalHasASizeThatChanges(t *testing.T) {
	c, _ := client(t)
	s := opened(t, c)
	require.NoError(t, s.RequestPty("vt220", 31, 97, nil))
	in, err := s.StdinPipe()
	require.NoError(t, err)
	out, err := s.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.Shell())
	var seen strings.Builder
	expect := func(text string) {
		t.Helper()
		buf := make([]byte, 1024)
		for !strings.Contains(seen.String(), text) {
			n, err := out.Read(buf)
			seen.Write(buf[:n])
			require.NoError(t, err, seen.String())
		}
	}
	_, err = io.WriteString(in, "stty -echo; stty size; echo $TERM; test -t 0 && echo terminal\n")
	require.NoError(t, err)
	expect("31 97")
	expect("vt220")
	require.NoError(t, s.WindowChange(40, 120))
	_, err = io.WriteString(in, "stty size\n")
	require.NoError(t, err)
	expect("40 120")
	_, err = io.WriteString(in, "exit 3\n")
	require.NoError(t, err)
	var exit *ssh.ExitError
	require.ErrorAs(t, s.Wait(), &exit)
	require.Equal(t, 3, exit.ExitStatus())
}

func TestSignalsReachTheCommand(t *testing.T) {
	c, _ := client(t)
	s := opened(t, c)
	out, err := s.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.Start(`trap 'echo caught; exit 4' USR1; echo ready; while :; do sleep 0.05; done`))
	buf := make([]byte, 64)
	n, err := out.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "ready\n", string(buf[:n]))
	require.NoError(t, s.Signal(ssh.SIGUSR1))
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Equal(t, "caught\n", string(rest))

	s = opened(t, c)
	require.NoError(t, s.Start("sleep 1000"))
	require.NoError(t, s.Signal(ssh.SIGKILL))
	var exit *ssh.ExitError
	require.ErrorAs(t, s.Wait(), &exit)
	require.Equal(t, "KILL", exit.Signal())
}

// gone reports whether a process has ended.
func gone(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(raw), ") Z ")
}

func TestACommandEndsWithItsConnection(t *testing.T) {
	for _, c := range []struct {
		name, line string
		terminal   bool
	}{
		{"plain", `echo $$; sleep 1000; echo`, false},
		{"child", `sleep 1000 & echo $!; wait`, false},
		{"stubborn", `trap '' HUP TERM; echo $$; while :; do sleep 0.1; done`, false},
		{"terminal", `echo $$; sleep 1000; echo`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, ended := client(t)
			s := opened(t, conn)
			if c.terminal {
				require.NoError(t, s.RequestPty("xterm", 24, 80, nil))
			}
			out, err := s.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, s.Start(c.line))
			var pid int
			_, err = fmt.Fscanln(out, &pid)
			require.NoError(t, err)
			require.False(t, gone(pid))
			conn.Close()
			waitFor(t, ended)
			require.Eventually(t, func() bool { return gone(pid) }, time.Minute, 10*time.Millisecond)
		})
	}
}

// What a command leaves behind deliberately goes on, and holds neither the session nor the connection up.
func TestWhatLeftTheSessionGoesOn(t *testing.T) {
	conn, ended := client(t)
	s := opened(t, conn)
	out, err := s.Output(`setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $!`)
	require.NoError(t, err)
	var pid int
	_, err = fmt.Sscan(string(out), &pid)
	require.NoError(t, err)
	defer syscall.Kill(pid, syscall.SIGKILL)
	conn.Close()
	waitFor(t, ended)
	require.False(t, gone(pid))
}

// OpenSSH's scp takes a missing exit status for a failure.
func TestServingFilesEndsWithAStatus(t *testing.T) {
	c, _ := client(t)
	channel, requests, err := c.OpenChannel("session", nil)
	require.NoError(t, err)
	ok, err := channel.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{"sftp"}))
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, channel.CloseWrite())
	r := <-requests
	require.NotNil(t, r)
	require.Equal(t, "exit-status", r.Type)
	require.Equal(t, []byte{0, 0, 0, 0}, r.Payload)
}

func TestFilesGoBothWays(t *testing.T) {
	c, _ := client(t)
	f, err := sftp.NewClient(c)
	require.NoError(t, err)
	defer f.Close()
	path := filepath.Join(t.TempDir(), "x")
	w, err := f.Create(path)
	require.NoError(t, err)
	content := make([]byte, 1<<20)
	_, _ = rand.Read(content)
	_, err = w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, content, got)
	r, err := f.Open(path)
	require.NoError(t, err)
	got, err = io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, content, got)
}

// echo answers each connection with its input.
func echo(t *testing.T, l net.Listener) {
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
}

func echoed(t *testing.T, c net.Conn, text string) {
	t.Helper()
	defer c.Close()
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
	require.NoError(t, c.(interface{ CloseWrite() error }).CloseWrite())
	raw, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, text, string(raw))
}

func TestForwards(t *testing.T) {
	c, _ := client(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	echo(t, l)
	to, err := c.Dial("tcp", fmt.Sprintf("localhost:%d", l.Addr().(*net.TCPAddr).Port))
	require.NoError(t, err)
	echoed(t, to, "to the container")

	path := filepath.Join(t.TempDir(), "s")
	lu, err := net.Listen("unix", path)
	require.NoError(t, err)
	echo(t, lu)
	to, err = c.Dial("unix", path)
	require.NoError(t, err)
	echoed(t, to, "to a socket")

	back, err := c.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	echo(t, back)
	from, err := net.Dial("tcp", back.Addr().String())
	require.NoError(t, err)
	echoed(t, from, "from the container")
	require.NoError(t, back.Close())
	_, err = net.Dial("tcp", back.Addr().String())
	require.Error(t, err)

	_, err = c.Dial("tcp", "127.0.0.1:1")
	require.ErrorContains(t, err, "refused")
}

func TestChannelsAreBounded(t *testing.T) {
	c, _ := client(t)
	for i := range maxChannels {
		_, err := c.NewSession()
		require.NoError(t, err, i)
	}
	_, err := c.NewSession()
	require.ErrorContains(t, err, "at most 64 channels")
}

// A server that cannot become who it should be does nothing as somebody else.
func TestAShellOfAUserThatIsNotThere(t *testing.T) {
	key, line := newKey(t)
	_, node, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	setup, err := NewSetup(node, [32]byte{1}, []string{line})
	require.NoError(t, err)
	setup.User = "no-such-user"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	customer, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	server, err := l.Accept()
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = Serve(context.Background(), server, setup)
	}()
	conn, channels, requests, err := ssh.NewClientConn(customer, "lease", &ssh.ClientConfig{
		Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	require.NoError(t, err)
	c := ssh.NewClient(conn, channels, requests)
	_, err = c.NewSession()
	var no *ssh.OpenChannelError
	require.ErrorAs(t, err, &no)
	require.Equal(t, `the user "no-such-user" is not in the container's /etc/passwd`, no.Message)
	require.Equal(t, ssh.Prohibited, no.Reason)
	_, err = c.Listen("tcp", "127.0.0.1:0")
	require.Error(t, err)
	_, err = c.Dial("tcp", "127.0.0.1:1")
	require.ErrorContains(t, err, "no-such-user")
	require.NoError(t, c.Close())
	waitFor(t, ended)
}

func TestAStreamBeginsWithItsSetup(t *testing.T) {
	_, line := newKey(t)
	_, node, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	setup, err := NewSetup(node, [32]byte{}, []string{line})
	require.NoError(t, err)
	raw, err := setup.Line()
	require.NoError(t, err)
	server, customer := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serveStream(context.Background(), server, server) }()
	_, err = customer.Write(raw)
	require.NoError(t, err)
	banner := make([]byte, len("SSH-2.0-gantry"))
	_, err = io.ReadFull(customer, banner)
	require.NoError(t, err)
	require.Equal(t, "SSH-2.0-gantry", string(banner))
	customer.Close()
	require.Error(t, <-ended)
	for _, bad := range []string{"", "{}\n", "x\n", strings.Repeat("x", maxSetup+1) + "\n"} {
		require.Error(t, serveStream(context.Background(), io.NopCloser(strings.NewReader(bad)), os.Stderr), len(bad))
	}
}
