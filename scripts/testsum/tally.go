package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// counts is what became of one test in many runs.
type counts struct {
	ran, failed       int
	shortest, longest float64 // seconds
}

// tally prints a table of the top-level tests of many runs, and reports whether all passed, in runs that all came to their end.
func tally(files []string, out io.Writer) (bool, error) {
	if len(files) == 0 {
		return false, errors.New("no output of a run is named")
	}
	tests, cut := map[string]*counts{}, 0
	for _, file := range files {
		ended, err := count(file, tests)
		if err != nil {
			return false, err
		}
		if !ended {
			cut++
		}
	}
	fmt.Fprintf(out, "| test | runs | failures | took |\n| --- | ---: | ---: | --- |\n")
	ok := cut == 0 && len(tests) > 0
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		c := tests[name]
		ok = ok && c.failed == 0
		fmt.Fprintf(out, "| %s | %d | %d | %.1f to %.1f s |\n", name, c.ran, c.failed, c.shortest, c.longest)
	}
	if cut > 0 {
		fmt.Fprintf(out, "%d of %d runs ended without a result\n", cut, len(files))
	}
	return ok, nil
}

// count adds one run, and reports whether its packages came to an end.
func count(file string, tests map[string]*counts) (ended bool, err error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || (e.Action != "pass" && e.Action != "fail") || strings.Contains(e.Test, "/") {
			continue
		}
		if e.Test == "" {
			ended = true
			continue
		}
		c := tests[e.Test]
		if c == nil {
			c = &counts{shortest: e.Elapsed}
			tests[e.Test] = c
		}
		c.ran++
		c.shortest, c.longest = min(c.shortest, e.Elapsed), max(c.longest, e.Elapsed)
		if e.Action == "fail" {
			c.failed++
		}
	}
	return ended, lines.Err()
}
