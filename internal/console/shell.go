package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// ErrFailed means that a command ended with another status than 0.
var ErrFailed = errors.New("command failed")

// ended is printed behind each command, with its status.
const ended = "--- end of the command, status "

// Shell is one bash in which all steps of a page run, so that variables, functions and background jobs stay.
type Shell struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	cancel context.CancelFunc
}

// Start starts a shell in a folder, as a user or, if that is nil, as this process's own. Everything that it starts belongs to its
// process group, which Close kills.
func Start(ctx context.Context, dir string, env []string, as *syscall.Credential) (*Shell, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "bash", "--noprofile", "--norc")
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	in, err := cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("start a shell: %w", err)
	}
	return &Shell{cmd: cmd, in: in, out: bufio.NewReader(out), cancel: cancel}, nil
}

// Run runs one command and returns its output, standard error included. Error: ErrFailed with the status, or the shell
// is gone.
func (s *Shell) Run(command string) (string, error) {
	if _, err := fmt.Fprintf(s.in, "{\n%s\n} </dev/null\nprintf '\\n%s%%d\\n' $?\n", command, ended); err != nil {
		return "", fmt.Errorf("the shell is gone: %w", err)
	}
	var output strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			return output.String(), fmt.Errorf("the shell is gone: %w", err)
		}
		status, found := strings.CutPrefix(line, ended)
		if !found {
			output.WriteString(line)
			continue
		}
		// printf begins with a new line, in case the output ends without one.
		text := strings.TrimSuffix(output.String(), "\n")
		if code, err := strconv.Atoi(strings.TrimSpace(status)); err != nil || code != 0 {
			return text, fmt.Errorf("%w with status %s", ErrFailed, strings.TrimSpace(status))
		}
		return text, nil
	}
}

// Close kills the shell and everything that it started.
func (s *Shell) Close() {
	_ = s.in.Close()
	s.cancel()
	_ = s.cmd.Wait() // it was killed: that is what Wait says
}
