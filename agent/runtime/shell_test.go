package runtime

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/pkg/sftp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	sshserver "github.com/gantry-market/gantry/agent/shell"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

// shells is a runtime with containers that have a shell, and a job in one of them.
func shells(t *testing.T) *Process {
	t.Helper()
	p, _ := containers(t)
	p.sandbox.Shell = imagetest.Program(t, "github.com/gantry-market/gantry/agent/cmd/gantry-shell")
	_, image := imagetest.Serve(t, "amd64", v1.Config{Env: []string{"FROM=image", "LD_LIBRARY_PATH=/opt/lib", "LD_PRELOAD=/opt/malloc.so"}}, imagetest.Layer(t, imagetest.Busybox(t)...))
	_, err := p.Start(background(t), Spec{
		LeaseID: "l", Image: image, Env: map[string]string{"MINE": "yes"},
		Command: []string{"/bin/sh", "-c", "trap 'exit 5' TERM; touch /job-runs; while :; do sleep 0.1; done"},
	})
	require.NoError(t, err)
	return p
}

// login connects with the container. ended gets what Shell returns.
func login(t *testing.T, p *Process) (c *ssh.Client, ended chan error) {
	t.Helper()
	return loginAs(t, p, "")
}

// loginAs is login as another user of the container.
func loginAs(t *testing.T, p *Process, user string) (c *ssh.Client, ended chan error) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromSigner(key)
	require.NoError(t, err)
	setup, err := sshserver.NewSetup(key, [32]byte{1}, []string{strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))})
	require.NoError(t, err)
	setup.User = user
	line, err := setup.Line()
	require.NoError(t, err)
	customer, node := net.Pipe()
	ended = make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		err := p.Shell(ctx, "l", user != "", line, node)
		node.Close()
		ended <- err
	}()
	t.Cleanup(func() { cancel(); customer.Close() })
	conn, channels, requests, err := ssh.NewClientConn(customer, "lease", &ssh.ClientConfig{
		Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	require.NoError(t, err)
	return ssh.NewClient(conn, channels, requests), ended
}

func inContainer(t *testing.T, c *ssh.Client, line string) (string, error) {
	t.Helper()
	s, err := c.NewSession()
	require.NoError(t, err)
	defer s.Close()
	out, err := s.CombinedOutput(line)
	return string(out), err
}

// A customer enters as whoever it names, also where the image has a user: root may do there what root of the image may.
func TestAShellAsAnotherUser(t *testing.T) {
	p := shells(t)
	files := append(imagetest.Busybox(t), imagetest.File("etc/passwd", "root:x:0:0::/root:/bin/sh\nml:x:1000:1000::/home/ml:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"),
		imagetest.File("etc/group", "root:x:0:\nml:x:1000:\nteam:x:2000:ml\n"), folder("root"), folder("home/ml"))
	_, image := imagetest.Serve(t, "amd64", v1.Config{User: "ml"}, imagetest.Layer(t, files...))
	_, err := p.Stop(background(t), "l", time.Second)
	require.NoError(t, err)
	removeJob(t, p, "l")
	_, err = p.Start(background(t), Spec{LeaseID: "l", Image: image, Command: []string{"/bin/sh", "-c", "while :; do sleep 0.1; done"}})
	require.NoError(t, err)
	const who = "id -u; id -g; busybox id -G; echo $HOME"
	for user, want := range map[string]string{
		"": "1000\n1000\n1000 2000\n/home/ml\n", "root": "0\n0\n0\n/root\n", "ml": "1000\n1000\n1000 2000\n/home/ml\n", "1234:2000": "1234\n2000\n2000\n/\n",
	} {
		c, _ := loginAs(t, p, user)
		out, err := inContainer(t, c, who)
		require.NoError(t, err)
		require.Equal(t, want, out, "%q", user)
	}
	c, _ := loginAs(t, p, "root")
	out, err := inContainer(t, c, "touch /etc/mine && busybox chown 1000 /etc/mine && ls /etc/mine")
	require.NoError(t, err, out)
	c, _ = loginAs(t, p, "nobody")
	out, err = inContainer(t, c, "touch /etc/other")
	require.Error(t, err, out)
	c, _ = loginAs(t, p, "jovyan")
	_, err = c.NewSession()
	var no *ssh.OpenChannelError
	require.ErrorAs(t, err, &no)
	require.Equal(t, `the user "jovyan" is not in the container's /etc/passwd`, no.Message)
}

func TestAShellInAContainer(t *testing.T) {
	p := shells(t)
	begin := time.Now()
	c, ended := login(t, p)
	out, err := inContainer(t, c, "id -u; echo $FROM $MINE $GANTRY_LEASE; busybox env | busybox grep ^LD_ | busybox sort; cat /proc/version; ls -d /job-runs; exit 7")
	t.Logf("from the request to the end of the first command: %v", time.Since(begin))
	var exit *ssh.ExitError
	require.ErrorAs(t, err, &exit, out)
	require.Equal(t, 7, exit.ExitStatus())
	require.Contains(t, out, "0\nimage yes l\nLD_LIBRARY_PATH=/opt/lib\nLD_PRELOAD=/opt/malloc.so\n", "the image's environment, with what it says to its loader")
	require.Contains(t, out, "gvisor")
	require.Contains(t, out, "/job-runs")

	s, err := c.NewSession()
	require.NoError(t, err)
	require.NoError(t, s.RequestPty("xterm", 30, 90, nil))
	terminal, err := s.CombinedOutput("stty size; test -t 0 && echo terminal")
	require.NoError(t, err)
	require.Equal(t, "30 90\r\nterminal\r\n", string(terminal))

	f, err := sftp.NewClient(c)
	require.NoError(t, err)
	content := make([]byte, 8<<20)
	_, _ = rand.Read(content)
	begin = time.Now()
	w, err := f.Create("/there")
	require.NoError(t, err)
	_, err = w.ReadFrom(strings.NewReader(string(content)))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	t.Logf("8 MiB into the container: %v", time.Since(begin))
	out, err = inContainer(t, c, "sha256sum /there")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(content)), strings.Fields(out)[0])

	_, err = inContainer(t, c, "mkdir -p /www && echo page > /www/index.html && httpd -p 127.0.0.1:8080 -h /www")
	require.NoError(t, err)
	web, err := c.Dial("tcp", "localhost:8080")
	require.NoError(t, err)
	_, err = io.WriteString(web, "GET / HTTP/1.0\r\n\r\n")
	require.NoError(t, err)
	page, err := io.ReadAll(web)
	require.NoError(t, err)
	require.Contains(t, string(page), "page")
	c.Close()
	require.NoError(t, <-ended)
}

// Ports carry whatever passes both ways, to programs that listen on the container's loopback interface alone; those that the setup does not name
// stay closed.
func TestPortsOfAContainer(t *testing.T) {
	p := shells(t)
	c, _ := login(t, p)
	_, err := inContainer(t, c, "mkdir -p /www && head -c 20000000 /dev/urandom >/www/large && httpd -p 127.0.0.1:8080 -h /www && "+
		"{ nc -l -p 9000 >/received </dev/null 2>/dev/null & }")
	require.NoError(t, err)
	node, customer := net.Pipe()
	ended := make(chan error, 1)
	line, err := sshserver.Setup{Ports: []uint16{8080, 9000, 9001}}.Line()
	require.NoError(t, err)
	go func() { ended <- p.Shell(context.Background(), "l", false, line, node); node.Close() }()
	s, err := tunnel.NewSession(customer, tunnel.NewMemory(64<<20), tunnel.MaxWindow)
	require.NoError(t, err)
	sum := func(path string) string {
		out, err := inContainer(t, c, "sha256sum "+path)
		require.NoError(t, err, out)
		return strings.Fields(out)[0]
	}

	web, err := s.Dial(background(t), 8080)
	require.NoError(t, err)
	_, err = io.WriteString(web, "GET /large HTTP/1.0\r\n\r\n")
	require.NoError(t, err)
	page, err := io.ReadAll(web)
	require.NoError(t, err)
	_, body, _ := strings.Cut(string(page), "\r\n\r\n")
	require.Equal(t, sum("/www/large"), fmt.Sprintf("%x", sha256.Sum256([]byte(body))))

	up, err := s.Dial(background(t), 9000)
	require.NoError(t, err)
	_, err = io.WriteString(up, body)
	require.NoError(t, err)
	require.NoError(t, up.(interface{ CloseWrite() error }).CloseWrite())
	_, err = io.ReadAll(up)
	require.NoError(t, err)
	// The program has nothing to say and ends its side at once: it may still write what it was sent.
	require.Eventually(t, func() bool { return sum("/www/large") == sum("/received") }, 30*time.Second, 100*time.Millisecond)

	_, err = s.Dial(background(t), 9001)
	require.ErrorIs(t, err, tunnel.ErrNothingListens)
	_, err = s.Dial(background(t), 22)
	require.ErrorIs(t, err, tunnel.ErrNotGranted)
	require.NoError(t, s.Close())
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the stream outlives its session")
	}
}

// What a connection has started ends with it; the job goes on.
func TestAShellsProcessesEndWithItsConnection(t *testing.T) {
	p := shells(t)
	first, ended := login(t, p)
	s, err := first.NewSession()
	require.NoError(t, err)
	require.NoError(t, s.Start("sleep 98765"))
	second, _ := login(t, p)
	sleeps := func() bool {
		out, err := inContainer(t, second, "ps")
		require.NoError(t, err)
		return strings.Contains(out, "sleep 98765")
	}
	require.Eventually(t, sleeps, time.Minute, 50*time.Millisecond)
	require.NoError(t, first.Close())
	<-ended
	require.Eventually(t, func() bool { return !sleeps() }, time.Minute, 50*time.Millisecond)
	st, err := p.Status(background(t), "l")
	require.NoError(t, err)
	require.Equal(t, Running, st.Phase)
}

func TestAShellEndsWithItsLease(t *testing.T) {
	p := shells(t)
	c, ended := login(t, p)
	s, err := c.NewSession()
	require.NoError(t, err)
	require.NoError(t, s.Start("sleep 1000"))
	st, err := p.Stop(background(t), "l", 20*time.Second)
	require.NoError(t, err)
	require.Equal(t, 5, st.Exit.Code, "the job itself was asked to end")
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the connection outlives the container")
	}
	require.Error(t, s.Wait())
	require.ErrorIs(t, p.Shell(background(t), "l", false, nil, nil), ErrShell)
}
