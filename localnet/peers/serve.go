package peers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// readyTime bounds the wait for a peer.
const readyTime = time.Minute

// FreePort is a port of loopback that nothing listens on.
func FreePort() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// Serve starts a server that ends with this process or when stop is called, and waits until its address, host:port, answers.
func Serve(ctx context.Context, cmd *exec.Cmd, addr string) (stop func(), err error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	stop = func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for {
		c, err := net.Dial("tcp4", addr)
		if err == nil {
			return stop, c.Close()
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ended:
			return nil, fmt.Errorf("%s has ended: %s", cmd.Path, said.String())
		case <-ctx.Done():
			stop()
			return nil, errors.Join(ctx.Err(), errors.New(said.String()))
		}
	}
}
