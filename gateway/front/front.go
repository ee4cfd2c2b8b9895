// Package front is a gateway's public side for TLS. It reads the host name of a client's first message, which says the
// lease and the port. Where the container speaks TLS itself, every byte is passed on as it is, so that TLS ends in the
// container. Elsewhere TLS ends here, and requests are passed on as HTTP.
package front

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/gateway/grants"
	"github.com/gantry-market/gantry/gateway/limit"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

// Options of a Server; all but Log are required.
type Options struct {
	Listener net.Listener
	// Domain below which names of ports are.
	Domain string
	// Certificate of the gateway for a name.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Find is the granted port of a name in front of the domain.
	Find func(label string) (*grants.Entry, records.GrantedPort, bool)
	// Dial connects with a granted port.
	Dial func(ctx context.Context, e *grants.Entry, port uint16) (net.Conn, error)
	Room *limit.Room
	// Idle is how long a connection may carry nothing.
	Idle time.Duration
	// Patience is how long a request's body may bring less than LeastRate.
	Patience time.Duration
	// Seen counts what became of connections and requests.
	Seen func(what string)
	Log  zerolog.Logger
}

// Server serves until its context ends.
type Server struct {
	o    Options
	http *http.Server
	ours *handedOver // connections whose TLS ends here
}

// helloTime is how long a client may take to say where it wants to go.
const helloTime = 10 * time.Second

// New checks the options. Error: options.ErrMissing.
func New(o Options) (*Server, error) {
	if err := options.Complete("front", o, "Log"); err != nil {
		return nil, err
	}
	s := &Server{o: o, ours: &handedOver{conns: make(chan net.Conn), done: make(chan struct{}), addr: o.Listener.Addr()}}
	s.http = s.newHTTP()
	return s, nil
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := context.AfterFunc(ctx, func() {
		_ = s.o.Listener.Close()
		_ = s.ours.Close()
		_ = s.http.Close()
	})
	defer stop()
	failed := make(chan error, 1)
	wg.Go(func() {
		err := s.http.ServeTLS(s.ours, "", "")
		if ctx.Err() == nil {
			failed <- fmt.Errorf("HTTP: %w", err)
			cancel()
		}
	})
	for {
		c, err := s.o.Listener.Accept()
		if ctx.Err() != nil {
			select {
			case err := <-failed:
				return err
			default:
				return ctx.Err()
			}
		}
		if err != nil { // descriptors are short, say: those who are here go on
			s.o.Log.Warn().Err(err).Msg("a connection cannot be accepted")
			time.Sleep(50 * time.Millisecond)
			continue
		}
		leave, err := s.o.Room.Enter(c.RemoteAddr())
		if err != nil {
			s.o.Seen("refused")
			_ = c.Close()
			continue
		}
		wg.Go(func() { s.serve(ctx, &held{Conn: limit.Idle(c, s.o.Idle), leave: leave}) })
	}
}

// held gives its place back when it is closed.
type held struct {
	net.Conn
	leave func()
}

func (h *held) Close() error {
	h.leave()
	return h.Conn.Close()
}

// CloseWrite ends one direction.
func (h *held) CloseWrite() error {
	if half, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return h.Close()
}

// serve passes a connection on, or hands it over to the HTTP server.
func (s *Server) serve(ctx context.Context, c *held) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	hello, read, err := readHello(ctx, c)
	if err != nil {
		s.o.Seen("no hello")
		if looksLikeHTTP(read) {
			_, _ = io.WriteString(c, "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nThis port speaks HTTPS: begin the address with https://.\n")
		}
		_ = c.Close()
		return
	}
	whole := &replayed{held: c, first: read}
	e, port, ok := s.find(hello.ServerName)
	if ok && port.TLS {
		s.pass(whole, e, port)
		return
	}
	if !s.ours.put(ctx, whole) {
		_ = c.Close()
	}
}

// find looks a host name up.
func (s *Server) find(host string) (*grants.Entry, records.GrantedPort, bool) {
	label, ok := strings.CutSuffix(strings.ToLower(strings.TrimSuffix(host, ".")), "."+s.o.Domain)
	if !ok {
		return nil, records.GrantedPort{}, false
	}
	return s.o.Find(label)
}

// pass connects a client with a port at which the container speaks TLS itself.
func (s *Server) pass(c *replayed, e *grants.Entry, port records.GrantedPort) {
	defer c.Close()
	free, err := e.Places.Take(c.RemoteAddr())
	if err != nil {
		s.o.Seen("lease full")
		alert(c, alertInternal)
		return
	}
	defer free()
	if e.Toll.Check() != nil { // TLS has no words for it
		s.o.Seen("unpaid")
		alert(c, alertDenied)
		return
	}
	there, err := s.o.Dial(e.Lasts, e, port.Port)
	if err != nil {
		s.o.Seen("unreachable")
		alert(c, alertInternal)
		return
	}
	s.o.Seen("passed")
	tunnel.Join(e.Lasts, c, limit.Paced(e.Lasts, there, e.Rate, e.Toll, e.In, e.Out))
}

// alertInternal is TLS's internal_error: there is no other way to tell a client that what it wants is not there. alertDenied
// is its access_denied, for what has to be paid first.
const (
	alertInternal = 80
	alertDenied   = 49
)

func alert(c net.Conn, what byte) {
	_ = c.SetWriteDeadline(time.Now().Add(helloTime))
	_, _ = c.Write([]byte{21, 3, 3, 0, 2, 2, what})
}

var errRead = errors.New("the first message is read")

// maxHello is how many bytes the first message of a client may have, with what it is wrapped in.
const maxHello = 32 << 10

// readHello reads the first message of a client, and returns the bytes that it took. crypto/tls does the reading; what
// it would answer is dropped.
func readHello(ctx context.Context, c net.Conn) (hello *tls.ClientHelloInfo, read []byte, err error) {
	if err := c.SetReadDeadline(time.Now().Add(helloTime)); err != nil {
		return nil, nil, err
	}
	r := &recorder{Conn: c}
	config := &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		hello = h
		return nil, errRead
	}}
	err = tls.Server(r, config).HandshakeContext(ctx)
	if hello == nil {
		return nil, r.read.Bytes(), errors.Join(err, io.ErrUnexpectedEOF)
	}
	return hello, r.read.Bytes(), c.SetReadDeadline(time.Time{})
}

// recorder keeps what is read and drops what is written.
type recorder struct {
	net.Conn
	read bytes.Buffer
}

func (r *recorder) Read(b []byte) (int, error) {
	left := maxHello - r.read.Len()
	if left <= 0 {
		return 0, errors.New("the first message is too long")
	}
	n, err := r.Conn.Read(b[:min(len(b), left)])
	r.read.Write(b[:n])
	return n, err
}

func (r *recorder) Write(b []byte) (int, error)      { return len(b), nil }
func (r *recorder) Close() error                     { return nil }
func (r *recorder) SetDeadline(time.Time) error      { return nil }
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }

// looksLikeHTTP reports whether bytes begin as a request without TLS does.
func looksLikeHTTP(read []byte) bool {
	for _, method := range []string{"GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH"} {
		if bytes.HasPrefix(read, []byte(method)) {
			return true
		}
	}
	return false
}

// replayed begins with bytes that were read before.
type replayed struct {
	*held
	first []byte
}

func (r *replayed) Read(b []byte) (int, error) {
	if len(r.first) > 0 {
		n := copy(b, r.first)
		if r.first = r.first[n:]; len(r.first) == 0 {
			r.first = nil
		}
		return n, nil
	}
	return r.held.Read(b)
}

// handedOver is a listener whose connections others have accepted.
type handedOver struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	addr  net.Addr
}

func (h *handedOver) put(ctx context.Context, c net.Conn) bool {
	select {
	case h.conns <- c:
		return true
	case <-h.done:
	case <-ctx.Done():
	}
	return false
}

// Accept implements net.Listener.
func (h *handedOver) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handedOver) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

// Addr implements net.Listener.
func (h *handedOver) Addr() net.Addr { return h.addr }
