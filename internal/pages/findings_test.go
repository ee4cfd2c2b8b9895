package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	findingRow = regexp.MustCompile(`(?m)^\| ([A-Z] [0-9]+[a-z]?|R[0-9]+) \|.*\| ([^|]*) \|$`)
	testName   = regexp.MustCompile(`(?m)^\s*(?:fn|func) ([A-Za-z0-9_]+)\(|^pub fn ([a-z0-9_]+)\(\) -> Row `)
)

// testNames are the functions of all test files: Rust tests of the program, attacks on it, of each of which a test is made, and Go.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	walk := func(dir string, isTest func(string) bool) {
		err := filepath.WalkDir(filepath.Join(root, dir), func(at string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() {
				if entry.Name() == "target" || entry.Name() == "node_modules" {
					return fs.SkipDir
				}
				return nil
			}
			if !isTest(at) {
				return nil
			}
			text, err := os.ReadFile(at)
			for _, match := range testName.FindAllStringSubmatch(string(text), -1) {
				names[match[1]+match[2]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	walk("program/tests/tests", func(at string) bool { return strings.HasSuffix(at, ".rs") })
	for _, dir := range []string{"agent", "attest", "client", "gateway", "guest", "internal", "keeper", "localnet", "sdk", "web"} {
		walk(dir, func(at string) bool { return strings.HasSuffix(at, "_test.go") })
	}
	return names
}

// Every finding names tests that hold it, and each of them exists. A row without a test is marked as open.
func TestFindingsNameTestsThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/findings.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := testNames(t)
	rows := findingRow.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 30 {
		t.Fatalf("docs/findings.md has %d rows that can be read", len(rows))
	}
	for _, row := range rows {
		finding, cell := row[1], row[2]
		tests := quoted.FindAllStringSubmatch(cell, -1)
		if len(tests) == 0 && !strings.HasPrefix(cell, "open") {
			t.Errorf("%s names no test and is not marked as open: %q", finding, cell)
		}
		for _, test := range tests {
			if !names[test[1]] {
				t.Errorf("%s names the test %s, which does not exist", finding, test[1])
			}
		}
	}
}
