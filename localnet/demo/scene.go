package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/screen"
)

const (
	// wholeBar is the length of a chapter's bar in a wide window.
	wholeBar = 36
	// secondsWidth holds "123 s".
	secondsWidth = 5
	labelWidth   = 8
	// leastChapters show in a low window.
	leastChapters = 3
)

// scene is what the screen shows at one moment.
type scene struct {
	machines int
	lines    []line
	elapsed  time.Duration
	usual    time.Duration
	// over: the demo's clock has stopped. stopping: what was started ends now. ended: it has ended.
	over, stopping, ended bool
	broken, stopped       bool // the demo had to end early; a person stopped it
	held                  int
	failed                []string
	snapshots             int
	skipped               time.Duration // by how much the clock was moved, for nothing was left but cool-downs
	flow                  *flow         // where the money went; nil until it is counted
	text, logs            string        // paths
	lacking               string        // what this computer cannot show, with the reason
	foot                  []string
}

// painter draws scenes for a terminal.
type painter struct {
	screen.Terminal
	spin int
}

// live is the scene as it fits into the window; of the chapters it shows those that matter now.
func (p painter) live(s scene) []string {
	head, foot := p.head(s), p.foot(s)
	room := max(p.Height-1-len(head)-len(foot), leastChapters)
	shown := s.lines
	var rest []string
	if len(shown) > room {
		shown = visible(shown, room-1)
		rest = []string{p.indent(p.Mark(screen.Waiting), p.tell(screen.Dim, fmt.Sprintf(" …  %d in all", len(s.lines))))}
	}
	return slices.Concat(head, p.chapters(s, shown), rest, foot)
}

// final is the whole scene, however high the window is.
func (p painter) final(s scene) []string {
	return slices.Concat(p.head(s), p.chapters(s, s.lines), p.foot(s))
}

// tell is a text in a tone, in letters that the terminal shows.
func (p painter) tell(tone screen.Tone, text string) string {
	if !p.Unicode {
		text = strings.NewReplacer("·", "-", "…", "...", "→", "->", "−", "-").Replace(text)
	}
	return p.Say(tone, text)
}

func (p painter) indent(mark, text string) string { return "  " + mark + "  " + text }

// head names the market and the demo's clock.
func (p painter) head(s scene) []string {
	left := "  " + p.tell(screen.Strong, "Gantry demo") + p.tell(screen.Plain, fmt.Sprintf("   %d keepers · %d machines · %d customers", keeperCount, s.machines, customerCount))
	clock := duration(s.elapsed)
	if !s.over {
		clock += " of about " + duration(s.usual)
	}
	bar := p.BarWidth(wholeBar)
	width := titleEnd(s.lines) + bar + secondsWidth
	if bar > 0 {
		width += 2
	}
	gap := max(width-screen.Width(left)-screen.Width(clock), 3)
	return []string{"", left + strings.Repeat(" ", gap) + p.tell(screen.Dim, clock), ""}
}

// titleEnd is the column in which bars begin.
func titleEnd(lines []line) int {
	width := 0
	for _, l := range lines {
		width = max(width, screen.Width(l.title))
	}
	return len("  m  12  ") + width + 2
}

// chapters are the lines of chapters, whose bars have the same scale.
func (p painter) chapters(s scene, shown []line) []string {
	scale := s.elapsed
	if !s.over {
		scale = max(scale, s.usual)
	}
	end := titleEnd(s.lines)
	out := make([]string, 0, len(shown))
	for _, l := range shown {
		mark, tone, text := p.of(l.state)
		row := screen.Pad(p.indent(mark, p.tell(screen.Dim, fmt.Sprintf("%2d", l.number))+"  "+p.tell(text, l.title)), end)
		if l.state == stateWaiting {
			out = append(out, strings.TrimRight(row, " "))
			continue
		}
		if width := p.BarWidth(wholeBar); width > 0 {
			row += p.Span(share(l.begun, scale), share(l.end, scale), width, tone) + "  "
		}
		out = append(out, row+screen.Left(seconds(l.end-l.begun), secondsWidth))
	}
	return out
}

// of is how a state shows: its mark, and the tones of the bar and of the title.
func (p painter) of(s state) (mark string, bar, title screen.Tone) {
	switch s {
	case stateRunning:
		return p.Spin(p.spin), screen.Now, screen.Strong
	case stateDone:
		return p.Mark(screen.Done), screen.Good, screen.Plain
	case stateFailed:
		return p.Mark(screen.Failed), screen.Bad, screen.Bad
	case stateStopped:
		return p.Mark(screen.Note), screen.Dim, screen.Dim
	default:
		return p.Mark(screen.Waiting), screen.Dim, screen.Dim
	}
}

func share(of, scale time.Duration) float64 {
	if scale <= 0 {
		return 0
	}
	return float64(of) / float64(scale)
}

// foot says what held, where the money went, where the text is, and what to do when something did not hold.
func (p painter) foot(s scene) []string {
	out := []string{"", p.labelled("checks", p.checks(s))}
	if s.flow != nil {
		out = append(out, p.money(*s.flow)...)
	}
	if s.skipped > 0 {
		out = append(out, p.labelled("clock", p.tell(screen.Dim, fmt.Sprintf("moved %s ahead, when only cool-downs were left", duration(s.skipped)))))
	}
	if s.lacking != "" {
		out = append(out, p.labelled("note", p.tell(screen.Dim, printable.Text(s.lacking))))
	}
	if s.text != "" {
		out = append(out, p.labelled("text", p.tell(screen.Plain, s.text)+p.tell(screen.Dim, " · every step, balance and audit")))
	}
	if len(s.failed) > 0 || s.broken && !s.stopped || len(s.foot) > 0 {
		out = append(out, "")
	}
	for _, f := range s.failed {
		out = append(out, p.indent(p.Mark(screen.Failed), p.tell(screen.Bad, printable.Text(f))))
	}
	if len(s.failed) > 0 || s.broken && !s.stopped {
		out = append(out, "  The text has what led to it. What each program said is in "+s.logs+".",
			"  Run the demo again. If it fails again, open an issue with both.")
	}
	for _, f := range s.foot {
		out = append(out, "  "+p.tell(screen.Plain, f))
	}
	if s.stopping {
		out = append(out, p.indent(p.Spin(p.spin), p.tell(screen.Plain, "everything that was started is being stopped")))
	}
	return out
}

func (p painter) labelled(label, text string) string {
	return "  " + p.tell(screen.Dim, screen.Pad(label, labelWidth)) + text
}

// checks counts the expectations.
func (p painter) checks(s scene) string {
	total := s.held + len(s.failed)
	switch {
	case len(s.failed) > 0:
		return p.tell(screen.Bad, fmt.Sprintf("%d of %d expectations did not hold", len(s.failed), total))
	case s.broken:
		return p.tell(screen.Plain, fmt.Sprintf("%d expectations held until then", total))
	case !s.over:
		return p.tell(screen.Plain, fmt.Sprintf("%d expectations held so far", total))
	}
	return p.tell(screen.Good, fmt.Sprintf("all %d expectations held", total)) + p.tell(screen.Dim, fmt.Sprintf(" · every account checked %d times", s.snapshots))
}

// money is the line of money; it continues in the next line where the window ends.
func (p painter) money(f flow) []string {
	parts := []string{
		p.tell(screen.Plain, "customers "+dollars(f.deposited)+" → providers ") + p.tell(screen.Good, dollars(f.providers)),
		p.tell(screen.Plain, "keepers ") + p.tell(screen.Good, dollars(f.keepers)),
	}
	if f.fees != 0 {
		parts = append(parts, p.tell(screen.Plain, "fees "+dollars(f.fees)))
	}
	verdict := p.tell(screen.Good, "adds up")
	if !f.addsUp() {
		verdict = p.tell(screen.Bad, "does not add up")
	}
	parts = append(parts, p.tell(screen.Plain, "back ")+p.tell(screen.Strong, dollars(f.back)), verdict)
	var out []string
	text, dot := "", p.tell(screen.Dim, " · ")
	for _, part := range parts {
		switch {
		case text == "":
			text = part
		case 2+labelWidth+screen.Width(text+dot+part) > p.Width:
			out = append(out, text)
			text = part
		default:
			text += dot + part
		}
	}
	out = append(out, text)
	for i, text := range out {
		label := ""
		if i == 0 {
			label = "money"
		}
		out[i] = p.labelled(label, text)
	}
	return out
}

// seconds writes how long a chapter took, with tenths of the first second.
func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// duration writes seconds, and minutes once there are two of them.
func duration(d time.Duration) string {
	secs := int(d.Round(time.Second).Seconds())
	if secs < 2*60 {
		return fmt.Sprintf("%d s", secs)
	}
	if secs%60 == 0 {
		return fmt.Sprintf("%d min", secs/60)
	}
	return fmt.Sprintf("%d min %d s", secs/60, secs%60)
}
