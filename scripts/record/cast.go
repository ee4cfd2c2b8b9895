package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// still is how long nothing must come before what stands on the terminal counts as drawn.
	still = 20 * time.Millisecond
	// between is the least time between two frames. A program that draws a turning wheel ten times a second makes no larger recording.
	between = 500 * time.Millisecond
	// longest is the longest time in which nothing happens: longer ones are cut.
	longest = 2 * time.Second
)

// frame is what changes on the screen at a moment.
type frame struct {
	at   time.Duration
	text string
}

// cast is what was seen on a terminal: at most two frames a second, each with the lines that have changed since the one before.
type cast struct {
	terminal *terminal
	home     string       // shown as ~
	held     []byte       // what may be the beginning of home
	printed  bytes.Buffer // all that came, with ~ for home
	begin    time.Time
	shown    [][]cell
	frames   []frame
}

func newCast(t *terminal, home string) *cast { return &cast{terminal: t, home: home} }

// follow reads what a program prints until it ends.
func (c *cast) follow(from io.Reader, now func() time.Time) error {
	c.begin = now()
	last, buffer := c.begin, make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		at := now()
		if at.Sub(last) >= still && (len(c.frames) == 0 || last.Sub(c.begin)-c.frames[len(c.frames)-1].at >= between) {
			c.frame(last)
		}
		last = at
		ended := errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) // how a pseudo-terminal ends on Linux
		if _, err := io.MultiWriter(c.terminal, &c.printed).Write(c.shortened(buffer[:n], ended)); err != nil {
			return err
		}
		switch {
		case ended:
			c.frame(at)
			return nil
		case err != nil:
			return fmt.Errorf("read the terminal: %w", err)
		}
	}
}

// frame adds what has changed.
func (c *cast) frame(at time.Time) {
	screen := c.terminal.screen()
	if c.shown == nil && strings.Join(c.terminal.plain(), "") == "" {
		return // nothing was printed yet
	}
	var out strings.Builder
	for i, line := range screen {
		if i >= len(c.shown) || !slices.Equal(line, c.shown[i]) {
			fmt.Fprintf(&out, "\x1b[%d;1H%s\x1b[K", i+1, painted(line))
		}
	}
	c.shown = screen
	if out.Len() > 0 {
		c.frames = append(c.frames, frame{at.Sub(c.begin), out.String()})
	}
}

// last is the last screen.
func (c *cast) last() [][]cell { return c.shown }

// shortened writes ~ for home. What may be its beginning waits for the rest.
func (c *cast) shortened(raw []byte, ended bool) []byte {
	all := bytes.ReplaceAll(append(c.held, raw...), []byte(c.home), []byte("~"))
	end := len(all)
	for n := min(len(c.home)-1, len(all)); n > 0 && !ended; n-- {
		if bytes.HasSuffix(all, []byte(c.home[:n])) {
			end -= n
			break
		}
	}
	c.held = slices.Clone(all[end:])
	return all[:end]
}

// painted is a line with the codes of its colours.
func painted(line []cell) string {
	var out strings.Builder
	for _, r := range runs(line) {
		if r.look == "" {
			out.WriteString(r.text)
		} else {
			fmt.Fprintf(&out, "\x1b[%sm%s\x1b[0m", r.look, r.text)
		}
	}
	return out.String()
}

// stretch is a part of a line that looks the same.
type stretch struct {
	column int
	text   string
	look   style
}

func runs(line []cell) (out []stretch) {
	for i, c := range line {
		if i == 0 || out[len(out)-1].look != c.look {
			out = append(out, stretch{column: i, look: c.look})
		}
		out[len(out)-1].text += string(c.r)
	}
	return out
}

// write writes the cast: a header, then a line for each frame.
func (c *cast) write(out io.Writer, title string) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	header := struct {
		Version int               `json:"version"`
		Width   int               `json:"width"`
		Height  int               `json:"height"`
		Title   string            `json:"title,omitempty"`
		Env     map[string]string `json:"env"`
	}{2, c.terminal.columns, c.terminal.rows, title, map[string]string{"TERM": "xterm-256color"}}
	if err := encoder.Encode(header); err != nil {
		return err
	}
	var cut, before time.Duration
	for _, f := range c.frames {
		if pause := f.at - before; pause > longest {
			cut += pause - longest
		}
		before = f.at
		seconds := json.Number(fmt.Sprintf("%.3f", (f.at - cut).Seconds()))
		if err := encoder.Encode([]any{seconds, "o", f.text}); err != nil {
			return err
		}
	}
	return nil
}
