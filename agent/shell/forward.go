package shell

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/sdk/tunnel"
)

// dialTime is how long a forwarded connection may take to be made.
const dialTime = 10 * time.Second

// directTCP connects a channel to an address that the container reaches; see RFC 4254, 7.2.
func (s *server) directTCP(ctx context.Context, ch ssh.NewChannel) {
	var to struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(ch.ExtraData(), &to); err != nil || to.Port > 1<<16-1 {
		_ = ch.Reject(ssh.ConnectionFailed, "the address cannot be read")
		return
	}
	s.connect(ctx, ch, func(ctx context.Context) (net.Conn, error) { return dialTCP(ctx, to.Host, uint16(to.Port)) })
}

// dialTCP connects to an address as the container sees it.
func dialTCP(ctx context.Context, host string, port uint16) (c net.Conn, err error) {
	hosts := []string{host}
	if host == "localhost" || host == "" { // images may lack /etc/hosts
		hosts = []string{"127.0.0.1", "::1"}
	}
	for _, host := range hosts {
		var d net.Dialer
		if c, err = d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port)))); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// dialPort connects to a port of the container.
func dialPort(ctx context.Context, port uint16) (net.Conn, error) {
	return dialTCP(ctx, "localhost", port)
}

// directUnix connects a channel to a socket file of the container.
func (s *server) directUnix(ctx context.Context, ch ssh.NewChannel) {
	var to struct {
		Path     string
		Reserved string
		Unused   uint32
	}
	if err := ssh.Unmarshal(ch.ExtraData(), &to); err != nil {
		_ = ch.Reject(ssh.ConnectionFailed, "the path cannot be read")
		return
	}
	s.connect(ctx, ch, func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", to.Path)
	})
}

// connect dials, accepts the channel and copies until both sides have ended.
func (s *server) connect(ctx context.Context, ch ssh.NewChannel, dial func(context.Context) (net.Conn, error)) {
	dctx, cancel := context.WithTimeout(ctx, dialTime)
	c, err := dial(dctx)
	cancel()
	if err != nil {
		_ = ch.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer c.Close()
	channel, requests, err := ch.Accept()
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	join(ctx, channel, c)
}

// join copies between a channel and a connection until both directions have ended, or ctx does.
func join(ctx context.Context, channel ssh.Channel, c net.Conn) {
	end := sync.OnceFunc(func() {
		_ = channel.Close()
		_ = c.Close()
	})
	defer end()
	stop := context.AfterFunc(ctx, end)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := tunnel.Copy(c, channel); err != nil {
			end()
			return
		}
		if half, ok := c.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	})
	wg.Go(func() {
		if _, err := tunnel.Copy(channel, c); err != nil {
			end()
			return
		}
		_ = channel.CloseWrite()
	})
	wg.Wait()
}

// remoteForward is the payload of tcpip-forward and cancel-tcpip-forward.
type remoteForward struct {
	Host string
	Port uint32
}

func (f remoteForward) String() string { return net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))) }

// requests answers what concerns the whole connection.
func (s *server) requests(ctx context.Context, requests <-chan *ssh.Request) {
	defer s.closeListeners()
	for r := range requests {
		ok, payload := false, []byte(nil)
		switch r.Type {
		case "tcpip-forward":
			var f remoteForward
			if ssh.Unmarshal(r.Payload, &f) == nil {
				ok, payload = s.listen(ctx, f)
			}
		case "cancel-tcpip-forward":
			var f remoteForward
			if ssh.Unmarshal(r.Payload, &f) == nil {
				ok = s.unlisten(f)
			}
		}
		if r.WantReply {
			_ = r.Reply(ok, payload)
		}
	}
}

// listen opens a port of the container, on its loopback interface alone as SSH servers do.
func (s *server) listen(ctx context.Context, f remoteForward) (bool, []byte) {
	s.mu.Lock()
	full := len(s.listeners) >= maxListeners
	s.mu.Unlock()
	if full || f.Port > 1<<16-1 {
		return false, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(f.Port))))
	if err != nil {
		return false, nil
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return false, nil
	}
	var reply []byte
	if f.Port == 0 {
		f.Port = uint32(addr.Port)
		reply = ssh.Marshal(struct{ Port uint32 }{f.Port})
	}
	s.mu.Lock()
	s.listeners[f.String()] = l
	s.mu.Unlock()
	s.wg.Go(func() { s.accept(ctx, l, f) })
	return true, reply
}

func (s *server) unlisten(f remoteForward) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.listeners[f.String()]
	delete(s.listeners, f.String())
	return ok && l.Close() == nil
}

func (s *server) closeListeners() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		_ = l.Close()
	}
}

// accept brings connections to a port of the container to the client.
func (s *server) accept(ctx context.Context, l net.Listener, f remoteForward) {
	defer l.Close()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		select {
		case s.room <- struct{}{}:
		default:
			_ = c.Close()
			continue
		}
		s.wg.Go(func() {
			defer func() { <-s.room }()
			defer c.Close()
			s.bring(ctx, c, f)
		})
	}
}

func (s *server) bring(ctx context.Context, c net.Conn, f remoteForward) {
	origin := remoteForward{Host: "127.0.0.1"}
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		origin = remoteForward{Host: a.IP.String(), Port: uint32(a.Port)}
	}
	payload := ssh.Marshal(struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}{f.Host, f.Port, origin.Host, origin.Port})
	channel, requests, err := s.conn.OpenChannel("forwarded-tcpip", payload)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	join(ctx, channel, c)
}
