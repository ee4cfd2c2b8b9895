// Package screen draws what a person reads on a terminal: marks, bars, strips and lines that are drawn again in place. Where
// nobody looks at a terminal, it draws nothing: programs print plain lines there.
package screen

import (
	"io"
	"os"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

const (
	defaultWidth  = 80
	defaultHeight = 24
	// Wide is from how many columns on bars have their whole length; below Narrow there is no room for them.
	Wide, Narrow = 100, 80
)

// Terminal is where a person reads, and what it can show.
type Terminal struct {
	Out io.Writer
	// Live: lines can be drawn again in place. It is false for files, pipes, TERM=dumb and in CI.
	Live bool
	// Colour: NO_COLOR takes the colours and leaves the layout.
	Colour bool
	// Unicode: the locale is UTF-8; else everything is drawn in ASCII.
	Unicode bool
	// Width and Height in characters.
	Width, Height int
}

// Of is what a file can show, in an environment such as os.Getenv.
func Of(f *os.File, env func(string) string) Terminal {
	t := Terminal{Out: f, Width: defaultWidth, Height: defaultHeight, Unicode: utf8Locale(env)}
	if !term.IsTerminal(int(f.Fd())) || !drawable(f) || env("TERM") == "dumb" || env("CI") != "" {
		return t
	}
	t.Live, t.Colour = true, env("NO_COLOR") == ""
	return t.Resized()
}

// Resized is the terminal with the size that its window has now.
func (t Terminal) Resized() Terminal {
	f, ok := t.Out.(*os.File)
	if !ok {
		return t
	}
	if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
		t.Width, t.Height = w, h
	}
	return t
}

// utf8Locale follows POSIX: LC_ALL, else LC_CTYPE, else LANG.
func utf8Locale(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(env(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return false
}

// Tone is what a colour means.
type Tone uint8

// Tones.
const (
	Plain   Tone = iota
	Strong       // what matters
	Dim          // the rest
	Good         // measured or proven
	Now          // happens now
	Bad          // failed
	Reading      // what a machine says
)

var styles = map[Tone]lipgloss.Style{
	Plain: lipgloss.NewStyle(), Strong: lipgloss.NewStyle().Bold(true), Dim: lipgloss.NewStyle().Foreground(lipgloss.BrightBlack),
	Good: lipgloss.NewStyle().Foreground(lipgloss.Green), Now: lipgloss.NewStyle().Foreground(lipgloss.Yellow),
	Bad: lipgloss.NewStyle().Foreground(lipgloss.Red), Reading: lipgloss.NewStyle().Foreground(lipgloss.Blue),
}

// Say is a text in a tone. The text is one line.
func (t Terminal) Say(tone Tone, text string) string {
	if !t.Colour || text == "" {
		return text
	}
	return styles[tone].Inline(true).Render(text)
}

// Mark stands before a line.
type Mark uint8

// Marks.
const (
	Waiting Mark = iota
	Current
	Done
	Failed
	Note
	Unknown
)

// Mark is a mark in its tone, one column.
func (t Terminal) Mark(m Mark) string {
	of := [...]struct {
		unicode, ascii string
		tone           Tone
	}{{"○", "o", Dim}, {"●", "*", Now}, {"✓", "+", Good}, {"✗", "x", Bad}, {"·", "-", Dim}, {"?", "?", Now}}[m]
	return t.Say(of.tone, t.Either(of.unicode, of.ascii))
}

// Spin is the sign of something that goes on, at its n-th picture.
func (t Terminal) Spin(n int) string {
	pictures := []rune(t.Either("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", `|/-\`))
	return t.Say(Now, string(pictures[n%len(pictures)]))
}

// Either is a text for terminals that show Unicode, or one for those that do not.
func (t Terminal) Either(unicode, ascii string) string {
	if t.Unicode {
		return unicode
	}
	return ascii
}

// Width is how many columns a text takes, without its colours.
func Width(text string) int { return lipgloss.Width(text) }

// Pad fills a text up to a width; a longer one stays as it is.
func Pad(text string, width int) string { return text + strings.Repeat(" ", max(0, width-Width(text))) }

// Left fills a text up to a width from its left.
func Left(text string, width int) string {
	return strings.Repeat(" ", max(0, width-Width(text))) + text
}

// Wrap is a text in lines that fit a width, broken between words.
func Wrap(text string, width int) []string {
	return strings.Split(ansi.Wrap(text, max(width, 1), ""), "\n")
}

// Cut is a text that fits a width; what is cut shows as "…".
func (t Terminal) Cut(text string, width int) string {
	return ansi.Truncate(text, max(width, 0), t.Either("…", "~"))
}
