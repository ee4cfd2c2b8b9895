package demo

import "strings"

// progress are the beginnings of the client's own lines on standard error, where with --json the job's output goes too.
var progress = []string{" ✓ ", " · ", " … ", "error: "}

// jobOutput is what a job printed, taken from the standard error of a client that was asked for JSON.
func jobOutput(stderr string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(stderr, "\n"), "\n") {
		own := false
		for _, mark := range progress {
			own = own || strings.HasPrefix(line, mark)
		}
		if !own {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
