// Package tunnel carries connections to the granted ports of a container over one stream between a gateway and the program
// gantry-shell in the container's sandbox. The agent between them copies bytes and reads none.
//
// The stream is a yamux session, whose client is the gateway. Each of its streams begins with the port, two bytes, the
// higher first; the container answers with one byte, a [status], and the bytes of the connection follow.
package tunnel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/libp2p/go-yamux/v5"
)

var (
	// ErrNotGranted: the customer has not granted this port.
	ErrNotGranted = errors.New("this port is not granted")
	// ErrNothingListens: the container does not take connections at the port.
	ErrNothingListens = errors.New("nothing in the container listens on this port")
	// ErrBroken: the way into the container has ended.
	ErrBroken = errors.New("the connection to the container broke")
)

// status is the container's answer to a stream.
type status byte

const (
	connected status = iota
	notGranted
	nothingListens
)

const (
	// MaxConnections is how many there are at once over one stream.
	MaxConnections = 256
	// headTime is how long a port and its answer may take.
	headTime = 15 * time.Second
	// MaxWindow is how many bytes of one connection may wait at most for a reader that does not take them: 1 Gbit/s over 64 ms.
	MaxWindow = 8 << 20
	// containerMemory bounds what waits in the container of all connections of one stream. Half of it is more than the
	// first windows of as many as there may be, 256 KiB each: yamux ends the whole session where one finds no place.
	containerMemory = 256 << 20
	// piece is how many bytes are read and written at once: what a frame of yamux has beside its head.
	piece = 64<<10 - 12
)

func config(incoming, window uint32) *yamux.Config {
	c := yamux.DefaultConfig()
	c.LogOutput, c.MaxIncomingStreams, c.MaxStreamWindowSize = io.Discard, incoming, window
	c.ConnectionWriteTimeout = 30 * time.Second
	return c
}

// Memory bounds what all sessions of a program buffer: with half of it spent, windows do not grow, and with all of it new
// connections fail. The zero value has none to give.
type Memory struct {
	mu        sync.Mutex
	all, left int
}

// NewMemory has so many bytes to give.
func NewMemory(bytes int) *Memory { return &Memory{all: bytes, left: bytes} }

// take takes bytes; with a priority below 255, only as long as that part of 256 of all bytes is not taken.
func (m *Memory) take(n int, priority uint8) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > m.left-m.all/256*(255-int(priority)) {
		return false
	}
	m.left -= n
	return true
}

func (m *Memory) give(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left += n
}

// share is what one connection has taken.
type share struct {
	of   *Memory
	mu   sync.Mutex
	held int
	over bool // yamux asks for larger windows also after Done, of a stream that is closed and still read
}

// shares gives each connection of a session its own.
func shares(m *Memory) func() (yamux.MemoryManager, error) {
	return func() (yamux.MemoryManager, error) { return &share{of: m}, nil }
}

var errMemory = errors.New("no memory is left for connections")

// ReserveMemory implements yamux.MemoryManager.
func (s *share) ReserveMemory(size int, priority uint8) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !s.of.take(size, priority) {
		return errMemory
	}
	s.held += size
	return nil
}

// ReleaseMemory implements yamux.MemoryManager.
func (s *share) ReleaseMemory(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.held -= size
	s.of.give(size)
}

// Done implements yamux.MemoryManager.
func (s *share) Done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of.give(s.held)
	s.held, s.over = 0, true
}

// Session is the gateway's side.
type Session struct{ mux *yamux.Session }

// NewSession begins a session on a stream that the node has accepted, and owns it. At most window bytes of one connection
// wait here for whoever does not read them.
func NewSession(stream net.Conn, memory *Memory, window uint32) (*Session, error) {
	mux, err := yamux.Client(stream, config(0, window), shares(memory))
	if err != nil {
		return nil, fmt.Errorf("session with a container: %w", err)
	}
	return &Session{mux}, nil
}

// Dial connects with a port of the container. Errors: ErrNotGranted, ErrNothingListens, ErrBroken, the context's.
func (s *Session) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, headTime)
	defer cancel()
	stream, err := s.mux.OpenStream(ctx)
	switch {
	case err != nil && ctx.Err() != nil: // yamux calls this a deadline
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = stream.Reset() })
	var answer [1]byte
	_, err = stream.Write(binary.BigEndian.AppendUint16(nil, port))
	if err == nil {
		_, err = io.ReadFull(stream, answer[:])
	}
	switch {
	case !stop():
		err = context.Cause(ctx)
	case err != nil:
		err = fmt.Errorf("%w: %w", ErrBroken, err)
	case status(answer[0]) == connected:
		return stream, nil
	case status(answer[0]) == notGranted:
		err = ErrNotGranted
	default:
		err = ErrNothingListens
	}
	_ = stream.Reset()
	return nil, err
}

// Connections counts those that are open.
func (s *Session) Connections() int { return s.mux.NumStreams() }

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.mux.CloseChan() }

// Close ends the session and every connection of it.
func (s *Session) Close() error { return s.mux.Close() }

// Serve is the container's side: it connects the streams of a session with what dial gives, for the granted ports, until
// the stream or ctx ends.
func Serve(ctx context.Context, stream net.Conn, granted []uint16, dial func(ctx context.Context, port uint16) (net.Conn, error)) error {
	mux, err := yamux.Server(stream, config(MaxConnections, MaxWindow), shares(NewMemory(containerMemory)))
	if err != nil {
		return fmt.Errorf("session with a gateway: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = mux.Close() })
	defer stop()
	ports := map[uint16]bool{}
	for _, p := range granted {
		ports[p] = true
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer mux.Close()
	for {
		s, err := mux.AcceptStream()
		if err != nil {
			return ctx.Err() // it has ended
		}
		wg.Go(func() { serveOne(ctx, s, ports, dial) })
	}
}

func serveOne(ctx context.Context, s *yamux.Stream, granted map[uint16]bool, dial func(ctx context.Context, port uint16) (net.Conn, error)) {
	defer s.Close()
	_ = s.SetDeadline(time.Now().Add(headTime))
	var head [2]byte
	if _, err := io.ReadFull(s, head[:]); err != nil {
		_ = s.Reset()
		return
	}
	port := binary.BigEndian.Uint16(head[:])
	answer, c := notGranted, net.Conn(nil)
	if granted[port] {
		var err error
		dctx, cancel := context.WithTimeout(ctx, headTime*2/3)
		if c, err = dial(dctx, port); err != nil {
			answer = nothingListens
		} else {
			answer = connected
			defer c.Close()
		}
		cancel()
	}
	if _, err := s.Write([]byte{byte(answer)}); err != nil || answer != connected {
		return
	}
	_ = s.SetDeadline(time.Time{})
	Join(ctx, s, c)
}

// Join copies both ways between two connections until both directions have ended, one of them fails, or ctx ends, and
// closes both. An end of one direction alone is passed on.
func Join(ctx context.Context, a, b net.Conn) {
	end := sync.OnceFunc(func() {
		for _, c := range []net.Conn{a, b} {
			if s, ok := c.(*yamux.Stream); ok {
				_ = s.Reset() // Close ends writing alone
			}
			_ = c.Close()
		}
	})
	defer func() { _, _ = a.Close(), b.Close() }()
	stop := context.AfterFunc(ctx, end)
	defer stop()
	var wg sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		wg.Go(func() {
			if _, err := Copy(way[0], way[1]); err != nil {
				end()
				return
			}
			if half, ok := way[0].(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
				end()
			}
		})
	}
	wg.Wait()
}

// Copy is io.Copy with pieces as large as the streams carry.
func Copy(to io.Writer, from io.Reader) (int64, error) {
	type plain struct{ io.Reader } // a source or target that copies itself takes smaller pieces
	type target struct{ io.Writer }
	return io.CopyBuffer(target{to}, plain{from}, make([]byte, piece))
}
