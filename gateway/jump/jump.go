// Package jump is a gateway's SSH jump host: `ssh -J` through it reaches the SSH server in a granted container, and
// nothing else. The session within is encrypted between the client and the container. Only keys that a customer's grant
// names may log in, and each to the leases of the grants that name it.
package jump

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/gateway/grants"
	"github.com/gantry-market/gantry/gateway/limit"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

// Options of a Server; all but Log are required.
type Options struct {
	Listener net.Listener
	Domain   string
	HostKey  ssh.Signer
	// Knows reports whether any grant names a key.
	Knows func(key []byte) bool
	// Find is the lease of a name in front of the domain.
	Find func(label string) (*grants.Entry, bool)
	// Dial opens a stream to the container's SSH server.
	Dial func(ctx context.Context, e *grants.Entry) (net.Conn, error)
	Room *limit.Room
	// Idle is how long a connection may carry nothing.
	Idle time.Duration
	// Seen counts what became of connections.
	Seen func(what string)
	Log  zerolog.Logger
}

// Server serves until its context ends.
type Server struct{ o Options }

const (
	// loginTime is how long a client may take to log in.
	loginTime = 15 * time.Second
	// maxTries is how many keys a client may offer: clients offer all that they have.
	maxTries = 20
	// maxChannels is how many containers one connection reaches at once.
	maxChannels = 4
	// permitted has the key that logged in.
	permitted = "key"
)

// New checks the options. Error: options.ErrMissing.
func New(o Options) (*Server, error) {
	if err := options.Complete("jump host", o, "Log"); err != nil {
		return nil, err
	}
	return &Server{o}, nil
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := context.AfterFunc(ctx, func() { _ = s.o.Listener.Close() })
	defer stop()
	for {
		c, err := s.o.Listener.Accept()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
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
		wg.Go(func() {
			defer leave()
			s.serve(ctx, limit.Idle(c, s.o.Idle))
		})
	}
}

func (s *Server) config() *ssh.ServerConfig {
	c := &ssh.ServerConfig{
		MaxAuthTries: maxTries, ServerVersion: "SSH-2.0-gantry-gateway",
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			raw := key.Marshal()
			if !s.o.Knows(raw) {
				return nil, errors.New("no grant names this key")
			}
			return &ssh.Permissions{Extensions: map[string]string{permitted: string(raw)}}, nil
		},
	}
	c.AddHostKey(s.o.HostKey)
	return c
}

func (s *Server) serve(ctx context.Context, c net.Conn) {
	defer c.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	late := time.AfterFunc(loginTime, cancel)
	conn, channels, requests, err := ssh.NewServerConn(c, s.config())
	if !late.Stop() || err != nil {
		s.o.Seen("not logged in")
		return
	}
	defer conn.Close()
	s.o.Seen("logged in")
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { ssh.DiscardRequests(requests) })
	wg.Go(func() {
		_ = conn.Wait()
		cancel()
	})
	key := []byte(conn.Permissions.Extensions[permitted])
	places := make(chan struct{}, maxChannels)
	for ch := range channels {
		if ch.ChannelType() != "direct-tcpip" {
			_ = ch.Reject(ssh.Prohibited, "this is a jump host and has no shell: ssh -J this host to the name of a lease")
			continue
		}
		select {
		case places <- struct{}{}:
		default:
			_ = ch.Reject(ssh.ResourceShortage, fmt.Sprintf("at most %d containers at once", maxChannels))
			continue
		}
		wg.Go(func() {
			defer func() { <-places }()
			s.connect(ctx, ch, conn.RemoteAddr(), key)
		})
	}
	cancel()
}

// connect connects a channel with the SSH server of the lease that it names.
func (s *Server) connect(ctx context.Context, ch ssh.NewChannel, from net.Addr, key []byte) {
	e, why := s.lease(ch.ExtraData(), key)
	if e == nil {
		s.o.Seen("no such lease")
		_ = ch.Reject(ssh.Prohibited, why)
		return
	}
	free, err := e.Places.Take(from)
	if err != nil {
		s.o.Seen("lease full")
		_ = ch.Reject(ssh.ResourceShortage, "too many connections to this lease; try again in a moment")
		return
	}
	defer free()
	if err := e.Toll.Check(); err != nil {
		s.o.Seen("unpaid")
		_ = ch.Reject(ssh.Prohibited, err.Error())
		return
	}
	there, err := s.o.Dial(ctx, e)
	if err != nil {
		s.o.Seen("unreachable")
		_ = ch.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer there.Close()
	channel, requests, err := ch.Accept()
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests) // ends with the channel
	s.o.Seen("connected")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(e.Lasts, cancel)
	defer stop()
	tunnel.Join(ctx, channelConn{Channel: channel, Conn: there}, limit.Paced(ctx, there, e.Rate, e.Toll, e.In, e.Out))
}

// lease finds what a channel wants to reach, if its key may. A client learns no names: what is not there and what is not
// its own is answered in the same way.
func (s *Server) lease(extra, key []byte) (e *grants.Entry, why string) {
	var to struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(extra, &to); err != nil {
		return nil, "the address cannot be read"
	}
	label := strings.TrimSuffix(strings.ToLower(strings.TrimSuffix(to.Host, ".")), "."+s.o.Domain)
	e, ok := s.o.Find(label)
	if !ok || !e.Signed.Grant.AllowsKey(key) {
		return nil, "no lease has this name here, or its grant does not name your key; see: gantry gateway open"
	}
	if to.Port != 22 {
		return nil, "a lease is reached on port 22 alone; its other ports are forwarded by ssh itself (-L)"
	}
	return e, ""
}

// channelConn is a channel as a connection. Deadlines and addresses are the other side's, which nobody asks for.
type channelConn struct {
	ssh.Channel
	net.Conn
}

func (c channelConn) Read(b []byte) (int, error)  { return c.Channel.Read(b) }
func (c channelConn) Write(b []byte) (int, error) { return c.Channel.Write(b) }
func (c channelConn) Close() error                { return c.Channel.Close() }
func (c channelConn) CloseWrite() error           { return c.Channel.CloseWrite() }
