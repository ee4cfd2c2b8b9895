package screen

import (
	"fmt"
	"slices"
	"strings"
)

// Column is one of a table. Where the table is wider than the window, columns go that have a Drop, the largest first.
type Column struct {
	Head  string
	Right bool
	Drop  int
}

// Table writes rows of cells, which may have colours. A line that is still longer than the window is cut.
func (t Terminal) Table(columns []Column, rows [][]string) error {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = Width(c.Head)
		for _, r := range rows {
			widths[i] = max(widths[i], Width(r[i]))
		}
	}
	between := "   "
	if t.Width < Wide {
		between = "  "
	}
	shown := fitting(columns, widths, t.Width, len(between))
	line := func(cell func(i int) string) string {
		var cells []string
		for _, i := range shown {
			if columns[i].Right {
				cells = append(cells, Left(cell(i), widths[i]))
			} else {
				cells = append(cells, Pad(cell(i), widths[i]))
			}
		}
		return t.Cut(strings.TrimRight(strings.Join(cells, between), " "), t.Width) + "\n"
	}
	var out strings.Builder
	out.WriteString(line(func(i int) string { return t.Say(Dim, columns[i].Head) }))
	for _, r := range rows {
		out.WriteString(line(func(i int) string { return r[i] }))
	}
	if _, err := fmt.Fprint(t.Out, out.String()); err != nil {
		return fmt.Errorf("write a table: %w", err)
	}
	return nil
}

// fitting are the columns for which a window has room.
func fitting(columns []Column, widths []int, width, between int) (shown []int) {
	sum := -between
	for i := range columns {
		shown = append(shown, i)
		sum += widths[i] + between
	}
	for sum > width {
		worst := slices.MaxFunc(shown, func(a, b int) int { return columns[a].Drop - columns[b].Drop })
		if columns[worst].Drop == 0 {
			break
		}
		sum -= widths[worst] + between
		shown = slices.DeleteFunc(shown, func(i int) bool { return i == worst })
	}
	return shown
}
