package main

import (
	"slices"
	"strings"
)

// mostRepeated is how many failed tests may be run once more. More than these have a common cause.
const mostRepeated = 3

// failures is what failed in a run.
type failures struct {
	tests []string // package and name of top-level tests
	final bool     // something failed that a second run must not excuse
}

// add takes a failure with what it printed. The events of a package's tests come before the package's own.
func (f *failures) add(e event, output string) {
	for _, sign := range []string{"WARNING: DATA RACE", "race detected during execution", "panic:", "fatal error:"} {
		if strings.Contains(output, sign) {
			f.final = true
		}
	}
	if e.Test == "" {
		ofIts := func(test string) bool { return strings.HasPrefix(test, e.Package+" ") }
		if e.Package == "" || !slices.ContainsFunc(f.tests, ofIts) {
			f.final = true // it was not built, ran out of time, or ended without a test's word
		}
		return
	}
	name, _, _ := strings.Cut(e.Test, "/")
	if test := e.Package + " " + name; !slices.Contains(f.tests, test) {
		f.tests = append(f.tests, test)
	}
}

// repeatable is the tests that may be run once more, a line each; empty if none may.
func (f *failures) repeatable() string {
	if f.final || len(f.tests) == 0 || len(f.tests) > mostRepeated {
		return ""
	}
	return strings.Join(f.tests, "\n") + "\n"
}
