package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

var errCode = errors.New("the recorder does not know this code of a terminal")

// style is how a character looks: the parameters that select it, such as "1" for bold or "32" for green; empty for plain.
type style string

// cell is one character on the terminal.
type cell struct {
	r    rune
	look style
}

// terminal is as much of a terminal as programs here use: lines that are drawn again in place, colours, a cursor that can be hidden. Every
// character is one column wide.
type terminal struct {
	columns, rows int
	lines         [][]cell // rows of them
	row, column   int
	look          style
	rest          []byte // the beginning of a code or of a character whose end has not come yet
}

func newTerminal(columns, rows int) *terminal {
	return &terminal{columns: columns, rows: rows, lines: make([][]cell, rows)}
}

// Write shows what a program prints.
func (t *terminal) Write(raw []byte) (int, error) {
	t.rest = append(t.rest, raw...)
	for len(t.rest) > 0 {
		n, err := t.next(t.rest)
		if err != nil || n == 0 {
			return len(raw), err
		}
		t.rest = t.rest[n:]
	}
	return len(raw), nil
}

// next shows the first character or obeys the first code, and returns how long it is; 0 if its end is missing.
func (t *terminal) next(text []byte) (int, error) {
	switch text[0] {
	case '\r':
		t.column = 0
	case '\n':
		t.lineFeed()
	case '\x1b':
		return t.code(text)
	default:
		if !utf8.FullRune(text) {
			return 0, nil
		}
		r, n := utf8.DecodeRune(text)
		if r < ' ' {
			return 0, fmt.Errorf("%w: %q", errCode, r)
		}
		t.put(r)
		return n, nil
	}
	return 1, nil
}

func (t *terminal) lineFeed() {
	if t.row++; t.row == t.rows {
		t.row--
		t.lines = append(t.lines[1:], nil)
	}
}

func (t *terminal) put(r rune) {
	if t.column == t.columns {
		t.column = 0
		t.lineFeed()
	}
	line := t.lines[t.row]
	for len(line) <= t.column {
		line = append(line, cell{r: ' '})
	}
	line[t.column] = cell{r, t.look}
	t.lines[t.row] = line
	t.column++
}

// code obeys ESC [ PARAMETERS LETTER.
func (t *terminal) code(text []byte) (int, error) {
	if len(text) < 3 {
		return 0, nil
	}
	end := 2
	for end < len(text) && (text[end] < '@' || text[end] > '~') {
		end++
	}
	if text[1] != '[' || end-2 > 20 {
		return 0, fmt.Errorf("%w: %q", errCode, text[:min(len(text), 20)])
	}
	if end == len(text) {
		return 0, nil
	}
	parameters := string(text[2:end])
	switch {
	case text[end] == 'm':
		t.paint(parameters)
	case text[end] == 'J' && parameters == "":
		t.lines[t.row] = t.lines[t.row][:min(len(t.lines[t.row]), t.column)]
		for i := t.row + 1; i < t.rows; i++ {
			t.lines[i] = nil
		}
	case text[end] == 'A':
		n, err := strconv.Atoi(parameters)
		if err != nil {
			return 0, fmt.Errorf("%w: %q", errCode, text[:end+1])
		}
		t.row = max(0, t.row-n)
	case parameters == "?25": // whether the cursor shows
	default:
		return 0, fmt.Errorf("%w: %q", errCode, text[:end+1])
	}
	return end + 1, nil
}

// paint selects how what follows looks.
func (t *terminal) paint(parameters string) {
	for p := range strings.SplitSeq(parameters, ";") {
		switch {
		case p == "" || p == "0":
			t.look = ""
		case t.look == "":
			t.look = style(p)
		default:
			t.look += style(";" + p)
		}
	}
}

// screen is a copy of what stands on the terminal.
func (t *terminal) screen() [][]cell {
	out := make([][]cell, len(t.lines))
	for i, line := range t.lines {
		out[i] = append([]cell(nil), line...)
	}
	return out
}

// plain is what stands there without colours.
func (t *terminal) plain() []string {
	var out []string
	for _, line := range t.lines {
		out = append(out, text(line))
	}
	return out
}

func text(line []cell) string {
	var b strings.Builder
	for _, c := range line {
		b.WriteRune(c.r)
	}
	return strings.TrimRight(b.String(), " ")
}
