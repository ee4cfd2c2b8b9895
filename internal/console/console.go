// Package console runs the commands that a page shows in its console blocks, and compares their output with the output
// that the page shows below them. Tests use it for tutorials.
//
// In a block, a line that begins with "$ " is a command; it continues on the next line if it ends with a backslash. The
// lines below it are its output. In an output, "…" stands for any characters, and a line of "…" alone for any number of
// lines. Runs of blanks count as one.
package console

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	opening  = "```console"
	closing  = "```"
	prompt   = "$ "
	wildcard = "…"
)

// Step is one command of a page with the output that the page shows.
type Step struct {
	// Line is where the command stands, for messages.
	Line    int
	Command string
	Want    []string
}

// Parse returns the steps of all console blocks of a page, in order.
func Parse(page string) ([]Step, error) {
	var steps []Step
	inside, first := false, 0 // first is the first step of the block
	for i, line := range strings.Split(page, "\n") {
		switch {
		case !inside && strings.TrimSpace(line) == opening:
			inside, first = true, len(steps)
		case !inside:
		case strings.TrimSpace(line) == closing:
			inside = false
		case strings.HasPrefix(line, prompt):
			steps = append(steps, Step{Line: i + 1, Command: strings.TrimPrefix(line, prompt)})
		case len(steps) == first:
			return nil, fmt.Errorf("line %d: output without a command: %q", i+1, line)
		default:
			last := &steps[len(steps)-1]
			if len(last.Want) == 0 && strings.HasSuffix(last.Command, `\`) {
				last.Command += "\n" + line
				continue
			}
			last.Want = append(last.Want, line)
		}
	}
	if inside {
		return nil, fmt.Errorf("the last %s block has no end", opening)
	}
	return steps, nil
}

// Match compares an output with the one that a page shows. Error: the first line of the page that has no counterpart.
func Match(want []string, got string) error {
	lines := outputLines(strings.Split(got, "\n"))
	want = outputLines(want)
	// reach[j] means that the wanted lines so far match the first j lines of the output.
	reach := make([]bool, len(lines)+1)
	reach[0] = true
	for _, w := range want {
		next, some := advance(w, lines, reach)
		if !some {
			return fmt.Errorf("no line of the output matches %q", w)
		}
		reach = next
	}
	if !reach[len(lines)] {
		return fmt.Errorf("the output has more lines than the page shows")
	}
	return nil
}

// advance returns what is reached once one more wanted line is matched, and whether that is anything.
func advance(want string, lines []string, reach []bool) (next []bool, some bool) {
	next = make([]bool, len(reach))
	if want == wildcard {
		for j := range reach {
			next[j] = reach[j] || j > 0 && next[j-1]
			some = some || next[j]
		}
		return next, some
	}
	pattern := linePattern(want)
	for j, line := range lines {
		next[j+1] = reach[j] && pattern.MatchString(line)
		some = some || next[j+1]
	}
	return next, some
}

func linePattern(want string) *regexp.Regexp {
	parts := strings.Split(want, wildcard)
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
}

// outputLines makes runs of blanks one, and drops empty lines at the end.
func outputLines(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}
