package screentest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/screen"
)

// unbroken is how long a word is that stays whole: an address has 43 characters or more.
const unbroken = 43

// last is written after a screen, to know when all of it has arrived.
const last = "\x00"

// Screens compares what is drawn on pseudo-terminals of 80 and 140 columns, with and without colour, with one file of the folder
// testdata/screens. Colours change no text. No line is wider than its terminal, but one that has
// a long word, such as an address, or a command that a person copies.
func Screens(t *testing.T, name string, draw func(screen.Terminal)) {
	t.Helper()
	var all strings.Builder
	for _, columns := range []uint16{80, 140} {
		plain := onPty(t, columns, map[string]string{"NO_COLOR": "1"}, draw)
		assert.NotContains(t, plain, "\x1b", name)
		assert.NotRegexp(t, `\w{7}…`, plain, "%s on %d columns: what is cut cannot be copied", name, columns)
		for line := range strings.Lines(plain) {
			line = strings.TrimSuffix(line, "\n")
			whole := slices.ContainsFunc(strings.Fields(line), func(word string) bool { return len(word) >= unbroken })
			if screen.Width(line) > int(columns) && !whole && len(screen.Words(line, int(columns))) > 1 {
				t.Errorf("%s on %d columns is too wide: %q", name, columns, line)
			}
		}
		colour := onPty(t, columns, nil, draw)
		assert.Equal(t, plain, ansi.Strip(colour), "%s: colours change the text", name)
		fmt.Fprintf(&all, "--- %d columns\n%s", columns, plain)
		if colour != plain {
			fmt.Fprintf(&all, "--- %d columns, colour\n%s", columns, strings.ReplaceAll(colour, "\x1b", "^"))
		}
	}
	path := filepath.Join("testdata", "screens", name+".txt")
	if *update {
		assert.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.NoError(t, os.WriteFile(path, []byte(all.String()), 0o600))
		return
	}
	want, err := os.ReadFile(path)
	assert.NoError(t, err)
	assert.Equal(t, string(want), all.String(), "%s: if the screen is as it should be, run the test with -update", path)
}

// onPty is what is drawn on one pseudo-terminal.
func onPty(t *testing.T, columns uint16, more map[string]string, draw func(screen.Terminal)) string {
	t.Helper()
	env := map[string]string{"TERM": "xterm", "LANG": "C.UTF-8"}
	for name, value := range more {
		env[name] = value
	}
	p := openPty(t, columns, 50, env)
	draw(p.Terminal)
	fmt.Fprint(p.TTY, last)
	require.Eventually(t, func() bool { return strings.Contains(p.Read(), last) }, time.Minute, time.Millisecond)
	text, _, _ := strings.Cut(p.Close(t), last)
	return text
}
