package terminal

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// golden compares what is drawn on each of the terminals with its file. No line is wider than the terminal, and colours change no
// width.
func golden(t *testing.T, name string, draw func(screen.Terminal) string) {
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

// emulator is as much of a terminal as blocks need: lines, the cursor's place, and whether it shows.
type emulator struct {
	lines  [][]rune
	row    int
	column int
	hidden bool
}

// show obeys what a program writes; an escape code that it does not know fails the test.
func (e *emulator) show(t *testing.T, text string) {
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

func (e *emulator) put(r rune) {
	for len(e.lines) <= e.row {
		e.lines = append(e.lines, nil)
	}
	for len(e.lines[e.row]) <= e.column {
		e.lines[e.row] = append(e.lines[e.row], ' ')
	}
	e.lines[e.row][e.column] = r
	e.column++
}

func (e *emulator) code(t *testing.T, args string, code byte) {
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
		e.hidden = code == 'l'
	default:
		t.Fatalf("escape code %q %c", args, code)
	}
}

// text is what stands on the terminal.
func (e *emulator) text() string {
	var out []string
	for _, l := range e.lines {
		out = append(out, strings.TrimRight(string(l), " "))
	}
	return strings.Join(out, "\n")
}
