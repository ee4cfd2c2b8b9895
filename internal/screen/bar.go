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
		return t.Say(Dim, strings.Repeat(t.either("·", "."), width))
	}
	filled := columns(share, width)
	full, empty := t.either("━", "#"), t.either("─", "-")
	if math.IsNaN(tick) {
		return t.Say(tone, strings.Repeat(full, filled)) + t.Say(Dim, strings.Repeat(empty, width-filled))
	}
	at := min(columns(tick, width), width-1)
	part := func(from, to int) string {
		inside := max(from, min(filled, to))
		return t.Say(tone, strings.Repeat(full, inside-from)) + t.Say(Dim, strings.Repeat(empty, to-inside))
	}
	return part(0, at) + t.Say(Strong, t.either("┃", "|")) + part(at+1, width)
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
	heights := []rune(t.either("▁▂▃▄▅▆▇█", "_.-=+*%#"))
	var out strings.Builder
	out.WriteString(t.Say(Dim, strings.Repeat(t.either("·", "."), width-len(readings))))
	var run []rune
	flush := func() {
		out.WriteString(t.Say(tone, string(run)))
		run = run[:0]
	}
	for _, r := range readings {
		if math.IsNaN(r) {
			flush()
			out.WriteString(t.Say(Dim, t.either("·", ".")))
			continue
		}
		run = append(run, heights[int(math.Round(min(max(r, 0), 1)*float64(len(heights)-1)))])
	}
	flush()
	return out.String()
}
