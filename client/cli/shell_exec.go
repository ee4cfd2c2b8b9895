package cli

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"
	"golang.org/x/term"
)

// exec runs a command in a container without a shell.
func (s *session) exec() error {
	text, argv, err := s.leaseAnd("-- COMMAND…")
	if err != nil {
		return err
	}
	if len(argv) == 0 {
		return usage("there is no command to run", "write it after --, such as: gantry exec "+text+" -- nvidia-smi")
	}
	c, err := s.container(text)
	if err != nil {
		return err
	}
	for i, word := range argv {
		argv[i] = quoteShell(word)
	}
	return c.run(s.cli.Bool("tty"), strings.Join(argv, " "))
}

// run runs a line of text in the container, or a shell where it is empty, and copies its input and output.
func (c *container) run(tty bool, line string) error {
	client, err := c.login()
	if err != nil {
		return err
	}
	ss, err := client.NewSession()
	if err != nil {
		return network("the container opens no session: "+err.Error(), sessionHint, err)
	}
	defer ss.Close()
	// A node may send what a terminal obeys. Without a terminal asked for, it is made harmless on a screen.
	ss.Stdin, ss.Stdout, ss.Stderr = c.s.streams.In, c.s.output, c.s.err
	if c.s.json {
		ss.Stdout = c.s.streams.rawErr
	}
	if tty {
		restore, err := c.terminal(ss)
		if err != nil {
			return err
		}
		defer restore()
		ss.Stdout, ss.Stderr = c.s.streams.rawOut, c.s.streams.rawErr
	}
	if line == "" {
		err = ss.Shell()
	} else {
		err = ss.Start(line)
	}
	if err != nil {
		return network("the container starts nothing: "+err.Error(), sessionHint, err)
	}
	done := make(chan error, 1)
	go func() { done <- ss.Wait() }()
	select {
	case err = <-done:
		return remoteExit(err)
	case <-c.s.ctx.Done(): // the command gets SIGHUP when the connection is closed
		return c.s.ctx.Err()
	}
}

// terminal gives a session a terminal of the size of this one, which passes every key on until restore is called.
func (c *container) terminal(ss *ssh.Session) (restore func(), err error) {
	in, ok := c.s.streams.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return nil, usage("--tty needs a terminal, and standard input is none", "leave --tty out")
	}
	fd := int(in.Fd())
	columns, rows, err := term.GetSize(fd)
	if err != nil {
		columns, rows = 80, 24
	}
	name := os.Getenv("TERM")
	if name == "" {
		name = "xterm"
	}
	if err := ss.RequestPty(name, rows, columns, ssh.TerminalModes{}); err != nil {
		return nil, network("the container gives no terminal: "+err.Error(), "leave --tty out", err)
	}
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(c.s.ctx)
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
				if columns, rows, err := term.GetSize(fd); err == nil {
					_ = ss.WindowChange(rows, columns)
				}
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		cancel()
		<-done
		_ = term.Restore(fd, before)
	}, nil
}
