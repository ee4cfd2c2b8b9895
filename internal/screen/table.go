package screen

import (
	"fmt"
	"slices"
	"strings"
)

// Column is one of a table. Where the table is wider than the window, addresses that commands take by their beginning are cut to it. Then
// columns go that have a Drop, the largest first. Then the longest text breaks into lines.
type Column struct {
	Head    string
	Right   bool
	Drop    int
	Address bool // its cells are addresses, whose beginnings commands take
}

// leastText is how narrow a column of text becomes before the line is cut.
const leastText = 16

// Table writes rows of cells, which may have colours. Nothing is cut where the terminal has no width. Less: columns were left out.
func (t Terminal) Table(columns []Column, rows [][]string) (less bool, err error) {
	all, between := len(columns), "   "
	if t.Width > 0 && t.Width < Wide {
		between = "  "
	}
	columns, rows, widths := t.layout(columns, rows, len(between))
	var out strings.Builder
	line := func(cell func(i int) string) {
		var cells []string
		for i, c := range columns {
			if c.Right {
				cells = append(cells, Left(cell(i), widths[i]))
			} else {
				cells = append(cells, Pad(cell(i), widths[i]))
			}
		}
		text := strings.TrimRight(strings.Join(cells, between), " ")
		if t.Width > 0 {
			text = t.Cut(text, t.Width)
		}
		out.WriteString(text + "\n")
	}
	line(func(i int) string { return t.Say(Dim, columns[i].Head) })
	for _, r := range rows {
		lines, most := make([][]string, len(r)), 1
		for i, text := range r {
			lines[i] = []string{text}
			if Width(text) > widths[i] {
				lines[i] = Words(text, widths[i])
			}
			most = max(most, len(lines[i]))
		}
		for n := range most {
			line(func(i int) string {
				if n < len(lines[i]) {
					return lines[i][n]
				}
				return ""
			})
		}
	}
	if _, err := fmt.Fprint(t.Out, out.String()); err != nil {
		return false, fmt.Errorf("write a table: %w", err)
	}
	return len(columns) < all, nil
}

// layout are the columns for which a window has room, with their cells and widths.
func (t Terminal) layout(columns []Column, rows [][]string, between int) (shown []Column, cells [][]string, widths []int) {
	shown, cells = slices.Clone(columns), make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = slices.Clone(r)
	}
	sum := func() (n int) {
		widths = make([]int, len(shown))
		n = -between
		for i, c := range shown {
			widths[i] = Width(c.Head)
			for _, r := range cells {
				widths[i] = max(widths[i], Width(r[i]))
			}
			n += widths[i] + between
		}
		return n
	}
	if n := sum(); t.Width <= 0 || n <= t.Width {
		return shown, cells, widths
	}
	for i, c := range shown {
		for _, r := range cells {
			if c.Address {
				r[i] = Beginning(r[i])
			}
		}
	}
	for sum() > t.Width {
		worst := largest(len(shown), func(i int) int { return shown[i].Drop })
		if shown[worst].Drop == 0 {
			break
		}
		shown = slices.Delete(shown, worst, worst+1)
		for i := range cells {
			cells[i] = slices.Delete(cells[i], worst, worst+1)
		}
	}
	if over := sum() - t.Width; over > 0 {
		longest := largest(len(shown), func(i int) int { return widths[i] })
		if room := widths[longest] - over; room >= leastText {
			widths[longest] = room
		}
	}
	return shown, cells, widths
}

// largest is the first of n places at which of is largest.
func largest(n int, of func(int) int) (at int) {
	for i := range n {
		if of(i) > of(at) {
			at = i
		}
	}
	return at
}
