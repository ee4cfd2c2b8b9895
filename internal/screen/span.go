package screen

import (
	"math"
	"strings"
)

// Span is a line of dots with a bar on it that goes from one share of the line to another. The bar has one column at least.
func (t Terminal) Span(from, to float64, width int, tone Tone) string {
	if width <= 0 {
		return ""
	}
	at := func(share float64) int { return int(math.Round(min(max(share, 0), 1) * float64(width))) }
	begin := min(at(from), width-1)
	end := max(at(to), begin+1)
	dots := func(n int) string { return t.Say(Dim, strings.Repeat(t.Either("·", "."), n)) }
	return dots(begin) + t.Say(tone, strings.Repeat(t.Either("━", "#"), end-begin)) + dots(width-end)
}
