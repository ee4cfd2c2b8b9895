package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Program is what is run on machines.
const Program = "gantry-agent"

// maxOutput bounds what a machine may answer.
const maxOutput = 4 << 20

// ErrReach: a command could not be run on a machine, or failed there.
var ErrReach = errors.New("the machine did not do it")

// Run runs gantry-agent on the machine and returns its standard output. The error has the end of its standard error.
// Error: ErrReach.
func (m Machine) Run(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	line := m.command(args)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Stdin = bytes.NewReader(input)
	var out, errs limited
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %s: %w", ErrReach, m.Name, ctx.Err())
	case errors.Is(err, errTooMuch):
		return nil, fmt.Errorf("%w: %s: %w", ErrReach, m.Name, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %s (%w)", ErrReach, m.Name, last(errs.kept.String()), err)
	}
	return out.kept.Bytes(), nil
}

// command is the whole command line. SSH passes words to a shell on the machine, so that they are quoted for it; a command
// of the owner's own gets them as they are.
func (m Machine) command(args []string) []string {
	if m.SSH == "" {
		return append(append(append([]string{}, m.Through...), Program), args...)
	}
	words := []string{Program}
	for _, a := range args {
		words = append(words, quote(a))
	}
	return []string{"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "--", m.SSH, strings.Join(words, " ")}
}

// quote makes a word of a shell's.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// last is the last line that says something.
func last(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if line := strings.TrimPrefix(strings.TrimSpace(lines[len(lines)-1]), "error: "); line != "" {
		return line
	}
	return "it said nothing"
}

// errTooMuch: what runs is ended by it, since what it writes is read no more.
var errTooMuch = fmt.Errorf("it writes more than %d MiB", maxOutput>>20)

// limited keeps what is written, up to a size. It has no other method of the buffer: ReadFrom would have no limit.
type limited struct{ kept bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.kept.Len()+len(p) > maxOutput {
		return 0, errTooMuch
	}
	return l.kept.Write(p)
}
