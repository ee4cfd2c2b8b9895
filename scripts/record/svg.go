package main

import (
	"fmt"
	"html"
	"strings"
)

const (
	cellWidth  = 8.4
	lineHeight = 20
	margin     = 16
)

// colours are those of the styles that programs here use, on a dark ground.
var colours = map[style]string{"": "#d7dae0", "31": "#ff7b72", "32": "#56d364", "33": "#e3b341", "34": "#79c0ff", "90": "#8b949e"}

// svg is a picture of a screen, as text: it can be read aloud, searched and copied. Empty lines at the end are left out.
func svg(screen [][]cell, columns int, title string) string {
	for len(screen) > 0 && text(screen[len(screen)-1]) == "" {
		screen = screen[:len(screen)-1]
	}
	width, height := float64(columns)*cellWidth+2*margin, len(screen)*lineHeight+2*margin
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&out, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>`+"\n")
	fmt.Fprintf(&out, `<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" xml:space="preserve">`+"\n")
	for i, line := range screen {
		for _, r := range runs(line) {
			begin := len(r.text) - len(strings.TrimLeft(r.text, " "))
			words := strings.TrimRight(r.text[begin:], " ")
			if words == "" {
				continue
			}
			fill, bold := colours[r.look], ""
			if fill == "" {
				fill = colours[""]
			}
			if strings.Contains(";"+string(r.look)+";", ";1;") {
				bold = ` font-weight="bold"`
			}
			fmt.Fprintf(&out, `<text x="%.1f" y="%d" textLength="%.1f" fill="%s"%s>%s</text>`+"\n", margin+float64(r.column+begin)*cellWidth,
				margin+i*lineHeight+15, float64(len([]rune(words)))*cellWidth, fill, bold, html.EscapeString(words))
		}
	}
	out.WriteString("</g>\n</svg>\n")
	return out.String()
}
