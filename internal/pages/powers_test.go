package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rustName is a test or a function of the program as pages name it: file::name.
var rustName = regexp.MustCompile(`^([a-z0-9_]+)::([a-z0-9_]+)$`)

// rustFunctions are the functions and tests of the program's sources and tests, as file::name, and the files' names.
func rustFunctions(t *testing.T) (functions, files map[string]bool) {
	t.Helper()
	functions, files = map[string]bool{}, map[string]bool{}
	for _, dir := range []string{"program/src", "program/tests/tests"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(at string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(at) != ".rs" {
				return err
			}
			text, err := os.ReadFile(at)
			file := strings.TrimSuffix(filepath.Base(at), ".rs")
			files[file] = true
			for _, match := range rustFunction.FindAllStringSubmatch(string(text), -1) {
				functions[file+"::"+match[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return functions, files
}

var rustFunction = regexp.MustCompile(`(?m)^\s*(?:pub(?:\([a-z]+\))? )?fn ([a-z0-9_]+)`)

// Sentences about who can do what name the test that shows it. Each test and function that a page names so exists.
func TestPagesNameFunctionsOfTheProgramThatExist(t *testing.T) {
	functions, files := rustFunctions(t)
	found := 0
	for _, p := range pages(t) {
		for _, match := range quoted.FindAllStringSubmatch(p.prose(), -1) {
			name := rustName.FindStringSubmatch(match[1])
			if name == nil || !files[name[1]] {
				continue
			}
			found++
			if !functions[match[1]] {
				t.Errorf("%s names `%s`: no file %s.rs of the program or its tests has it", p.path, match[1], name[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d tests and functions of the program are named", found)
	}
}

// whoCan are the tables of powers outside docs/protocol/powers.md, by their heading. Each row ends with tests that show
// the power's limit.
var whoCan = map[string]string{
	"docs/protocol/README.md":    "## Who can do what",
	"docs/operate/operations.md": "## Who holds what",
}

func TestEachPowerNamesATest(t *testing.T) {
	for _, p := range pages(t) {
		title, one := whoCan[p.path]
		if !one {
			continue
		}
		_, section, ok := strings.Cut(p.text, title+"\n")
		if !ok {
			t.Errorf("%s has no section %q", p.path, title)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		rows := 0
		for _, line := range strings.Split(section, "\n") {
			if !strings.HasPrefix(line, "| ") || strings.Contains(line, "| shown by |") || strings.HasPrefix(line, "| --- ") {
				continue
			}
			rows++
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			if last := cells[len(cells)-1]; last != "–" && !strings.Contains(last, "::") {
				t.Errorf("%s, %q: no test shows it", p.path, cells[0])
			}
		}
		if rows < 4 {
			t.Errorf("%s: %d rows below %q", p.path, rows, title)
		}
	}
}
