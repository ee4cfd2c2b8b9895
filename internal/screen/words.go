package screen

import (
	"strings"
)

// command begins what a person copies: it is never broken, so that the terminal's own wrapping keeps it whole.
const command = "gantry "

// Words is a text in lines of a width. It is broken between words alone: an address that is longer than a line stays whole, and so does a
// command at the end. What begins with spaces continues with as many.
func Words(text string, width int) []string {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var lines []string
	line, gap := indent, ""
	for _, word := range split(text[len(indent):]) {
		if strings.Trim(word, " ") == "" {
			gap += word
			continue
		}
		if line != indent && Width(line+gap+word) > width {
			lines = append(lines, line)
			line, gap = indent, ""
		}
		line += gap + word
		gap = ""
	}
	return append(lines, line)
}

// split is a text as words and the spaces between them. A command is one word with all that follows it.
func split(text string) (all []string) {
	for text != "" {
		if strings.HasPrefix(text, command) {
			return append(all, text)
		}
		n := strings.IndexByte(text, ' ')
		switch {
		case n < 0:
			n = len(text)
		case n == 0:
			n = len(text) - len(strings.TrimLeft(text, " "))
		}
		all, text = append(all, text[:n]), text[n:]
	}
	return all
}
