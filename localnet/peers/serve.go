package peers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gantry-market/gantry/localnet/ports"
)

// readyTime bounds the wait for a peer.
const readyTime = time.Minute

// ServePort starts a server as Serve does, at a port of the loopback interface that nothing else takes before it listens.
func ServePort(ctx context.Context, command func(port string) *exec.Cmd) (port string, stop func(), err error) {
	block, err := ports.Claim(1)
	if err != nil {
		return "", nil, err
	}
	defer block.Release()
	port = strconv.Itoa(block.First())
	stop, err = Serve(ctx, command(port), "127.0.0.1:"+port)
	return port, stop, err
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
