package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

// ErrShell: there is no container to enter, or this node has not what serves there.
var ErrShell = errors.New("runtime: the container cannot be entered")

// shellGrace is how long what a broken connection has started may take to end, until the agent does not wait for it.
const shellGrace = 10 * time.Second

// leaveTime is within which the end of a stream is seen after nothing can be written to it.
const leaveTime = time.Second

// Shell implements [Runtime]. The server's program comes from the node: its file is handed to the sandbox as a descriptor,
// so that nothing is mounted for it and images need not have it. When the agent dies the server reads the end of its
// input and ends by itself.
func (p *Process) Shell(ctx context.Context, leaseID string, asRoot bool, setup []byte, stream io.ReadWriter) error {
	d, err := p.dir(leaseID)
	if err != nil {
		return err
	}
	st, err := d.status()
	if err != nil {
		return err
	}
	if st.Phase != Running || st.Spec.Image == "" {
		return fmt.Errorf("%w: lease %s has none that runs", ErrShell, leaseID)
	}
	c, err := readContainer(d)
	if err != nil {
		return err
	}
	if p.sandbox.Shell == "" {
		return fmt.Errorf("%w: this node has no gantry-shell beside its agent", ErrShell)
	}
	program, err := os.Open(p.sandbox.Shell)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrShell, err)
	}
	defer program.Close()
	if err := awaitSandbox(ctx, d, c); err != nil {
		return err
	}
	command := []string{"--root", d.sandboxState(), "--log", os.DevNull, "exec", "--exec-fd", "3"}
	if asRoot {
		command = append(command, "--user", "0:0")
	}
	cmd := exec.Command(c.Runsc, append(command, leaseID, "gantry-shell")...)
	cmd.Env = []string{"PATH=" + defaultPath}
	cmd.ExtraFiles = []*os.File{program}
	return converse(ctx, cmd, setup, stream)
}

// awaitSandbox waits until a container that has just been started can be entered.
func awaitSandbox(ctx context.Context, d leaseDir, c container) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		out, err := exec.CommandContext(ctx, c.Runsc, "--root", d.sandboxState(), "--log", os.DevNull, "state", filepath.Base(string(d))).Output()
		var state specs.State
		if err == nil {
			err = json.Unmarshal(out, &state)
		}
		if err == nil && state.Status == specs.StateRunning {
			return nil
		}
		st, serr := d.status()
		switch {
		case serr != nil:
			return serr
		case st.Phase != Running:
			return fmt.Errorf("%w: the job has ended", ErrShell)
		}
		if wait.For(ctx, statePoll) != nil {
			return fmt.Errorf("%w: its sandbox does not start: %w", ErrShell, errors.Join(ctx.Err(), err))
		}
	}
}

// converse runs a command between a line of setup and a stream, until either ends or ctx does.
func converse(ctx context.Context, cmd *exec.Cmd, setup []byte, stream io.ReadWriter) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	widen(in)
	widen(out)
	var said bytes.Buffer
	cmd.Stderr = &limitedWriter{w: &said, left: 4 << 10}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: %w", ErrShell, err)
	}
	hangUp := sync.OnceFunc(func() { _ = in.Close() })
	stop := context.AfterFunc(ctx, hangUp)
	defer stop()
	gone, leave := context.WithCancel(context.WithoutCancel(ctx))
	go func() { // ends with the stream, which the caller closes
		defer leave()
		defer hangUp()
		if _, err := in.Write(setup); err == nil {
			_, _ = tunnel.Copy(in, stream)
		}
	}()
	copied := make(chan error, 1)
	go func() {
		_, err := tunnel.Copy(stream, out)
		copied <- err
	}()
	select {
	case err = <-copied:
		if err != nil && wait.For(gone, leaveTime) != nil {
			err = nil // the stream has ended: nobody is there to be told what the command still said
		}
	case <-ctx.Done():
		err = ctx.Err()
	}
	hangUp()
	kill := time.AfterFunc(shellGrace, func() { _ = cmd.Process.Kill() })
	werr := cmd.Wait() // closes out, so that the copy ends
	kill.Stop()
	var exit *exec.ExitError
	if err == nil && errors.As(werr, &exit) {
		return fmt.Errorf("%w: %w: %s", ErrShell, werr, strings.TrimSpace(said.String()))
	}
	return err
}

// pipeSize is how many bytes wait at most between the agent and a sandbox in each direction.
const pipeSize = 1 << 20

// widen lets a pipe take more at once. Where the kernel refuses, it is as it was.
func widen(pipe any) {
	f, ok := pipe.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}

// limitedWriter keeps the beginning of what is written.
type limitedWriter struct {
	w    io.Writer
	left int
}

func (l *limitedWriter) Write(b []byte) (int, error) {
	n := min(len(b), l.left)
	l.left -= n
	if _, err := l.w.Write(b[:n]); err != nil {
		return 0, err
	}
	return len(b), nil
}
