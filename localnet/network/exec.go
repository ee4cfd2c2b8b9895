package network

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/gantry-market/gantry/localnet/process"
)

// Output is what a command of ours printed and how it ended.
type Output struct {
	// Args are the arguments, for messages.
	Args []string
	// Code is the exit code; -1 when a signal ended it.
	Code           int
	Stdout, Stderr string
	Took           time.Duration
}

// Decode reads the command's JSON document.
func (o Output) Decode(into any) error {
	if err := json.Unmarshal([]byte(o.Stdout), into); err != nil {
		return fmt.Errorf("%s printed no JSON document: %w: %s", o.Command(), err, shorten(o.Stdout))
	}
	return nil
}

// Command is the command line without the path.
func (o Output) Command() string { return strings.Join(o.Args, " ") }

// Err is nil when the command succeeded, else its message.
func (o Output) Err() error {
	if o.Code == 0 {
		return nil
	}
	message := strings.TrimSpace(o.Stderr)
	if message == "" {
		message = strings.TrimSpace(o.Stdout)
	}
	return fmt.Errorf("%s: exit code %d: %s", o.Command(), o.Code, shorten(message))
}

// runBinary runs one of our binaries to its end. Its error is about running it; the exit code is in the output.
func runBinary(ctx context.Context, mark, path string, env []string, args ...string) (Output, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(append(os.Environ(), env...), process.MarkVariable+"="+mark)
	// Asked first: a client that is interrupted says what is true on chain.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 3 * time.Second
	started := time.Now()
	err := cmd.Run()
	out := Output{
		Args: append([]string{baseName(path)}, args...), Code: cmd.ProcessState.ExitCode(),
		Stdout: stdout.String(), Stderr: stderr.String(), Took: time.Since(started),
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return out, fmt.Errorf("run %s: %w", out.Command(), err)
	}
	return out, nil
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func shorten(s string) string {
	const most = 600
	if len(s) > most {
		return "… " + s[len(s)-most:]
	}
	return s
}
