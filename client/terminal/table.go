package terminal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-market/gantry/internal/screen"
)

// column is one of a table. Where the table is wider than the window, columns go that have a drop, the largest first.
type column struct {
	head  string
	right bool
	drop  int
}

// writeTable writes rows of cells, which may have colours. A line that is still longer than the window is cut.
func writeTable(t screen.Terminal, columns []column, rows [][]string) error {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = screen.Width(c.head)
		for _, r := range rows {
			widths[i] = max(widths[i], screen.Width(r[i]))
		}
	}
	between := "   "
	if t.Width < screen.Wide {
		between = "  "
	}
	shown := fitting(columns, widths, t.Width, len(between))
	line := func(cell func(i int) string) string {
		var cells []string
		for _, i := range shown {
			if columns[i].right {
				cells = append(cells, screen.Left(cell(i), widths[i]))
			} else {
				cells = append(cells, screen.Pad(cell(i), widths[i]))
			}
		}
		return t.Cut(strings.TrimRight(strings.Join(cells, between), " "), t.Width) + "\n"
	}
	var out strings.Builder
	out.WriteString(line(func(i int) string { return t.Say(screen.Dim, columns[i].head) }))
	for _, r := range rows {
		out.WriteString(line(func(i int) string { return r[i] }))
	}
	if _, err := fmt.Fprint(t.Out, out.String()); err != nil {
		return fmt.Errorf("write a table: %w", err)
	}
	return nil
}

// fitting are the columns for which a window has room.
func fitting(columns []column, widths []int, width, between int) (shown []int) {
	sum := -between
	for i := range columns {
		shown = append(shown, i)
		sum += widths[i] + between
	}
	for sum > width {
		worst := slices.MaxFunc(shown, func(a, b int) int { return columns[a].drop - columns[b].drop })
		if columns[worst].drop == 0 {
			break
		}
		sum -= widths[worst] + between
		shown = slices.DeleteFunc(shown, func(i int) bool { return i == worst })
	}
	return shown
}
