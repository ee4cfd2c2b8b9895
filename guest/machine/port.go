package machine

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// Port is the guest's end of a virtual serial port, as a connection. Such a port reads as ended while nobody has the other end open:
// that is no end before the host has come, and is one afterwards.
type Port struct {
	file *os.File
	came atomic.Bool
}

var _ net.Conn = (*Port)(nil)

// Read implements net.Conn.
func (p *Port) Read(b []byte) (int, error) {
	for {
		n, err := p.file.Read(b)
		if n > 0 {
			p.came.Store(true)
		}
		if n > 0 || !errors.Is(err, io.EOF) || p.came.Load() {
			return n, err
		}
		time.Sleep(portWait)
	}
}

// portWait lies between two looks whether the host has come.
const portWait = 50 * time.Millisecond

// Write implements net.Conn. It waits until the host has come.
func (p *Port) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	if n > 0 {
		p.came.Store(true)
	}
	return n, err
}

// Close implements net.Conn.
func (p *Port) Close() error { return p.file.Close() }

// LocalAddr implements net.Conn.
func (p *Port) LocalAddr() net.Addr { return portAddr(p.file.Name()) }

// RemoteAddr implements net.Conn.
func (p *Port) RemoteAddr() net.Addr { return portAddr("host") }

// SetDeadline implements net.Conn.
func (p *Port) SetDeadline(t time.Time) error {
	return errors.Join(p.SetReadDeadline(t), p.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn. A device that knows no deadlines has none.
func (p *Port) SetReadDeadline(t time.Time) error { return known(p.file.SetReadDeadline(t)) }

// SetWriteDeadline implements net.Conn.
func (p *Port) SetWriteDeadline(t time.Time) error { return known(p.file.SetWriteDeadline(t)) }

func known(err error) error {
	if errors.Is(err, os.ErrNoDeadline) {
		return nil
	}
	return err
}

// portAddr names an end.
type portAddr string

func (portAddr) Network() string  { return "virtio-serial" }
func (a portAddr) String() string { return string(a) }
