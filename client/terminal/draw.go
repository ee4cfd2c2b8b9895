package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/gantry-market/gantry/internal/screen"
)

const (
	nameWidth    = 9
	tookWidth    = 9
	noteWidth    = 10
	detailWidth  = 58 // at most
	measureWidth = 23 // of the bar of a measurement
	// scale is what share of the typical the end of a measured bar stands for, and usual from which share on a figure is a usual one,
	// slow below which it is none that orders take.
	scale, usual, slow = 1.2, 0.95, 0.525
)

// render is the block's lines.
func (s *state) render(t screen.Terminal, now time.Time) []string {
	var out []string
	for k := range s.steps {
		if x := &s.steps[k]; x.shown {
			out = append(out, s.line(t, k, x, now))
		}
	}
	if s.hint != "" {
		out = append(out, "")
		for _, line := range screen.Wrap(s.hint, t.Width-2) {
			out = append(out, "  "+t.Say(screen.Dim, line))
		}
	}
	return out
}

// line is that of a step: a mark, its name, what is known of it, how long it takes, and an address.
func (s *state) line(t screen.Terminal, k int, x *step, now time.Time) string {
	name := [...]string{"Reserved", "Auction", "Awarded", "Proof", "Measured", "Image", "Running"}[k]
	if k == brought && s.image == "" {
		name = "Job"
	}
	mark, tone, spent := t.Mark(screen.Waiting), screen.Dim, ""
	switch x.is {
	case waits:
	case goes:
		mark, tone, spent = t.Spin(s.frame), screen.Plain, took(now.Sub(x.from))
	case done:
		mark, tone, spent = t.Mark(screen.Done), screen.Plain, took(x.to.Sub(x.from))
	case failed:
		mark, tone, spent = t.Mark(screen.Failed), screen.Bad, took(x.to.Sub(x.from))
	}
	if k == running {
		spent = "" // it goes on from now on
	}
	width := min(max(10, t.Width-2-2-nameWidth-1-tookWidth-3-noteWidth), detailWidth)
	detail := t.Say(tone, fit(t, x.details, width))
	if k == measured && x.is == done {
		detail = s.figures(t)
	}
	note := x.note
	if !strings.Contains(note, " ") {
		note = short(note, t.Either("…", ".."))
	}
	line := "  " + mark + " " + t.Say(tone, screen.Pad(name, nameWidth)) + " " + screen.Pad(detail, width) + t.Say(screen.Dim, screen.Left(spent, tookWidth))
	if note != "" && t.Width >= screen.Narrow {
		line += "   " + t.Say(screen.Dim, note)
	}
	return t.Cut(strings.TrimRight(line, " "), t.Width)
}

// fit is the first text that fits, else the last one, cut.
func fit(t screen.Terminal, texts []string, width int) string {
	for i, text := range texts {
		if !t.Unicode {
			text = strings.ReplaceAll(text, "×", "x")
		}
		if screen.Width(text) <= width || i == len(texts)-1 {
			return t.Cut(text, width)
		}
	}
	return ""
}

// figures are what was measured, of the weakest machine where there are several.
func (s *state) figures(t screen.Terminal) string {
	text := figure(s.tops/1e12) + " TOPS"
	if s.measures > 1 {
		text = fmt.Sprintf("%d, the slowest %s", s.measures, text)
	}
	if s.typical <= 0 {
		return text
	}
	bar := measuredBar(t, s.tops/s.typical, measureWidth)
	if bar != "" {
		bar += " "
	}
	return text + " " + bar + percent(s.tops/s.typical)
}

// measuredBar is a bar of a figure against the typical one, which has the mark.
func measuredBar(t screen.Terminal, share float64, width int) string {
	tone := screen.Good
	switch {
	case share < slow:
		tone = screen.Bad
	case share < usual:
		tone = screen.Now
	}
	return t.Bar(share/scale, 1/scale, t.BarWidth(width), tone)
}

// percent is a share without decimals; what is above nothing is never 0.
func percent(share float64) string {
	if share > 0 && share < 0.01 {
		return "< 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}
