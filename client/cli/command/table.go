package command

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/gantry-market/gantry/internal/printable"
)

// Table writes rows in columns. A cell is one line, also if its text is a peer's.
func Table(w io.Writer, head string, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 4, 3, ' ', 0)
	fmt.Fprintln(t, strings.ReplaceAll(head, "|", "\t"))
	for _, r := range rows {
		for i, cell := range r {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, printable.Text(cell))
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush()
}

// Pairs writes "name  value" lines. A value is one line, also if its text is a peer's.
func Pairs(w io.Writer, rows ...[2]string) {
	t := tabwriter.NewWriter(w, 0, 4, 3, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\n", printable.Text(r[0]), printable.Text(r[1]))
	}
	_ = t.Flush()
}
