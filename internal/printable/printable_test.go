package printable_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/printable"
)

func TestText(t *testing.T) {
	for in, out := range map[string]string{
		"":                           "",
		"H100-SXM5-80GB":             "H100-SXM5-80GB",
		"Zürich ✓ 东京 µ":              "Zürich ✓ 东京 µ",
		"a\x1b[2Jb":                  `a\u001b[2Jb`,
		"\x1b]52;c;aGk=\a":           `\u001b]52;c;aGk=\u0007`,
		"one\ntwo\tthree\r":          `one\u000atwo\u0009three\u000d`,
		"\u202egpj.exe":              `\u202egpj.exe`,
		"zero\u200bwidth\ufeff":      `zero\u200bwidth\ufeff`,
		"\u009b31m\u0085\u2028":      `\u009b31m\u0085\u2028`,
		"bad \xff\xc0 utf":           `bad \xff\xc0 utf`,
		"tag \U000e0041":             `tag \udb40\udc41`,
		strings.Repeat("a", 512):     strings.Repeat("a", 512),
		strings.Repeat("a", 513):     strings.Repeat("a", 509) + "…",
		strings.Repeat("\x00", 9999): strings.Repeat(`\u0000`, 84) + "…",
	} {
		require.Equal(t, out, printable.Text(in), "%q", in)
		require.LessOrEqual(t, len(printable.Text(in)), printable.MaxText)
	}
	require.Equal(t, "one\n\ttwo\\u000d\n"+strings.Repeat("a", 9999), printable.Lines("one\n\ttwo\r\n"+strings.Repeat("a", 9999)))
}

// A JSON document says the same before and after.
func TestWriterKeepsDocuments(t *testing.T) {
	text := "\x1b[31m \u202e \u009b \U000e0041 ü \n \x7f"
	var b bytes.Buffer
	require.NoError(t, json.NewEncoder(printable.Writer(&b)).Encode(text))
	var got string
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	require.Equal(t, text, got)
	requireSafe(t, b.String(), false)
}

func TestOutput(t *testing.T) {
	for in, out := range map[string]string{
		"\x1b[1;31mred\x1b[0m\n":            "\x1b[1;31mred\x1b[0m\n",
		"\r 50 %\x1b[K\b":                   "\r 50 %\x1b[K\b",
		"\x1b]0;title\a":                    `\u001b]0;title\u0007`,
		"\x1b[2J\x1b[H\x1b[6n\x1b[?1049h":   `\u001b[2J\u001b[H\u001b[6n\u001b[?1049h`,
		"\x1b[1A":                           `\u001b[1A`,
		"\x1bc":                             `\u001bc`,
		"\x1b[" + strings.Repeat("1", 99):   `\u001b[` + strings.Repeat("1", 99),
		"\x1b\x1b[31m\x1b[3\x1b[0m\u009b2J": `\u001b` + "\x1b[31m" + `\u001b[3` + "\x1b[0m" + `\u009b2J`,
	} {
		for _, step := range []int{1, 2, 3, len(in)} {
			var b bytes.Buffer
			w := printable.Output(&b)
			for rest := in; len(rest) > 0; rest = rest[min(step, len(rest)):] {
				n, err := w.Write([]byte(rest[:min(step, len(rest))]))
				require.NoError(t, err)
				require.Equal(t, min(step, len(rest)), n)
			}
			require.Equal(t, out, b.String(), "%q in steps of %d", in, step)
		}
	}
}

// requireSafe reports whether a text has nothing that a terminal obeys.
func requireSafe(t *testing.T, s string, line bool) {
	t.Helper()
	require.True(t, utf8.ValidString(s), "%q", s)
	for _, r := range s {
		require.True(t, unicode.IsPrint(r) || !line && (r == '\n' || r == '\t'), "%q in %q", r, s)
	}
}

func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[31m", "\x1b[", "\xff\xfe", "a\u202eb\nc\td", "\U000e0041", "\xe2\x82", strings.Repeat("\x1b", 600)} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, at int) {
		text := printable.Text(s)
		requireSafe(t, text, true)
		require.LessOrEqual(t, len(text), printable.MaxText)
		require.Equal(t, text, printable.Text(text), "what is shown is shown as it is")
		lines := printable.Lines(s)
		requireSafe(t, lines, false)

		// However it is cut, what is written is the same but for a character that is not complete.
		var b bytes.Buffer
		w := printable.Writer(&b)
		at = max(0, min(at, len(s)))
		for _, part := range []string{s[:at], s[at:], "."} {
			_, err := w.Write([]byte(part))
			require.NoError(t, err)
		}
		require.Equal(t, printable.Lines(s+"."), b.String())

		b.Reset()
		_, err := printable.Output(&b).Write([]byte(s + "\x1b[0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0."))
		require.NoError(t, err)
		out := b.String()
		require.True(t, utf8.ValidString(out))
		for i, r := range out {
			if r == 0x1b {
				rest := strings.TrimLeft(out[i+2:], "0123456789;:")
				require.True(t, out[i+1] == '[' && (rest[0] == 'm' || rest[0] == 'K'), "%q", out)
				continue
			}
			require.True(t, unicode.IsPrint(r) || strings.ContainsRune("\n\t\r\b", r), "%q", out)
		}
	})
}
