package rent

import (
	"os"

	"golang.org/x/crypto/ssh"
	"golang.org/x/term"

	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/service"
)

// exec runs a command in a container without a shell.
func (s *session) exec() error {
	text, argv, err := s.leaseAnd("-- COMMAND…")
	if err != nil {
		return err
	}
	if len(argv) == 0 {
		return service.Usage("there is no command to run", "write it after --, such as: gantry exec "+text+" -- nvidia-smi")
	}
	c, err := s.container(text)
	if err != nil {
		return err
	}
	if c, err = c.As(s.CLI.String(flagUser)); err != nil {
		return err
	}
	return s.run(c, s.CLI.Bool("tty"), container.Quote(argv))
}

// run runs a line of text in the container, or a shell where it is empty, and copies its input and output.
func (s *session) run(c *container.Container, tty bool, line string) error {
	client, err := s.login(c)
	if err != nil {
		return err
	}
	// A node may send what a terminal obeys. Without a terminal asked for, it is made harmless on a screen.
	io := container.Streams{In: s.Streams.In, Out: s.Output, Err: s.Err}
	if s.Format.Document() {
		io.Out = s.Streams.RawErr
	}
	if tty {
		io.Out, io.Err, io.Prepare = s.Streams.RawOut, s.Streams.RawErr, s.giveTerminal
	}
	return container.Run(s.Context, client, line, io)
}

// giveTerminal gives a session this terminal.
func (s *session) giveTerminal(ss *ssh.Session) (restore func(), err error) {
	in, ok := s.Streams.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return nil, service.Usage("--tty needs a terminal, and standard input is none", "leave --tty out")
	}
	out, ok := s.Streams.RawOut.(*os.File)
	if !ok {
		out = in
	}
	return container.GiveTerminal(s.Context, ss, in, out)
}
