// Package printable makes text that others wrote safe to show: names on chain, what peers answer, the output of jobs.
//
// A terminal obeys escape codes: they change what was printed before, set the title, fill the clipboard. A control
// character can end a line and begin a forged one, and an override of the writing direction shows a name backwards. All
// of these are written as escapes, \u202e for example, so that they are seen. In a JSON document they are JSON's own
// escapes, so that a program that reads it has the text as it was.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxText is how many bytes of a text Text shows, at most.
const MaxText = 512

// cut ends a text that was longer.
const cut = "…"

// Text is a foreign text as a part of one line of at most MaxText bytes.
func Text(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		part := quote(r, s[:size])
		if b.Len()+len(part) > MaxText-len(cut) && b.Len()+escapedLen(s, MaxText-b.Len()) > MaxText {
			b.WriteString(cut)
			break
		}
		b.WriteString(part)
		s = s[size:]
	}
	return b.String()
}

// escapedLen is how long a text is when shown, or something above most.
func escapedLen(s string, most int) (n int) {
	for len(s) > 0 && n <= most {
		r, size := utf8.DecodeRuneInString(s)
		n += len(quote(r, s[:size]))
		s = s[size:]
	}
	return n
}

// Lines is a foreign text of several lines, all of it: line breaks and tabs stay.
func Lines(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		b.WriteString(inLines(r, s[:size]))
		s = s[size:]
	}
	return b.String()
}

// inLines is how a character is shown where lines may break.
func inLines(r rune, raw string) string {
	if r == '\n' || r == '\t' {
		return raw
	}
	return quote(r, raw)
}

// quote is how a character is shown; raw are its bytes.
func quote(r rune, raw string) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return fmt.Sprintf(`\x%02x`, raw[0])
	case unicode.IsPrint(r):
		return raw
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
