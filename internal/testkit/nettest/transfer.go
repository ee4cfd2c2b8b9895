package nettest

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ports of the world for transfers; see [Transfer].
const (
	Sink   = "5001" // takes what is sent
	Source = "5002" // sends what is asked for
)

// serveTransfers answers at both ports.
func serveTransfers(t testing.TB) {
	for port, serve := range map[string]func(net.Conn, int64) error{
		Sink: func(c net.Conn, n int64) error {
			_, err := io.CopyN(io.Discard, c, n)
			return err
		},
		Source: func(c net.Conn, n int64) error {
			_, err := io.CopyN(c, zeros{}, n)
			return err
		},
	} {
		l, err := net.Listen("tcp", ":"+port)
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					var n int64
					if binary.Read(c, binary.BigEndian, &n) == nil && serve(c, n) == nil {
						_, _ = c.Write([]byte{1})
					}
				}()
			}
		}()
	}
}

// Transfer moves bytes to the world's Sink or from its Source, and returns once the other side has all of them.
func Transfer(addr string, n int64) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := binary.Write(c, binary.BigEndian, n); err != nil {
		return err
	}
	if port == Sink {
		_, err = io.CopyN(c, zeros{}, n)
	} else {
		_, err = io.CopyN(io.Discard, c, n)
	}
	if err == nil {
		_, err = io.ReadFull(c, make([]byte, 1))
	}
	if err != nil {
		return fmt.Errorf("transfer with %s: %w", addr, err)
	}
	return nil
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
