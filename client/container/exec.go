package container

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/socket"
)

// Streams are what a command in a container reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Prepare changes the session before it starts, for instance gives it a terminal; undo is called at its end. Nil for
	// nothing.
	Prepare func(*ssh.Session) (undo func(), err error)
}

// Run runs a line of text in the container, or a shell where it is empty, until it ends. Error: a [service.Failure],
// also of a command that ended with a status other than 0.
func Run(ctx context.Context, client *ssh.Client, line string, io Streams) error {
	ss, err := client.NewSession()
	var no *ssh.OpenChannelError
	switch {
	case errors.As(err, &no) && no.Reason == ssh.Prohibited:
		return service.Refused("the container opens no session: "+printable.Text(no.Message), "name another user, or none for that of the container's program")
	case err != nil:
		return service.Network("the container opens no session: "+err.Error(), Hint, err)
	}
	defer ss.Close()
	ss.Stdin, ss.Stdout, ss.Stderr = io.In, io.Out, io.Err
	if io.Prepare != nil {
		undo, err := io.Prepare(ss)
		if err != nil {
			return err
		}
		defer undo()
	}
	if line == "" {
		err = ss.Shell()
	} else {
		err = ss.Start(line)
	}
	if err != nil {
		return service.Network("the container starts nothing: "+err.Error(), Hint, err)
	}
	done := make(chan error, 1)
	go func() { done <- ss.Wait() }()
	select {
	case err = <-done:
		return ExitOf(err)
	case <-ctx.Done(): // the command gets SIGHUP when the connection is closed
		return ctx.Err()
	}
}

// Shell runs a shell in a terminal until it ends. The status of a shell is its last command's, and is not an error.
func Shell(ctx context.Context, client *ssh.Client, s socket.Screen) error {
	ss, err := client.NewSession()
	if err != nil {
		return service.Network("the container opens no session: "+err.Error(), Hint, err)
	}
	defer func() { _ = ss.Close() }()
	if err := ss.RequestPty("xterm-256color", s.Size.Rows, s.Size.Columns, ssh.TerminalModes{}); err != nil {
		return service.Network("the container gives no terminal: "+err.Error(), Hint, err)
	}
	ss.Stdin, ss.Stdout, ss.Stderr = s.In, s.Out, s.Out
	if err := ss.Shell(); err != nil {
		return service.Network("the container starts nothing: "+err.Error(), Hint, err)
	}
	done := make(chan error, 1)
	go func() { done <- ss.Wait() }() // ends with the session, at the latest when it is closed above
	for {
		select {
		case size := <-s.Resized:
			if err := ss.WindowChange(size.Rows, size.Columns); err != nil {
				return service.Network("the container does not take the size of the screen: "+err.Error(), Hint, err)
			}
		case err := <-done:
			var exit *ssh.ExitError
			if errors.As(err, &exit) {
				return nil
			}
			return ExitOf(err)
		case <-ctx.Done(): // the shell gets SIGHUP when the connection is closed
			return ctx.Err()
		}
	}
}

// ErrLate ends a command that did not end in its time.
var ErrLate = errors.New("the command did not end in time")

// RunFor runs a command, without a shell, for a time at most. Error: [ErrLate] after it; else as of Run.
func RunFor(ctx context.Context, client *ssh.Client, command []string, most time.Duration, out, errs io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, most, ErrLate)
	defer cancel()
	err := Run(ctx, client, Quote(command), Streams{Out: out, Err: errs})
	if err != nil && errors.Is(context.Cause(ctx), ErrLate) {
		return ErrLate
	}
	return err
}

// Quote writes a command as a line of a shell.
func Quote(command []string) string {
	words := make([]string, len(command))
	for i, w := range command {
		words[i] = QuoteWord(w)
	}
	return strings.Join(words, " ")
}

// QuoteWord quotes a word for a shell if it needs to be.
func QuoteWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
