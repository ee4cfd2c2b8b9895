package mesh

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/crypto/blake2s"
	"golang.zx2c4.com/wireguard/conn"
)

// ErrNoSocket: the node has no UDP socket of the address's family.
var ErrNoSocket = errors.New("mesh: the node has no UDP socket for this address")

const (
	queueLen  = 1024 // packets that wait for a device; more are dropped, as a socket's buffer does
	packetMax = 2048 // WireGuard's packets have at most 1,312 bytes here (MTU)
)

// Endpoint is where packets of a peer come from and go to.
type Endpoint struct {
	addr   netip.AddrPort
	socket *socket // at which it was heard; nil: the node chooses
}

var _ conn.Endpoint = (*Endpoint)(nil)

// ClearSrc does nothing: a socket has one source.
func (e *Endpoint) ClearSrc() {}

// SrcToString is empty, as ClearSrc says.
func (e *Endpoint) SrcToString() string { return "" }

// DstToString is the peer's address and port.
func (e *Endpoint) DstToString() string { return e.addr.String() }

// DstToBytes is the same in the form over which cookies are made.
func (e *Endpoint) DstToBytes() []byte {
	b, err := e.addr.MarshalBinary()
	if err != nil {
		return nil // it has no way to fail
	}
	return b
}

// DstIP is the peer's address.
func (e *Endpoint) DstIP() netip.Addr { return e.addr.Addr() }

// SrcIP is unknown.
func (e *Endpoint) SrcIP() netip.Addr { return netip.Addr{} }

// bind is the side of the shared sockets that one WireGuard device sees.
type bind struct {
	port    *Port
	mac1Key [blake2s.Size]byte
	queue   chan packet
	buffers sync.Pool

	mu     sync.Mutex
	closed chan struct{} // nil: not open
}

type packet struct {
	from *Endpoint
	data *[packetMax]byte
	n    int
}

var _ conn.Bind = (*bind)(nil)

func newBind(p *Port, public Key) *bind {
	return &bind{
		port: p, mac1Key: mac1Key(public), queue: make(chan packet, queueLen),
		buffers: sync.Pool{New: func() any { return new([packetMax]byte) }},
	}
}

// Open implements conn.Bind. The port is QUIC's, whatever is asked for.
func (b *bind) Open(uint16) ([]conn.ReceiveFunc, uint16, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed != nil {
		return nil, 0, conn.ErrBindAlreadyOpen
	}
	closed := make(chan struct{})
	b.closed = closed
	b.port.devices.add(b)
	receive := func(packets [][]byte, sizes []int, eps []conn.Endpoint) (int, error) {
		return b.receive(closed, packets, sizes, eps)
	}
	return []conn.ReceiveFunc{receive}, 0, nil
}

// Close implements conn.Bind.
func (b *bind) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed == nil {
		return nil
	}
	b.port.devices.remove(b)
	close(b.closed)
	b.closed = nil
	return nil
}

// take copies a packet for the device. It drops the packet when the device does not keep up.
func (b *bind) take(from *Endpoint, data []byte) {
	if len(data) > packetMax {
		return
	}
	buf := b.buffers.Get().(*[packetMax]byte)
	select {
	case b.queue <- packet{from: from, data: buf, n: copy(buf[:], data)}:
	default:
		b.buffers.Put(buf)
	}
}

func (b *bind) receive(closed <-chan struct{}, packets [][]byte, sizes []int, eps []conn.Endpoint) (int, error) {
	n := 0
	put := func(p packet) {
		sizes[n], eps[n] = copy(packets[n], p.data[:p.n]), p.from
		b.buffers.Put(p.data)
		n++
	}
	select {
	case <-closed:
		return 0, net.ErrClosed
	case p := <-b.queue:
		put(p)
	}
	for n < len(packets) {
		select {
		case p := <-b.queue:
			put(p)
		default:
			return n, nil
		}
	}
	return n, nil
}

// SetMark implements conn.Bind: packets carry no mark.
func (b *bind) SetMark(uint32) error { return nil }

// BatchSize implements conn.Bind.
func (b *bind) BatchSize() int { return conn.IdealBatchSize }

// ParseEndpoint implements conn.Bind.
func (b *bind) ParseEndpoint(s string) (conn.Endpoint, error) {
	addr, err := netip.ParseAddrPort(s)
	if err != nil {
		return nil, fmt.Errorf("mesh: endpoint: %w", err)
	}
	return &Endpoint{addr: netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())}, nil
}

// Send implements conn.Bind.
func (b *bind) Send(bufs [][]byte, to conn.Endpoint) error {
	e, ok := to.(*Endpoint)
	if !ok {
		return conn.ErrWrongEndpointType
	}
	s := e.socket
	if s == nil {
		if s = b.port.socketTo(e.addr.Addr()); s == nil {
			return fmt.Errorf("%w: %s", ErrNoSocket, e.addr)
		}
	}
	now := time.Now()
	for _, buf := range bufs {
		if !b.port.devices.sent(b, buf, now) {
			return nil // as if the packet was lost
		}
	}
	return s.send(bufs, e.addr)
}
