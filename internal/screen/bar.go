package screen

import (
	"math"
	"strings"
)

// None is the place of a tick that a bar does not have, and a reading that nobody took.
var None = math.NaN()

// Bar is a bar of a width, filled for a share of 0 to 1, with a tick at another share. A share that is not known is a bar of
// dots.
func (t Terminal) Bar(share, tick float64, width int, tone Tone) string {
	if width <= 0 {
		return ""
	}
	if math.IsNaN(share) {
		return t.Say(Dim, strings.Repeat(t.Either("·", "."), width))
	}
	filled := columns(share, width)
	full, empty := t.Either("━", "#"), t.Either("─", "-")
	if math.IsNaN(tick) {
		return t.Say(tone, strings.Repeat(full, filled)) + t.Say(Dim, strings.Repeat(empty, width-filled))
	}
	at := min(columns(tick, width), width-1)
	part := func(from, to int) string {
		inside := max(from, min(filled, to))
		return t.Say(tone, strings.Repeat(full, inside-from)) + t.Say(Dim, strings.Repeat(empty, to-inside))
	}
	return part(0, at) + t.Say(Strong, t.Either("┃", "|")) + part(at+1, width)
}

// Part is a piece of a bar that is made of several: a share of the whole.
type Part struct {
	Share          float64
	Unicode, ASCII string // one column of it
	Tone           Tone
}

// Parts is a bar of pieces from the left, with a tick in front of what is left. What is left is empty.
func (t Terminal) Parts(width int, parts ...Part) string {
	if width <= 0 {
		return ""
	}
	var out strings.Builder
	sum, at := 0.0, 0
	for _, p := range parts {
		sum += p.Share
		to := max(at, min(columns(sum, width), width-1))
		out.WriteString(t.Say(p.Tone, strings.Repeat(t.Either(p.Unicode, p.ASCII), to-at)))
		at = to
	}
	out.WriteString(t.Say(Strong, t.Either("┃", "|")))
	out.WriteString(t.Say(Dim, strings.Repeat(t.Either("─", "-"), width-at-1)))
	return out.String()
}

// BarWidth is how many columns a bar of a full width has in the terminal: half of them in one that is not wide, none in a narrow one or a pipe.
func (t Terminal) BarWidth(full int) int {
	switch {
	case t.Width <= 0 && t.Live:
		return full
	case t.Width < Narrow:
		return 0
	case t.Width < Wide:
		return full / 2
	}
	return full
}

// columns is how many of a bar's columns a share fills: one at least for what is above 0.
func columns(share float64, width int) int {
	share = min(max(share, 0), 1)
	n := int(math.Round(share * float64(width)))
	if n == 0 && share > 0 {
		return 1
	}
	return n
}

// Strip is a column for each of the newest readings of 0 to 1, right-aligned; a reading that is missing is a dot.
func (t Terminal) Strip(readings []float64, width int, tone Tone) string {
	if width <= 0 {
		return ""
	}
	readings = readings[max(0, len(readings)-width):]
	heights := []rune(t.Either("▁▂▃▄▅▆▇█", "_.-=+*%#"))
	var out strings.Builder
	out.WriteString(t.Say(Dim, strings.Repeat(t.Either("·", "."), width-len(readings))))
	var run []rune
	flush := func() {
		out.WriteString(t.Say(tone, string(run)))
		run = run[:0]
	}
	for _, r := range readings {
		if math.IsNaN(r) {
			flush()
			out.WriteString(t.Say(Dim, t.Either("·", ".")))
			continue
		}
		run = append(run, heights[int(math.Round(min(max(r, 0), 1)*float64(len(heights)-1)))])
	}
	flush()
	return out.String()
}
