package doctor

import (
	"fmt"
	"io"
	"strings"
)

// Print writes a table for people.
func Print(w io.Writer, all []Finding) error {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, " %-14s %-18s %s\n", f.Result, f.ID, strings.ReplaceAll(f.Cause, "\n", "; "))
		if f.Fix != "" {
			fmt.Fprintf(&b, " %-33s → %s\n", "", f.Fix)
		}
	}
	errs, warnings := Count(all)
	fmt.Fprintf(&b, " %d errors, %d warnings, %d checks\n", errs, warnings, len(all))
	_, err := io.WriteString(w, b.String())
	return err
}
