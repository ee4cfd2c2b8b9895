package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

var (
	// ErrNobody: an answer is needed, and nobody can be asked.
	ErrNobody = errors.New("nobody can be asked: this is not a terminal")
	// ErrNoAnswer: the input ended before there was a usable answer.
	ErrNoAnswer = errors.New("the input ended without an answer")
	// ErrDeclined: the owner did not agree.
	ErrDeclined = errors.New("not confirmed; nothing was sent")
)

// Asker asks the owner.
type Asker struct {
	in       *bufio.Reader
	out      io.Writer
	terminal bool
}

// NewAsker reads answers from in. Without a terminal nothing is asked: every question fails with ErrNobody.
func NewAsker(in io.Reader, out io.Writer, terminal bool) *Asker {
	return &Asker{in: bufio.NewReader(in), out: out, terminal: terminal}
}

// Terminal reports whether somebody can be asked.
func (a *Asker) Terminal() bool { return a.terminal }

// Question is one answer that setup needs.
type Question struct {
	// Flag gives the same answer without a question, such as "region".
	Flag string
	// Text is what the owner reads.
	Text string
	// Default is taken for an empty line; empty where there is none.
	Default string
	// Optional takes the default where nobody can be asked.
	Optional bool
	// Check says what is wrong with an answer; may be nil.
	Check func(string) error
}

// Ask asks until the answer passes the question's check. Errors: ErrNobody, ErrNoAnswer, those of ctx.
func (a *Asker) Ask(ctx context.Context, q Question) (string, error) {
	if !a.terminal {
		return "", fmt.Errorf("%w; give --%s", ErrNobody, q.Flag)
	}
	for {
		suggestion := ""
		if q.Default != "" {
			suggestion = " [" + q.Default + "]"
		}
		fmt.Fprintf(a.out, "%s%s: ", q.Text, suggestion)
		line, err := a.line(ctx)
		if err != nil {
			return "", err
		}
		if line == "" {
			line = q.Default
		}
		switch {
		case line == "":
			err = errors.New("an answer is needed")
		case q.Check != nil:
			err = q.Check(line)
		}
		if err == nil {
			return line, nil
		}
		fmt.Fprintf(a.out, "  %v\n", err)
	}
}

// Agree asks whether to go on; anything but y or yes is a no. Errors: ErrDeclined, ErrNobody, those of ctx.
func (a *Asker) Agree(ctx context.Context) error {
	if !a.terminal {
		return fmt.Errorf("%w; scripts agree with --yes; nothing was sent", ErrNobody)
	}
	fmt.Fprint(a.out, "continue? [y/N] ")
	line, err := a.line(ctx)
	if errors.Is(err, ErrNoAnswer) {
		return ErrDeclined
	}
	if err != nil {
		return err
	}
	if answer := strings.ToLower(line); answer != "y" && answer != "yes" {
		return ErrDeclined
	}
	return nil
}

// line reads one line, unless ctx ends first.
func (a *Asker) line(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() { // ends with the process if nobody answers: a read of a terminal cannot be broken off
		line, err := a.in.ReadString('\n')
		got <- read{strings.TrimSpace(line), err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-got:
		switch {
		case r.err == nil, errors.Is(r.err, io.EOF) && r.line != "":
			return r.line, nil
		case errors.Is(r.err, io.EOF):
			return "", ErrNoAnswer
		}
		return "", fmt.Errorf("read your answer: %w", r.err)
	}
}
