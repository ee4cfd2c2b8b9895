package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

// port listens on this machine's loopback interface and connects whoever comes with a port of the container.
func (s *session) port() error {
	args, err := s.args("LEASE", "PORT[:LOCAL]")
	if err != nil {
		return err
	}
	there, here, err := ports(args[1])
	if err != nil {
		return err
	}
	c, err := s.container(args[0])
	if err != nil {
		return err
	}
	f := &forwarder{c: c, port: there}
	if _, err := f.session(); err != nil {
		return err
	}
	return f.listen(s.ctx, here, "; Ctrl-C ends it")
}

// listen forwards connections to a port of this machine's loopback interface until ctx ends. The error is then of
// ExitInterrupted.
func (f *forwarder) listen(ctx context.Context, here, note string) error {
	s := f.c.s
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", here))
	if err != nil {
		return refused(fmt.Sprintf("port %s of this machine cannot be listened on: %v", here, err), fmt.Sprintf("choose another: gantry port %s %d:LOCAL", f.c.lease.Address, f.port))
	}
	defer l.Close()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	s.say(" · forwards http://%s to port %d of the container of lease %s%s", l.Addr().String(), f.port, f.c.lease.Address, note)
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return interrupted("the port is not forwarded any more", "")
		}
		if err != nil {
			return err
		}
		wg.Go(func() {
			if err := f.serve(ctx, conn); err != nil {
				s.say(" · refused  a connection: %v", err)
			}
		})
	}
}

// ports reads PORT[:LOCAL]; without LOCAL it is the same.
func ports(text string) (there uint16, here string, err error) {
	first, here, two := strings.Cut(text, ":")
	if !two {
		here = first
	}
	n, err := strconv.ParseUint(first, 10, 16)
	_, lerr := strconv.ParseUint(here, 10, 16)
	if err != nil || lerr != nil || n == 0 {
		return 0, "", usage(fmt.Sprintf("%q is no port, or two", text), "write PORT or PORT:LOCAL, such as 8888 or 8888:9000")
	}
	return uint16(n), here, nil
}

// forwardMemory is how many bytes may wait here for programs of this machine that do not read them.
const forwardMemory = 256 << 20

// forwarder connects to one port of a container, over one stream that is opened anew when it broke.
type forwarder struct {
	c      *container
	port   uint16
	memory *tunnel.Memory // nil for one of its own

	mu      sync.Mutex
	current *tunnel.Session
}

// session returns the session on the stream, which ends with the command's node.
func (f *forwarder) session() (*tunnel.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current != nil {
		select {
		case <-f.current.Done():
		default:
			return f.current, nil
		}
	}
	req := messages.PortsRequest{Version: messages.Version, Lease: f.c.lease.Address, Ports: []uint16{f.port}}
	conn, _, err := enter(f.c, portsProtocol, req, "ports without SSH", func(a messages.GuestAnswer) string { return a.Refused })
	if err != nil {
		return nil, err
	}
	memory := f.memory
	if memory == nil {
		memory = tunnel.NewMemory(forwardMemory)
	}
	s, err := tunnel.NewSession(conn, memory, tunnel.MaxWindow)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	f.current = s
	return s, nil
}

// serve copies between a connection of this machine and one of the container.
func (f *forwarder) serve(ctx context.Context, here net.Conn) error {
	defer here.Close()
	s, err := f.session()
	if err != nil {
		return err
	}
	there, err := s.Dial(ctx, f.port)
	if errors.Is(err, tunnel.ErrNothingListens) {
		return fmt.Errorf("nothing in the container listens on port %d", f.port)
	}
	if err != nil {
		return err
	}
	tunnel.Join(ctx, here, there)
	return nil
}
