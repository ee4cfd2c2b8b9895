package screen

import (
	"strings"
	"time"
)

const (
	nameWidth   = 9
	tookWidth   = 9
	noteWidth   = 10
	detailWidth = 58 // at most
	figureBar   = 23
	// scale is what share of the typical the end of a measured bar stands for, usual from which share on a figure is a usual one, and
	// slow below which it is none that orders take.
	scale, usual, slow = 1.2, 0.95, 0.72
)

// Step is a line of a task that has steps.
type Step struct {
	Name     string
	Mark     Mark // Waiting, Current, Done, Failed, or Note for what was left
	From, To time.Time
	// Details say more of it: the first that fits the terminal is shown.
	Details []string
	Share   float64 // of what is typical, for a step that has measured; 0 for none
	Note    string  // such as an address
	Endless bool    // it has no duration to show
	// Part is how much of it is done, as a machine says, 0 to 1: a bar before the details while the step goes on. Nil for no bar, None
	// for a part that is not known.
	Part *float64
}

// Steps are lines, with a hint below them.
func (t Terminal) Steps(steps []Step, hint string, frame int, now time.Time) []string {
	var out []string
	for i := range steps {
		out = append(out, t.step(&steps[i], frame, now))
	}
	if hint != "" {
		out = append(out, "")
		for _, line := range Wrap(hint, t.Width-2) {
			out = append(out, "  "+t.Say(Dim, line))
		}
	}
	return out
}

// step is a line: a mark, the step's name, what is known of it, how long it takes, and a note.
func (t Terminal) step(x *Step, frame int, now time.Time) string {
	mark, tone, spent := t.Mark(x.Mark), Plain, ""
	switch x.Mark {
	case Current:
		mark, spent = t.Spin(frame), Took(now.Sub(x.From))
	case Done:
		spent = Took(x.To.Sub(x.From))
	case Failed:
		tone, spent = Bad, Took(x.To.Sub(x.From))
	case Note:
		tone, spent = Dim, Took(x.To.Sub(x.From))
	case Waiting:
		tone = Dim
	}
	if x.Endless {
		spent = ""
	}
	width := min(max(10, t.Width-2-2-nameWidth-1-tookWidth-3-noteWidth), detailWidth)
	bar := ""
	if x.Part != nil && x.Mark == Current {
		if bar = t.Bar(*x.Part, None, t.BarWidth(figureBar), Reading); bar != "" {
			bar += " "
		}
	}
	detail := bar + t.Say(tone, t.fit(x.Details, width-Width(bar)))
	if x.Share > 0 && x.Mark == Done {
		if bar := t.Measured(x.Share, figureBar); bar != "" {
			detail += " " + bar
		}
		detail += " " + Percent(x.Share)
	}
	line := "  " + mark + " " + t.Say(tone, Pad(x.Name, nameWidth)) + " " + Pad(detail, width) + t.Say(Dim, Left(spent, tookWidth))
	if x.Note != "" && t.Width >= Narrow {
		line += "   " + t.Say(Dim, x.Note)
	}
	return t.Cut(strings.TrimRight(line, " "), t.Width)
}

// fit is the first text that fits, else the last one, cut.
func (t Terminal) fit(texts []string, width int) string {
	for i, text := range texts {
		if !t.Unicode {
			text = strings.ReplaceAll(text, "×", "x")
		}
		if Width(text) <= width || i == len(texts)-1 {
			return t.Cut(text, width)
		}
	}
	return ""
}

// Measured is a bar of a figure as a share of the typical one, which has the mark.
func (t Terminal) Measured(share float64, width int) string {
	tone := Good
	switch {
	case share < slow:
		tone = Bad
	case share < usual:
		tone = Now
	}
	return t.Bar(share/scale, 1/scale, t.BarWidth(width), tone)
}
