// Command testsum reads the output of `go test -json` and prints what matters: a line for each package, failed tests
// with all they printed, and skipped tests with their reasons, so that no skip goes unread. The last lines name the
// failed tests again. Long tests, which `make test` leaves out, are counted. It exits with code 1 when anything failed.
//
// With -tally it reads the outputs of many runs instead, from files, and prints how often each test ran and failed.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// leftOut begins the reason of a test that internal/testkit/long leaves out.
const leftOut = "LONG: "

// event is a line of `go test -json`, see `go doc test2json`.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

func main() {
	tallies := flag.Bool("tally", false, "count failures of many runs, whose outputs are the `FILES` that follow")
	flag.Parse()
	ok, err := false, error(nil)
	if *tallies {
		ok, err = tally(flag.Args(), os.Stdout)
	} else {
		ok, err = summarise(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// summarise reports whether everything passed.
func summarise(in io.Reader, out io.Writer) (bool, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	output := map[string]*strings.Builder{}
	ran := map[string]bool{} // tests that failed have failed parents; show the innermost only
	var skips, failures []string
	passed, failed, packages, left := 0, 0, 0, 0
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(out, lines.Text()) // not from a test: a build error, for example
			continue
		}
		id := e.Package + " " + e.Test
		if e.ImportPath != "" {
			id = e.ImportPath
		}
		if output[id] == nil {
			output[id] = &strings.Builder{}
		}
		switch e.Action {
		case "output":
			output[id].WriteString(e.Output)
			continue
		case "build-output":
			fmt.Fprint(out, e.Output)
			continue
		}
		switch {
		case e.Action == "pass" && e.Test != "":
			passed++
		case e.Action == "pass":
			packages++
			fmt.Fprintf(out, "ok    %6.1f s  %s\n", e.Elapsed, e.Package)
		case e.Action == "skip" && e.Test != "" && strings.Contains(output[id].String(), ": "+leftOut):
			left++
		case e.Action == "skip" && e.Test != "":
			skips = append(skips, e.Package+" "+e.Test+": "+reason(output[id].String()))
		case e.Action == "fail":
			if e.Test != "" {
				failed++
			}
			if parent, _, found := cutLast(e.Test); found {
				ran[e.Package+" "+parent] = true
			}
			if e.Test != "" && ran[id] {
				break // its subtest has been shown
			}
			failures = append(failures, id)
			fmt.Fprintf(out, "FAIL  %6.1f s  %s\n%s", e.Elapsed, id, indent(output[id].String()))
		default:
			continue
		}
		delete(output, id)
	}
	if err := lines.Err(); err != nil {
		return false, fmt.Errorf("read test output: %w", err)
	}
	for _, s := range skips {
		fmt.Fprintln(out, "SKIPPED", s)
	}
	fmt.Fprintf(out, "%d tests passed in %d packages, %d failed, %d skipped\n", passed, packages, failed, len(skips))
	for _, f := range failures {
		fmt.Fprintln(out, "FAILED", strings.TrimSpace(f))
	}
	if left > 0 {
		fmt.Fprintf(out, "%d long tests are left to make test-all\n", left)
	}
	return len(failures) == 0 && packages > 0, nil
}

func cutLast(test string) (parent, name string, found bool) {
	i := strings.LastIndexByte(test, '/')
	if i < 0 {
		return "", test, false
	}
	return test[:i], test[i+1:], true
}

// reason is what the test printed, without the frame that go test puts around it.
func reason(output string) string {
	var kept []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		kept = append(kept, line)
	}
	if len(kept) == 0 {
		return "no reason given"
	}
	return strings.Join(kept, " ")
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("      " + line)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	return b.String()
}
