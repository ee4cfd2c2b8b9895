package machine

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/fault"
)

// Namespaces are those that the process of a machine has to be started in.
const Namespaces = unix.CLONE_NEWPID | unix.CLONE_NEWNS

const (
	// stopTime is what an agent gets to end in.
	stopTime = 5 * time.Second
	// restartPause is before an agent that has crashed is started again.
	restartPause = 100 * time.Millisecond
)

// Run is the machine: it returns when the agent has ended, or with the context. It must be the first process of [Namespaces].
func Run(ctx context.Context, s Spec) error {
	own, world, err := enter()
	if err != nil {
		return err
	}
	// Everything below ends with the process.
	for where, who := range map[space]string{own: "the machine", world: "the internet"} {
		l, err := where.listen(":" + Port)
		if err != nil {
			return fmt.Errorf("machine: %w", err)
		}
		go answer(l, who)
	}
	for _, addr := range s.Reach {
		l, err := own.listen(addr)
		if err != nil {
			return fmt.Errorf("machine: %w", err)
		}
		fault.StartRelayOn(l, func() (net.Conn, error) { return net.DialTimeout("tcp4", addr, patience) })
	}
	if s.LinkMbits > 0 {
		if err := link(own, s.LinkMbits); err != nil {
			return err
		}
	}
	if s.Serve != "" {
		l, err := net.Listen("tcp4", s.Serve)
		if err != nil {
			return fmt.Errorf("machine: %w", err)
		}
		fault.StartRelayOn(l, func() (net.Conn, error) { return own.dial("tcp4", s.Serve) })
	}
	asked, err := listenAsked(s.Asked)
	if err != nil {
		return err
	}
	go own.serveAsked(asked)
	return own.do(func() error { return serve(ctx, s) })
}

// serve runs the agent, again and again where the machine has a service manager.
func serve(ctx context.Context, s Spec) error {
	for {
		err := runAgent(ctx, s.Agent)
		if err == nil || ctx.Err() != nil || !s.Service {
			return err
		}
		fmt.Fprintln(os.Stderr, err)
		if err := wait.For(ctx, restartPause); err != nil {
			return err
		}
	}
}

// enter makes the machine's network and its internet.
func enter() (own, world space, err error) {
	fail := func(err error) (space, space, error) { return 0, 0, err }
	if os.Getpid() != 1 {
		return fail(fmt.Errorf("%w: not in namespaces of its own", ErrSpec))
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fail(fmt.Errorf("machine: mounts of its own: %w", err))
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fail(fmt.Errorf("machine: /proc: %w", err))
	}
	if own, err = newSpace(); err != nil {
		return fail(err)
	}
	if world, err = newSpace(); err != nil {
		return fail(err)
	}
	return own, world, connect(own, world)
}

// runAgent runs the agent in the network namespace of the calling thread, which must live as long as the agent.
func runAgent(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTime
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("machine: its agent: %w", err)
	}
	return nil
}
