// Package screentest helps to test what is drawn on terminals: screens in files, and a small terminal that obeys what blocks write.
package screentest

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/screen"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// terminals are those of the golden screens, by the file's name.
var terminals = map[string]screen.Terminal{
	"60":         {Live: true, Unicode: true, Width: 60, Height: 40},
	"80":         {Live: true, Unicode: true, Width: 80, Height: 40},
	"80-ascii":   {Live: true, Width: 80, Height: 40},
	"140":        {Live: true, Unicode: true, Width: 140, Height: 40},
	"140-colour": {Live: true, Colour: true, Unicode: true, Width: 140, Height: 40},
}

// Golden compares what is drawn on each of the terminals with its file. No line is wider than the terminal, and colours change no
// width.
func Golden(t *testing.T, name string, draw func(screen.Terminal) string) {
	t.Helper()
	for of, at := range terminals {
		got := draw(at)
		for line := range strings.Lines(got) {
			require.LessOrEqual(t, screen.Width(strings.TrimSuffix(line, "\n")), at.Width, "%s on %s: %s", name, of, line)
		}
		if !at.Colour {
			require.NotContains(t, got, "\x1b")
		}
		if !at.Unicode {
			for _, r := range got {
				require.Less(t, r, rune(0x80), "%s on %s: %q", name, of, r)
			}
		}
		path := filepath.Join("testdata", fmt.Sprintf("%s-%s.txt", name, of))
		got = strings.ReplaceAll(got, "\x1b", "^")
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
			continue
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), got, path)
	}
}

// Emulator is as much of a terminal as blocks need: lines, the cursor's place, and whether it shows.
type Emulator struct {
	lines  [][]rune
	row    int
	column int
	Hidden bool
}

// Show obeys what a program writes; an escape code that it does not know fails the test.
func (e *Emulator) Show(t *testing.T, text string) {
	t.Helper()
	for len(text) > 0 {
		switch {
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexAny(text, "AJmhl")
			require.Positive(t, end, "%q", text)
			e.code(t, text[2:end], text[end])
			text = text[end+1:]
			continue
		case text[0] == '\n':
			e.row++
			e.column = 0 // as the tty makes it
		case text[0] == '\r':
			e.column = 0
		default:
			r := []rune(text)[0]
			require.GreaterOrEqual(t, r, ' ', "%q", text)
			e.put(r)
			text = text[len(string(r)):]
			continue
		}
		text = text[1:]
	}
}

func (e *Emulator) put(r rune) {
	for len(e.lines) <= e.row {
		e.lines = append(e.lines, nil)
	}
	for len(e.lines[e.row]) <= e.column {
		e.lines[e.row] = append(e.lines[e.row], ' ')
	}
	e.lines[e.row][e.column] = r
	e.column++
}

func (e *Emulator) code(t *testing.T, args string, code byte) {
	t.Helper()
	switch {
	case code == 'A':
		var n int
		_, err := fmt.Sscan(args, &n)
		require.NoError(t, err)
		e.row -= n
		require.GreaterOrEqual(t, e.row, 0)
	case code == 'J' && args == "":
		e.lines = e.lines[:min(e.row, len(e.lines))]
	case code == 'm':
	case args == "?25":
		e.Hidden = code == 'l'
	default:
		t.Fatalf("escape code %q %c", args, code)
	}
}

// Text is what stands on the terminal.
func (e *Emulator) Text() string {
	var out []string
	for _, l := range e.lines {
		out = append(out, strings.TrimRight(string(l), " "))
	}
	return strings.Join(out, "\n")
}

// Pty is a pseudo-terminal: a program writes to the terminal and reads from it.
type Pty struct {
	screen.Terminal
	TTY *os.File

	master *os.File
	mu     sync.Mutex
	got    bytes.Buffer
	reads  sync.WaitGroup
}

// OpenPty opens one of a size.
func OpenPty(t *testing.T, columns, rows uint16) *Pty {
	t.Helper()
	return openPty(t, columns, rows, map[string]string{"TERM": "xterm", "LANG": "C.UTF-8"})
}

func openPty(t *testing.T, columns, rows uint16, env map[string]string) *Pty {
	t.Helper()
	master, tty, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(tty, &pty.Winsize{Rows: rows, Cols: columns}))
	p := &Pty{master: master, TTY: tty}
	p.Terminal = screen.Of(tty, func(name string) string { return env[name] })
	require.True(t, p.Live)
	require.Equal(t, int(columns), p.Width)
	p.reads.Go(func() { _, _ = io.Copy(p, master) })
	return p
}

// Write keeps what the program has written.
func (p *Pty) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got.Write(b)
}

// Read is what the program has written so far.
func (p *Pty) Read() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.ReplaceAll(p.got.String(), "\r\n", "\n")
}

// Type is what a person types.
func (p *Pty) Type(t *testing.T, keys string) {
	t.Helper()
	_, err := p.master.WriteString(keys)
	require.NoError(t, err)
}

// Close ends the terminal. It returns all that the program has written.
func (p *Pty) Close(t *testing.T) string {
	t.Helper()
	if !strings.Contains(p.Read(), last) {
		time.Sleep(50 * time.Millisecond) // what is written last has to arrive
	}
	require.NoError(t, p.TTY.Close())
	p.reads.Wait()
	require.NoError(t, p.master.Close())
	return p.Read()
}
