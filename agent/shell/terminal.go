package shell

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creack/pty"
	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
)

// quietTime is how long a terminal may be silent after its command has ended until what others, left behind, might still
// write there is not waited for.
const quietTime = 300 * time.Millisecond

// tty is a terminal of a session; nil is none.
type tty struct {
	term string
	ptmx *os.File // the server's side
	tty  *os.File // the command's
	once sync.Once
}

// ptyRequest is the payload of pty-req; see RFC 4254, 6.2. Terminal modes are those of a new terminal.
type ptyRequest struct {
	Term                         string
	Columns, Rows, Width, Height uint32
	Modes                        string
}

func (s *session) openTerminal(payload []byte) bool {
	var r ptyRequest
	if s.tty != nil || s.started || ssh.Unmarshal(payload, &r) != nil {
		return false
	}
	opened, slave, err := pty.Open()
	if err != nil {
		return false
	}
	ptmx, err := pollable(opened)
	if err != nil {
		_ = slave.Close()
		return false
	}
	s.tty = &tty{term: r.Term, ptmx: ptmx, tty: slave}
	return s.tty.setSize(r.Columns, r.Rows, r.Width, r.Height)
}

// pollable replaces a file by one whose reads end when it is closed.
func pollable(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func (t *tty) resize(payload []byte) bool {
	var r struct{ Columns, Rows, Width, Height uint32 }
	return t != nil && ssh.Unmarshal(payload, &r) == nil && t.setSize(r.Columns, r.Rows, r.Width, r.Height)
}

func (t *tty) setSize(columns, rows, width, height uint32) bool {
	n := func(v uint32) uint16 { return uint16(min(v, 1<<16-1)) }
	size := unix.Winsize{Col: n(columns), Row: n(rows), Xpixel: n(width), Ypixel: n(height)}
	return t.control(func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size) }) == nil
}

// control calls f with the server's side, which is not closed meanwhile. Fd would make reads block, and closing wait for
// them.
func (t *tty) control(f func(fd int) error) error {
	raw, err := t.ptmx.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	if err := raw.Control(func(fd uintptr) { ferr = f(int(fd)) }); err != nil {
		return err
	}
	return ferr
}

func (t *tty) environment() []string {
	if t == nil || t.term == "" {
		return nil
	}
	return []string{"TERM=" + t.term, "SSH_TTY=" + t.tty.Name()}
}

// foreground is the process group in the terminal's foreground.
func (t *tty) foreground() (group int, ok bool) {
	if t == nil {
		return 0, false
	}
	err := t.control(func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return group, err == nil && group > 0
}

func (t *tty) close() {
	if t != nil {
		t.once.Do(func() {
			_ = t.ptmx.Close()
			_ = t.tty.Close()
		})
	}
}

// withTerminal runs a command in the session's terminal.
func (s *session) withTerminal(ctx context.Context, cmd *exec.Cmd) *exit {
	t := s.tty
	defer t.close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.tty, t.tty, t.tty
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return s.failed(err)
	}
	_ = t.tty.Close() // the command's alone: the output ends when no process has it open any more
	var last atomic.Int64
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		show(s.channel, t.ptmx, &last)
	}()
	var input sync.WaitGroup
	input.Go(func() { _, _ = io.Copy(t.ptmx, s.channel) }) // until the terminal or the channel is closed
	result := s.wait(ctx, cmd)
	last.CompareAndSwap(0, time.Now().UnixNano())
	for waiting := true; waiting; {
		select {
		case <-shown:
			waiting = false
		case <-ctx.Done():
			waiting = false
		case <-time.After(quietTime / 3):
			at := last.Load()
			waiting = at < 0 || time.Since(time.Unix(0, at)) < quietTime
		}
	}
	s.end(result)
	t.close()
	<-shown
	input.Wait()
	return nil
}

// show copies a terminal's output to the client. last is when the copy began to wait for output, and negative while it
// waits for the client.
func show(to io.Writer, from io.Reader, last *atomic.Int64) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		last.Store(-1)
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil { // EIO: no process has the terminal open any more
			return
		}
		last.Store(time.Now().UnixNano())
	}
}
