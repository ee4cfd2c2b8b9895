package machine

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// patience is how long a connection is waited for.
const patience = 5 * time.Second

// request is sent to whom the machine connects to, and gets an answer from a web server too.
const request = "GET / HTTP/1.0\r\n\r\n"

// Ask lets the machine whose socket it is connect to an address, host:port, and returns what answers there.
func Ask(ctx context.Context, socket, addr string) (string, error) {
	// The path of a socket has at most 107 characters, those of state folders may have more.
	dir, err := os.Open(filepath.Dir(socket))
	if err != nil {
		return "", fmt.Errorf("machine: %w", err)
	}
	defer dir.Close()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(socket)))
	if err != nil {
		return "", fmt.Errorf("machine: %w", err)
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if _, err := fmt.Fprintln(c, addr); err != nil {
		return "", fmt.Errorf("machine: %w", err)
	}
	raw, err := io.ReadAll(c)
	if err != nil {
		return "", fmt.Errorf("machine: %w", err)
	}
	text, ok := strings.CutPrefix(string(raw), "+")
	if !ok {
		return "", fmt.Errorf("machine: %s: %s", addr, strings.TrimPrefix(text, "-"))
	}
	return text, nil
}

// listenAsked opens the socket. The path is relative to the working directory where that is shorter.
func listenAsked(socket string) (net.Listener, error) {
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("machine: %w", err)
	}
	at := socket
	if here, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(here, socket); err == nil && len(short) < len(at) {
			at = short
		}
	}
	l, err := net.Listen("unix", at)
	if err != nil {
		return nil, fmt.Errorf("machine: %w", err)
	}
	return l, nil
}

// serveAsked answers questions until the listener is closed.
func (s space) serveAsked(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			addr, err := bufio.NewReader(c).ReadString('\n')
			if err != nil {
				return
			}
			text, err := s.get(strings.TrimSpace(addr))
			if err != nil {
				_, _ = fmt.Fprintf(c, "-%v", err)
				return
			}
			_, _ = io.WriteString(c, "+"+text)
		}()
	}
}

func (s space) get(addr string) (string, error) {
	c, err := s.dial("tcp4", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, request); err != nil {
		return "", err
	}
	raw, err := io.ReadAll(io.LimitReader(c, 1<<16))
	if len(raw) > 0 {
		return string(raw), nil // a server that does not read the request resets the connection after its answer
	}
	return "", err
}
