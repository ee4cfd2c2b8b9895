package vpn

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/things-go/go-socks5"
	"github.com/things-go/go-socks5/statute"

	"github.com/gantry-market/gantry/sdk/tunnel"
)

const (
	// helloTime is how long a program may take to say which protocol it speaks, and with a request's header.
	helloTime = 30 * time.Second
	socks5Tag = 0x05 // the first byte of a program that speaks SOCKS5 (RFC 1928)
)

// Proxy leads programs of this computer to members: SOCKS5 and HTTP at one port. It leads nowhere else.
type Proxy struct {
	dial Dial
	http *http.Server
}

// NewProxy makes a proxy.
func NewProxy(dial Dial) *Proxy {
	p := &Proxy{dial: dial}
	forward := &httputil.ReverseProxy{
		Rewrite:  func(*httputil.ProxyRequest) {}, // the request names the member
		ErrorLog: log.New(io.Discard, "", 0),
		Transport: &http.Transport{
			DialContext:       func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, address) },
			DisableKeepAlives: true, DisableCompression: true,
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	p.http = &http.Server{
		ReadHeaderTimeout: helloTime, ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodConnect:
				p.connect(w, r)
			case r.URL.Scheme == "http" && r.URL.Host != "":
				forward.ServeHTTP(w, r)
			default: // such as a page of a browser that asks this address for something
				http.Error(w, "this is a proxy to the machines of a private network, and serves nothing itself", http.StatusBadRequest)
			}
		}),
	}
	return p
}

// Serve serves a listener until ctx ends, and closes it. Error: of the listener, or of ctx.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	handed := make(handedOver)
	hctx, cancel := context.WithCancel(ctx)
	var served sync.WaitGroup
	defer served.Wait()
	defer cancel()
	served.Go(func() { _ = p.http.Serve(listener{handed, hctx, l.Addr()}) })
	return tunnel.Accept(ctx, l, func(ctx context.Context, conn net.Conn) {
		c := newPeeked(conn, bufio.NewReader(conn))
		_ = conn.SetReadDeadline(time.Now().Add(helloTime))
		first, err := c.r.Peek(1)
		if err != nil {
			return
		}
		_ = conn.SetReadDeadline(time.Time{})
		if first[0] == socks5Tag {
			_ = p.socks(ctx, c).ServeConn(c) // the program has heard why
			return
		}
		select {
		case handed <- c:
			select {
			case <-c.closed:
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	})
}

// socks serves a connection of SOCKS5. Names are resolved here, so programs have to leave them to the proxy (socks5h). A program
// sends nothing after its request until it has the answer (RFC 1928), so nothing is left in the library's buffer.
func (p *Proxy) socks(ctx context.Context, c net.Conn) *socks5.Server {
	return socks5.NewServer(
		socks5.WithRule(&socks5.PermitCommand{EnableConnect: true}),
		socks5.WithResolver(unresolved{}),
		socks5.WithConnectHandle(func(_ context.Context, w io.Writer, r *socks5.Request) error {
			host := r.RawDestAddr.FQDN
			if host == "" {
				host = r.RawDestAddr.IP.String()
			}
			there, err := p.dial(ctx, net.JoinHostPort(host, strconv.Itoa(r.RawDestAddr.Port)))
			if err != nil {
				reply := statute.RepHostUnreachable
				if errors.Is(err, syscall.ECONNREFUSED) || strings.Contains(err.Error(), "connection was refused") { // gVisor's stack has no number for it
					reply = statute.RepConnectionRefused
				}
				return errors.Join(err, socks5.SendReply(w, reply, nil))
			}
			if err := socks5.SendReply(w, statute.RepSuccess, there.LocalAddr()); err != nil {
				return errors.Join(err, there.Close())
			}
			tunnel.Join(ctx, c, there)
			return nil
		}),
	)
}

// connect serves HTTP's CONNECT.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	there, err := p.dial(r.Context(), r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	tunnel.Join(context.WithoutCancel(r.Context()), newPeeked(here, buffered.Reader), there)
}

// unresolved leaves names to the dialler.
type unresolved struct{}

func (unresolved) Resolve(ctx context.Context, _ string) (context.Context, net.IP, error) {
	return ctx, net.IPv4zero, nil
}

// listener hands connections over to a server of HTTP.
type listener struct {
	handed handedOver
	ctx    context.Context
	addr   net.Addr
}

type handedOver chan net.Conn

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.handed:
		return c, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error   { return nil }
func (l listener) Addr() net.Addr { return l.addr }

// peeked is a connection of which a part was read.
type peeked struct {
	net.Conn
	r      *bufio.Reader
	closed chan struct{}
	close  func() error
}

func newPeeked(c net.Conn, r *bufio.Reader) *peeked {
	p := &peeked{Conn: c, r: r, closed: make(chan struct{})}
	p.close = sync.OnceValue(func() error {
		defer close(p.closed)
		return c.Close()
	})
	return p
}

func (p *peeked) Read(b []byte) (int, error) { return p.r.Read(b) }
func (p *peeked) Close() error               { return p.close() }

// CloseWrite ends what is written, and leaves what is read.
func (p *peeked) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return p.close()
}
