package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const dialTimeout = 2 * time.Second

// Relay forwards TCP connections to one target until it is cut: then all open connections break at once and new ones
// are refused, until it is restored. Its methods may be called from several goroutines.
type Relay struct {
	dial func() (net.Conn, error)
	addr string

	mu       sync.Mutex
	listener net.Listener // nil while cut
	conns    map[net.Conn]struct{}
	closed   bool
	cuts     int
	wg       sync.WaitGroup
}

// StartRelay listens on a free port of the loopback interface and forwards to target, host:port.
func StartRelay(ctx context.Context, target string) (*Relay, error) {
	return StartRelayAt(ctx, "127.0.0.1", target)
}

// StartRelayAt does so at an address of this machine, such as one that other namespaces reach.
func StartRelayAt(ctx context.Context, host, target string) (*Relay, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp4", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	return StartRelayOn(l, func() (net.Conn, error) { return net.DialTimeout("tcp4", target, dialTimeout) }), nil
}

// StartRelayOn forwards what a listener accepts, which the relay closes in the end, to where dial connects to. The two may be of
// different network namespaces; a relay between such ones cannot be restored.
func StartRelayOn(l net.Listener, dial func() (net.Conn, error)) *Relay {
	r := &Relay{dial: dial, addr: l.Addr().String(), conns: map[net.Conn]struct{}{}}
	r.serve(l)
	return r
}

// Addr is the address to connect to, host:port. It stays the same over cuts.
func (r *Relay) Addr() string { return r.addr }

// Cut breaks every connection and refuses new ones.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cuts++
	r.drop()
}

// Restore accepts connections again after Cut. It fails when another process took the port meanwhile.
func (r *Relay) Restore() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.New("relay: closed")
	}
	if r.listener != nil {
		return nil
	}
	l, err := net.Listen("tcp4", r.addr)
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	r.serveLocked(l)
	return nil
}

// Cuts counts how often the connection was cut.
func (r *Relay) Cuts() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cuts
}

// Close ends the relay and waits for its goroutines.
func (r *Relay) Close() {
	r.mu.Lock()
	r.closed = true
	r.drop()
	r.mu.Unlock()
	r.wg.Wait()
}

// drop closes the listener and all connections; the lock is held.
func (r *Relay) drop() {
	if r.listener != nil {
		_ = r.listener.Close()
		r.listener = nil
	}
	for c := range r.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, as when a machine goes away, and the port is free at once
		}
		_ = c.Close()
	}
	clear(r.conns)
}

func (r *Relay) serve(l net.Listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serveLocked(l)
}

func (r *Relay) serveLocked(l net.Listener) {
	r.listener = l
	r.wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // closed by drop
			}
			r.wg.Go(func() { r.forward(l, client) })
		}
	})
}

// track registers a connection made through listener l; it fails when that listener has been cut since.
func (r *Relay) track(l net.Listener, conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener != l {
		return false
	}
	for _, c := range conns {
		r.conns[c] = struct{}{}
	}
	return true
}

func (r *Relay) forward(l net.Listener, client net.Conn) {
	defer client.Close()
	if !r.track(l, client) {
		return
	}
	defer r.forget(client)
	server, err := r.dial()
	if err != nil {
		return // the client sees its connection close
	}
	defer server.Close()
	if !r.track(l, server) {
		return
	}
	defer r.forget(server)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(server, client)
		_ = closeWrite(server)
	}()
	_, _ = io.Copy(client, server)
	_ = closeWrite(client)
	// The other direction ends when the client closes or the relay is cut.
	<-done
}

func (r *Relay) forget(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
}

func closeWrite(c net.Conn) error {
	if tcp, ok := c.(*net.TCPConn); ok {
		return tcp.CloseWrite()
	}
	return nil
}
