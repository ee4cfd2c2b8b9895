package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var errorRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// Each error on the page of troubles is one that a program prints: its parts stand in the sources.
func TestTroublesAreErrorsThatThereAre(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/operate/troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, dir := range []string{"client", "sdk", "agent"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(at string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(at) != ".go" || strings.HasSuffix(at, "_test.go") {
				return err
			}
			raw, err := os.ReadFile(at)
			sources.Write(raw)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	rows := errorRow.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 25 {
		t.Fatalf("only %d errors are on the page", len(rows))
	}
	for _, row := range rows {
		for _, part := range strings.Split(row[1], "…") {
			if part = strings.TrimSpace(part); !strings.Contains(sources.String(), part) {
				t.Errorf("no program prints %q of %q", part, row[1])
			}
		}
	}
}
