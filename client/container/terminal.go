package container

import (
	"context"
	"os"

	"golang.org/x/crypto/ssh"
	"golang.org/x/term"

	"github.com/gantry-market/gantry/client/service"
)

const columnsUnknown, rowsUnknown = 80, 24

// GiveTerminal gives a session a terminal of the size of this one, which passes every key on until restore is called. in is where keys
// come from, out the window.
func GiveTerminal(ctx context.Context, ss *ssh.Session, in, out *os.File) (restore func(), err error) {
	columns, rows, ok := windowSize(in, out)
	if !ok {
		columns, rows = columnsUnknown, rowsUnknown
	}
	name := os.Getenv("TERM")
	if name == "" {
		name = "xterm"
	}
	if err := ss.RequestPty(name, rows, columns, ssh.TerminalModes{}); err != nil {
		return nil, service.Network("the container gives no terminal: "+err.Error(), "leave --tty out", err)
	}
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		watchWindow(ctx, func() {
			if c, r, ok := windowSize(in, out); ok && (c != columns || r != rows) {
				columns, rows = c, r
				_ = ss.WindowChange(rows, columns)
			}
		})
	}()
	return func() {
		cancel()
		<-done
		_ = term.Restore(int(in.Fd()), before)
	}, nil
}

// windowSize is what one of the files says: Windows asks where is written, and out may be a pipe.
func windowSize(in, out *os.File) (columns, rows int, ok bool) {
	for _, f := range []*os.File{out, in} {
		if c, r, err := term.GetSize(int(f.Fd())); err == nil {
			return c, r, true
		}
	}
	return 0, 0, false
}
