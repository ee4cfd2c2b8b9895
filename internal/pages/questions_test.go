package pages

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mostOnTheWay is how many files a newcomer may have to open for an answer.
const mostOnTheWay = 3

// Each answer is found from the README: every file of the route names the next one, by a link or by its path, and the last one
// has the words that the page quotes.
func TestRoutesToAnswers(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "docs/questions.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| (.+\\?) \\| (`.+`) \\| \"(.+)\" \\|$")
	rows := row.FindAllStringSubmatch(string(raw), -1)
	if len(rows) < 10 {
		t.Errorf("%d questions, at least 10 are wanted", len(rows))
	}
	for _, r := range rows {
		question, answer := r[1], r[3]
		var route []string
		for _, name := range quoted.FindAllStringSubmatch(r[2], -1) {
			route = append(route, name[1])
		}
		if len(route) > mostOnTheWay || len(route) == 0 || route[0] != "README.md" {
			t.Errorf("%s: the route %v has more than %d files, or does not begin with the README", question, route, mostOnTheWay)
			continue
		}
		for i, at := range route {
			text, err := os.ReadFile(filepath.Join(root, at))
			switch {
			case err != nil:
				t.Errorf("%s: %v", question, err)
			case i == len(route)-1 && !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(string(text), "///", "")), " "), answer):
				t.Errorf("%s: %s does not say %q", question, at, answer)
			case i < len(route)-1 && !names(at, string(text), route[i+1]):
				t.Errorf("%s: %s does not name %s", question, at, route[i+1])
			}
		}
	}
}

// names reports whether the text of a page leads to a file: by a link, or by its path from the root.
func names(page, text, file string) bool {
	if strings.Contains(text, "`"+file+"`") {
		return true
	}
	for _, match := range link.FindAllStringSubmatch(text, -1) {
		target, _, _ := strings.Cut(match[1], "#")
		if target != "" && path.Join(path.Dir(page), target) == file {
			return true
		}
	}
	return false
}
