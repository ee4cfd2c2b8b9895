package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var block = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```")

// interfaces are the pages of what people and programs type at gantry serve and gantry mcp, and the test that runs their
// examples: those in blocks marked sh.
var interfaces = map[string]string{
	"docs/operate/inference.md": "localnet/scenario/inference_test.go",
	"docs/operate/templates.md": "localnet/scenario/templates_test.go",
	"docs/operate/serve.md":     "client/cli/serve_orders_engine_test.go",
	"docs/operate/teams.md":     "client/cli/serve_orders_engine_test.go",
	"docs/operate/mcp.md":       "",
}

// Each command of these pages is run by a test, or marked as one that is not: a block without a language begins with $, and
// the page says what that means.
func TestCommandsAreRunOrMarked(t *testing.T) {
	for _, p := range pages(t) {
		test, one := interfaces[p.path]
		if !one {
			continue
		}
		run, marked := 0, 0
		for _, found := range block.FindAllStringSubmatch(p.text, -1) {
			switch language, body := found[1], found[2]; {
			case language == "sh":
				run++
			case language == "" && strings.HasPrefix(body, "$ "):
				marked++
			case language == "" && strings.Contains(body, "──"): // a drawing
			case language == "":
				t.Errorf("%s: is this run by a test (sh), or not ($ before it)?\n%s", p.path, body)
			}
		}
		if marked > 0 && !strings.Contains(p.text, "Commands behind a `$` are not run by a test.") {
			t.Errorf("%s does not say which of its commands are not run by a test", p.path)
		}
		if run == 0 {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, test))
		if err != nil || !strings.Contains(string(text), p.path) {
			t.Errorf("%s: its %d examples are not run by %q: %v", p.path, run, test, err)
		}
	}
}
