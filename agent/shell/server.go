package shell

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/cpu"

	"github.com/gantry-market/gantry/sdk/sshkeys"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

const (
	// loginTime is how long a client may take to log in.
	loginTime = 30 * time.Second
	// maxChannels is how many sessions and forwarded connections one connection has at once.
	maxChannels = 64
	// maxListeners is how many ports of the container one connection forwards to the customer.
	maxListeners = 16
	// readAhead is how many bytes are read at once: each read costs a change between the sandbox's processes.
	readAhead = 256 << 10
	// maxTries is how many keys a client may offer: clients offer all that they have.
	maxTries = 20
)

// ServeStdio serves what the setup asks for on standard input and output, in the container: one connection of SSH, or
// connections to ports. It ends with its input, and with it everything that it has started; see the package comment.
func ServeStdio(ctx context.Context, in, out *os.File) error {
	return serveStream(ctx, in, out)
}

func serveStream(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	r := bufio.NewReaderSize(in, readAhead)
	setup, err := readSetup(r)
	if err != nil {
		return err
	}
	c := &stream{r: r, in: in, out: out}
	if len(setup.Ports) > 0 {
		return tunnel.Serve(ctx, c, setup.Ports, dialPort)
	}
	return Serve(ctx, c, setup)
}

// Serve serves one connection until it ends or ctx does.
func Serve(ctx context.Context, c net.Conn, setup Setup) error {
	config, err := setup.config()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	late := time.AfterFunc(loginTime, cancel)
	conn, channels, requests, err := ssh.NewServerConn(c, config)
	late.Stop()
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	defer conn.Close()
	s := &server{conn: conn, listeners: map[string]net.Listener{}, room: make(chan struct{}, maxChannels)}
	go func() { // every wait of a session ends with the connection
		_ = conn.Wait()
		cancel()
	}()
	serve := func() { s.requests(ctx, requests) }
	if setup.User != "" {
		s.refused = become(setup.User)
	}
	if s.refused != nil {
		serve = func() { ssh.DiscardRequests(requests) }
	}
	s.wg.Go(serve)
	for ch := range channels {
		s.open(ctx, ch)
	}
	cancel()
	s.wg.Wait()
	return nil
}

// config accepts the keys of the setup and nothing else.
func (s Setup) config() (*ssh.ServerConfig, error) {
	keys, err := sshkeys.Parse(s.Keys)
	if err != nil {
		return nil, err
	}
	signer, err := s.signer()
	if err != nil {
		return nil, err
	}
	c := &ssh.ServerConfig{
		MaxAuthTries: maxTries, ServerVersion: "SSH-2.0-gantry",
		PublicKeyCallback: func(_ ssh.ConnMetadata, offered ssh.PublicKey) (*ssh.Permissions, error) {
			raw := offered.Marshal()
			if slices.ContainsFunc(keys, func(k ssh.PublicKey) bool { return bytes.Equal(k.Marshal(), raw) }) {
				return &ssh.Permissions{}, nil
			}
			return nil, errors.New("the job does not name this key")
		},
	}
	c.Ciphers = ciphers()
	c.AddHostKey(signer)
	return c, nil
}

// ciphers leaves ChaCha20 out where the processor knows AES: OpenSSH's clients ask for it first, and the library computes it
// without the processor's help, several times slower.
func ciphers() []string {
	all := ssh.SupportedAlgorithms().Ciphers
	if cpu.X86.HasAES && cpu.X86.HasPCLMULQDQ || cpu.ARM64.HasAES && cpu.ARM64.HasPMULL {
		all = slices.DeleteFunc(all, func(c string) bool { return c == ssh.CipherChaCha20Poly1305 })
	}
	return all
}

// server is one connection.
type server struct {
	conn *ssh.ServerConn
	room chan struct{} // of channels
	wg   sync.WaitGroup
	// refused is why nothing is done for the client.
	refused error

	mu        sync.Mutex
	listeners map[string]net.Listener // by the address that the client asked for
}

// open answers a channel in a goroutine of its own.
func (s *server) open(ctx context.Context, ch ssh.NewChannel) {
	if s.refused != nil { // nothing is done as somebody else
		_ = ch.Reject(ssh.Prohibited, s.refused.Error())
		return
	}
	serve, ok := map[string]func(context.Context, ssh.NewChannel){
		"session": s.session, "direct-tcpip": s.directTCP, "direct-streamlocal@openssh.com": s.directUnix,
	}[ch.ChannelType()]
	if !ok {
		_ = ch.Reject(ssh.UnknownChannelType, "channels of this type are not served")
		return
	}
	select {
	case s.room <- struct{}{}:
	default:
		_ = ch.Reject(ssh.ResourceShortage, fmt.Sprintf("at most %d channels at once", maxChannels))
		return
	}
	s.wg.Go(func() {
		defer func() { <-s.room }()
		serve(ctx, ch)
	})
}

// stream is a connection on two files.
type stream struct {
	r    io.Reader
	in   io.Closer
	out  io.WriteCloser
	once sync.Once
}

func (s *stream) Read(b []byte) (int, error)  { return s.r.Read(b) }
func (s *stream) Write(b []byte) (int, error) { return s.out.Write(b) }

// Close implements net.Conn.
func (s *stream) Close() (err error) {
	s.once.Do(func() { err = errors.Join(s.out.Close(), s.in.Close()) })
	return err
}

type address struct{}

func (address) Network() string { return "gantry" }
func (address) String() string  { return "customer" }

// LocalAddr and RemoteAddr implement net.Conn: the stream has no addresses here.
func (s *stream) LocalAddr() net.Addr  { return address{} }
func (s *stream) RemoteAddr() net.Addr { return address{} }

// SetDeadline, SetReadDeadline and SetWriteDeadline implement net.Conn; none is kept. The agent at the other end closes the
// files when the connection is over.
func (s *stream) SetDeadline(time.Time) error      { return nil }
func (s *stream) SetReadDeadline(time.Time) error  { return nil }
func (s *stream) SetWriteDeadline(time.Time) error { return nil }
