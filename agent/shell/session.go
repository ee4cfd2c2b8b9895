package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// maxEnv bounds the variables that a client sets for a session.
const maxEnv = 128

// notStarted is the exit status of what could not be started, as shells report it, and notAllowed that of a file that is there and may
// not be executed.
const notStarted, notAllowed = 127, 126

// session is one channel of type session. Its requests are handled one after the other; only the last, which starts
// something, runs beside those that follow.
type session struct {
	channel ssh.Channel
	env     []string
	tty     *tty // nil without a terminal

	started bool
	running func() // to be called once there is a process, or none to come

	mu      sync.Mutex
	process *os.Process // nil unless there is one
}

func (s *server) session(ctx context.Context, ch ssh.NewChannel) {
	channel, requests, err := ch.Accept()
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	ss := &session{channel: channel}
	var wg sync.WaitGroup
	for r := range requests { // until the channel is closed, by either side
		run, ok := ss.handle(r)
		if r.WantReply {
			_ = r.Reply(ok, nil)
		}
		if run != nil {
			ready := make(chan struct{})
			ss.running = sync.OnceFunc(func() { close(ready) })
			wg.Go(func() {
				defer ss.running()
				ss.end(run(ctx))
			})
			<-ready // so that the next request, a signal, finds the process
		}
	}
	cancel()
	wg.Wait()
	ss.tty.close()
}

// handle obeys a request; run is what it starts.
func (s *session) handle(r *ssh.Request) (run func(context.Context) *exit, ok bool) {
	switch r.Type {
	case "env":
		var v struct{ Name, Value string }
		if ssh.Unmarshal(r.Payload, &v) != nil || len(s.env) >= maxEnv || s.started {
			return nil, false
		}
		s.env = append(s.env, v.Name+"="+v.Value)
		return nil, true
	case "pty-req":
		return nil, s.openTerminal(r.Payload)
	case "window-change":
		return nil, s.tty.resize(r.Payload)
	case "signal":
		var v struct{ Name string }
		return nil, ssh.Unmarshal(r.Payload, &v) == nil && s.signal(v.Name)
	case "shell", "exec", "subsystem":
	default:
		return nil, false
	}
	if s.started {
		return nil, false
	}
	run = s.starts(r)
	s.started = run != nil
	return run, s.started
}

// starts is what a request that starts something means; nil for nothing.
func (s *session) starts(r *ssh.Request) func(context.Context) *exit {
	if r.Type == "shell" {
		return func(ctx context.Context) *exit { return s.command(ctx, "") }
	}
	var v struct{ Text string }
	switch {
	case ssh.Unmarshal(r.Payload, &v) != nil:
		return nil
	case r.Type == "exec":
		return func(ctx context.Context) *exit { return s.command(ctx, v.Text) }
	case v.Text == "sftp":
		return s.files
	}
	return nil
}

// files serves the container's files by SFTP, from the user's home on.
func (s *session) files(ctx context.Context) *exit {
	s.running()
	server, err := sftp.NewServer(s.channel, sftp.WithServerWorkingDirectory(home()))
	if err != nil {
		return s.failed(err)
	}
	// Not closed here: the channel still has to carry how it ended, without which scp says that it failed.
	stop := context.AfterFunc(ctx, func() { _ = s.channel.Close() })
	defer stop()
	if err := server.Serve(); err != nil && !errors.Is(err, io.EOF) {
		return &exit{Status: 1}
	}
	return &exit{}
}

// command runs a line of text in a shell, or a shell where it is empty. In an image without a shell it runs the words of the
// line, so that a command alone needs none.
func (s *session) command(ctx context.Context, line string) *exit {
	me := whoami()
	var argv []string
	switch shell, err := me.findShell(); {
	case err == nil && line == "":
		argv = []string{shell}
	case err == nil:
		argv = []string{shell, "-c", line}
	case line == "":
		return s.failed(err)
	default:
		if argv, err = words(line); err != nil {
			return s.failed(errors.Join(errNoShell, err))
		}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(append(me.environment(os.Environ()), s.env...), s.tty.environment()...)
	cmd.Dir = me.directory()
	if s.tty != nil {
		return s.withTerminal(ctx, cmd)
	}
	return s.withPipes(ctx, cmd)
}

// withPipes runs a command without a terminal.
func (s *session) withPipes(ctx context.Context, cmd *exec.Cmd) *exit {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var copies sync.WaitGroup
	var ours, theirs []io.Closer
	defer func() { closeAll(ours); closeAll(theirs) }()
	for _, out := range []struct {
		to   io.Writer
		file *io.Writer
	}{{s.channel, &cmd.Stdout}, {s.channel.Stderr(), &cmd.Stderr}} {
		r, w, err := os.Pipe()
		if err != nil {
			return s.failed(err)
		}
		ours, theirs, *out.file = append(ours, r), append(theirs, w), w
		copies.Go(func() { _, _ = io.Copy(out.to, r) })
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return s.failed(err)
	}
	if err := cmd.Start(); err != nil {
		return s.failed(err)
	}
	closeAll(theirs)
	var input sync.WaitGroup
	input.Go(func() {
		_, _ = io.Copy(in, s.channel) // until the client ends its input, the command does not read it, or the channel is closed
		_ = in.Close()
	})
	result := s.wait(ctx, cmd)
	// What the command has left behind may write on, as long as the client listens.
	stop := context.AfterFunc(ctx, func() { closeAll(ours) })
	defer stop()
	copies.Wait()
	s.end(result)
	input.Wait()
	return nil
}

func closeAll(files []io.Closer) {
	for _, f := range files {
		_ = f.Close()
	}
}

// wait waits for a command; once ctx ends, it ends the command.
func (s *session) wait(ctx context.Context, cmd *exec.Cmd) *exit {
	s.mu.Lock()
	s.process = cmd.Process
	s.mu.Unlock()
	s.running()
	over := make(chan struct{})
	hung := make(chan struct{})
	go func() {
		defer close(hung)
		select {
		case <-over:
		case <-ctx.Done():
			hangUp(cmd.Process.Pid, over)
		}
	}()
	_ = cmd.Wait()
	s.mu.Lock()
	s.process = nil // its number may be another's from now on
	s.mu.Unlock()
	close(over)
	<-hung
	return exitOf(cmd.ProcessState)
}

// failed tells the client why nothing was started.
func (s *session) failed(err error) *exit {
	fmt.Fprintf(s.channel.Stderr(), "gantry: %v\r\n", err)
	return &exit{Status: statusOf(err)}
}

// statusOf is the exit status of what could not be started.
func statusOf(err error) uint32 {
	if errors.Is(err, fs.ErrPermission) {
		return notAllowed
	}
	return notStarted
}

// exit is how something has ended: a status, or a signal's name.
type exit struct {
	Status uint32
	Signal string
	Core   bool
}

func exitOf(st *os.ProcessState) *exit {
	status, ok := st.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		for name, sig := range signals {
			if sig == status.Signal() {
				return &exit{Signal: name, Core: status.CoreDump()}
			}
		}
		return &exit{Status: 128 + uint32(status.Signal())}
	case ok:
		return &exit{Status: uint32(status.ExitStatus())}
	}
	return &exit{Status: notStarted}
}

// end tells the client how it ended and closes the channel; nil if that was done already.
func (s *session) end(e *exit) {
	if e == nil {
		return
	}
	_ = s.channel.CloseWrite()
	if e.Signal != "" {
		_, _ = s.channel.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Name    string
			Core    bool
			Message string
			Lang    string
		}{e.Signal, e.Core, "", ""}))
	} else {
		_, _ = s.channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{e.Status}))
	}
	_ = s.channel.Close()
}
