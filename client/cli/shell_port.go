package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
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
	f := &forwarder{c: c, to: net.JoinHostPort("localhost", there)}
	if _, err := f.client(); err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(s.ctx, "tcp", net.JoinHostPort("127.0.0.1", here))
	if err != nil {
		return refused(fmt.Sprintf("port %s of this machine cannot be listened on: %v", here, err), fmt.Sprintf("choose another: gantry port %s %s:LOCAL", args[0], there))
	}
	defer l.Close()
	stop := context.AfterFunc(s.ctx, func() { _ = l.Close() })
	defer stop()
	s.say(" · forwards http://%s to port %s of the container of lease %s; Ctrl-C ends it", l.Addr().String(), there, c.lease.Address)
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := l.Accept()
		if s.ctx.Err() != nil {
			return interrupted("the port is not forwarded any more", "")
		}
		if err != nil {
			return err
		}
		wg.Go(func() {
			if err := f.serve(s.ctx, conn); err != nil {
				s.say(" · refused  a connection: %v", err)
			}
		})
	}
}

// ports reads PORT[:LOCAL]; without LOCAL it is the same.
func ports(text string) (there, here string, err error) {
	there, here, two := strings.Cut(text, ":")
	if !two {
		here = there
	}
	for _, p := range []string{there, here} {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 && p == there {
			return "", "", usage(fmt.Sprintf("%q is no port, or two", text), "write PORT or PORT:LOCAL, such as 8888 or 8888:9000")
		}
	}
	return there, here, nil
}

// forwarder connects to one port of a container, over one SSH connection that is made anew when it broke.
type forwarder struct {
	c  *container
	to string

	mu      sync.Mutex
	current *ssh.Client
}

func (f *forwarder) client() (*ssh.Client, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current != nil {
		return f.current, nil
	}
	client, err := f.c.login()
	if err != nil {
		return nil, err
	}
	f.current = client
	go func() { // ends with the connection, which the session closes
		_ = client.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.current == client {
			f.current = nil
		}
	}()
	return client, nil
}

// serve copies between a connection of this machine and one of the container.
func (f *forwarder) serve(ctx context.Context, here net.Conn) error {
	defer here.Close()
	client, err := f.client()
	if err != nil {
		return err
	}
	there, err := client.DialContext(ctx, "tcp", f.to)
	var refusal *ssh.OpenChannelError
	if errors.As(err, &refusal) {
		return fmt.Errorf("the container refuses %s (does a program listen there?): %s", f.to, refusal.Message)
	}
	if err != nil {
		return err
	}
	defer there.Close()
	stop := context.AfterFunc(ctx, func() { _ = here.Close(); _ = there.Close() })
	defer stop()
	var wg sync.WaitGroup
	for _, p := range [][2]net.Conn{{here, there}, {there, here}} {
		wg.Go(func() {
			if _, err := io.Copy(p[0], p[1]); err != nil {
				_ = here.Close()
				_ = there.Close()
				return
			}
			if half, ok := p[0].(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
		})
	}
	wg.Wait()
	return nil
}
