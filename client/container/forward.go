package container

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

// ForwardMemory is how many bytes may wait here for programs of this machine that do not read them.
const ForwardMemory = 256 << 20

// Forwarder connects to one port of a container, over one stream that is opened anew when it broke.
type Forwarder struct {
	c      *Container
	port   uint16
	memory *tunnel.Memory // nil for one of its own

	mu      sync.Mutex
	current *tunnel.Session
}

// close ends the stream, if there is one.
func (f *Forwarder) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current != nil {
		_ = f.current.Close()
	}
}

// NewForwarder connects to a port of a container.
func NewForwarder(c *Container, port uint16) *Forwarder { return &Forwarder{c: c, port: port} }

// Connect returns the session on the stream, which ends with the membership of the network.
func (f *Forwarder) Connect(ctx context.Context) (*tunnel.Session, error) {
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
	conn, _, err := enter(ctx, f.c, portsProtocol, req, "ports without SSH", func(a messages.GuestAnswer) string { return a.Refused })
	if err != nil {
		return nil, err
	}
	memory := f.memory
	if memory == nil {
		memory = tunnel.NewMemory(ForwardMemory)
	}
	s, err := tunnel.NewSession(conn, memory, tunnel.MaxWindow)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	f.current = s
	return s, nil
}

// Serve copies between a connection of this machine and one of the container.
func (f *Forwarder) Serve(ctx context.Context, here net.Conn) error {
	defer here.Close()
	s, err := f.Connect(ctx)
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

// Listen forwards connections to a port of this machine's loopback interface until ctx ends. say is told what happens. The error is
// then of [service.CodeInterrupted].
func (f *Forwarder) Listen(ctx context.Context, here, note string, say func(format string, args ...any)) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", here))
	if err != nil {
		return service.Refused(fmt.Sprintf("port %s of this machine cannot be listened on: %v", here, err), fmt.Sprintf("choose another: gantry port %s %d:LOCAL", f.c.lease.Address, f.port))
	}
	say(" · forwards http://%s to port %d of the container of lease %s%s", l.Addr().String(), f.port, f.c.lease.Address, note)
	err = f.Accept(ctx, l, func(err error) { say(" · refused  a connection: %v", err) })
	if ctx.Err() != nil {
		return service.Interrupted("the port is not forwarded any more", "")
	}
	return err
}

// Accept forwards the connections of a listener, and closes it, until ctx ends or the listener does. Then it ends the
// connections and returns. refused hears why one was not forwarded, from several goroutines. Error: of the listener.
func (f *Forwarder) Accept(ctx context.Context, l net.Listener, refused func(error)) error {
	return tunnel.Accept(ctx, l, func(ctx context.Context, conn net.Conn) {
		if err := f.Serve(ctx, conn); err != nil {
			refused(err)
		}
	})
}
