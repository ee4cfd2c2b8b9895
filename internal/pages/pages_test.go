// Package pages holds the tests of the documentation: every link, every path and every make target that a page names
// exists. Renames of code fail here until the pages follow.
package pages

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// page is one Markdown file; its path is relative to the root of the repository.
type page struct {
	path, text string
}

// pages reads all Markdown files that git tracks or would track. CHANGELOG.md is history and names what was.
func pages(t *testing.T) []page {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.md")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skipf("git cannot list the pages: %v", err)
	}
	var all []page
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) || name == "CHANGELOG.md" {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page{name, string(text)})
	}
	if len(all) < 20 {
		t.Fatalf("only %d pages found", len(all))
	}
	return all
}

// prose is the page without its fenced blocks, blocks is what stands in them.
func (p page) prose() string  { return fence.ReplaceAllString(p.text, "\n") }
func (p page) blocks() string { return strings.Join(fence.FindAllString(p.text, -1), "\n") }

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	link    = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	quoted  = regexp.MustCompile("`([^`\n]+)`")
	aPath   = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.*-]+)+/?$`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	making  = regexp.MustCompile(`\bmake ([a-z][a-z0-9-]*)`)
	// mergeMark is the first or the last line of a conflict; the one between them underlines headings as well.
	mergeMark = regexp.MustCompile(`(?m)^(<<<<<<<|>>>>>>>) .*$`)

	target = regexp.MustCompile(`(?m)^([a-z][a-z0-9 -]*):`)
)

func exists(name string) bool {
	if strings.Contains(name, "*") {
		found, err := filepath.Glob(filepath.Join(root, name))
		return err == nil && len(found) > 0
	}
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}

// anchors are the fragments by which a page's headings can be linked to, formed as GitHub forms them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, "\n"), -1) {
		title := link.ReplaceAllString(match[1], "]")
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127:
				return r
			}
			return -1
		}, strings.ToLower(title))
		all[anchor] = true
	}
	return all
}

// A merge leaves marks where two changes met, which nothing else finds in a page.
func TestNoPageHasMarksOfAMerge(t *testing.T) {
	for _, p := range pages(t) {
		if mark := mergeMark.FindString(p.text); mark != "" {
			t.Errorf("%s has %q: two changes met there", p.path, mark)
		}
	}
	if !mergeMark.MatchString("a\n<<<<<<< HEAD\n") {
		t.Error("a mark is not found")
	}
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	for _, p := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(p.prose(), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			file, fragment, _ := strings.Cut(match[1], "#")
			linked := p.path
			if file != "" {
				linked = path.Join(path.Dir(p.path), file)
			}
			if !exists(linked) {
				t.Errorf("%s links to %s, which does not exist", p.path, linked)
				continue
			}
			if fragment == "" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(root, linked))
			if err != nil {
				t.Errorf("%s links to %s: %v", p.path, match[1], err)
			} else if !anchors(string(text))[fragment] {
				t.Errorf("%s links to %s, which has no heading %q", p.path, linked, fragment)
			}
		}
	}
}

// bases are the folders that a path on a page may be relative to, in the order in which they are tried. Pages about the
// program name its sources and tests from there, as `state/lease.rs`.
func bases(p page) []string {
	return []string{".", path.Dir(p.path), "program/src", "program/tests/src", "program/tests"}
}

// placeholder is a part of a path that stands for any: `program/tests/tests/NAME.rs`.
var placeholder = regexp.MustCompile(`(^|/)[A-Z]+(\.|/|$)`)

// declared reports whether a name such as sdk/market.Cost is declared in that package.
func declared(t *testing.T, name string) bool {
	dir, identifier, ok := strings.Cut(name, ".")
	if !ok {
		return false
	}
	declaration := regexp.MustCompile(`(?m)^(func|type|var|const)?\s*(\([^)]*\) )?` + regexp.QuoteMeta(identifier) + `\b`)
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if declaration.Match(text) {
			return true
		}
	}
	return false
}

// TestEveryPathExists looks at what stands in backquotes and reads like a path of this repository: its first part is a
// folder in one of the bases.
func TestEveryPathExists(t *testing.T) {
	for _, p := range pages(t) {
		for _, match := range quoted.FindAllStringSubmatch(p.prose(), -1) {
			name := match[1]
			if !aPath.MatchString(name) || strings.HasPrefix(name, "build/") || placeholder.MatchString(name) {
				continue
			}
			first, _, _ := strings.Cut(name, "/")
			ours, there := false, false
			for _, base := range bases(p) {
				ours = ours || exists(path.Join(base, first))
				there = there || exists(path.Join(base, name)) || declared(t, path.Join(base, name))
			}
			if ours && !there {
				t.Errorf("%s names `%s`, which does not exist", p.path, name)
			}
		}
	}
}

// TestPackageTables compares the tables of packages in READMEs with the folders beside them: each folder with code is
// in a first column, and what is there exists.
func TestPackageTables(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| (`[a-z0-9/-]+`(?:, `[a-z0-9/-]+`)*) \\|")
	for _, dir := range []string{"agent", "client", "keeper", "localnet", "sdk"} {
		text, err := os.ReadFile(filepath.Join(root, dir, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		_, table, ok := strings.Cut(string(text), "| package |")
		if !ok {
			t.Errorf("%s/README.md has no table of packages", dir)
		}
		table, _, _ = strings.Cut(table, "\n\n")
		named := map[string]bool{}
		for _, match := range row.FindAllStringSubmatch(table, -1) {
			for _, name := range quoted.FindAllStringSubmatch(match[1], -1) {
				folder := strings.TrimPrefix(name[1], dir+"/")
				top, _, _ := strings.Cut(folder, "/")
				named[top] = true
				if !exists(path.Join(dir, folder)) {
					t.Errorf("%s/README.md names the package `%s`, which does not exist", dir, name[1])
				}
			}
		}
		folders, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range folders {
			if folder.IsDir() && !named[folder.Name()] && hasFiles(filepath.Join(root, dir, folder.Name())) {
				t.Errorf("%s/README.md does not name the package %s", dir, folder.Name())
			}
		}
	}
}

// hasFiles reports whether a folder holds a file, at any depth: a checkout keeps the empty folders of packages that moved.
func hasFiles(dir string) bool {
	found := false
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = true
			return filepath.SkipAll
		}
		return err
	})
	return err == nil && found
}

func TestEveryMakeTargetExists(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, match := range target.FindAllStringSubmatch(string(makefile), -1) {
		for _, name := range strings.Fields(match[1]) {
			targets[name] = true
		}
	}
	for _, p := range pages(t) {
		code := p.blocks()
		for _, match := range quoted.FindAllString(p.prose(), -1) {
			code += "\n" + match
		}
		for _, match := range making.FindAllStringSubmatch(code, -1) {
			if !targets[match[1]] {
				t.Errorf("%s names `make %s`, which the Makefile lacks", p.path, match[1])
			}
		}
	}
}

// commands are the folders whose sources name the subcommands and flags of each program.
var commands = map[string]string{
	"gantry": "client/cli", "gantry-agent": "agent/cmd/gantry-agent", "gantry-keeper": "keeper/cmd/gantry-keeper",
	"gantry-localnet": "localnet/cmd/gantry-localnet", "gantry-gateway": "gateway/cmd/gantry-gateway",
}

var (
	running = regexp.MustCompile("(?m)(?:^|[`/ :$(])(gantry(?:-[a-z]+)?) ([^\n`#]*)")
	word    = regexp.MustCompile(`^[a-z][a-z-]+$`)
)

// sourcesOf are the Go sources in a folder and in the folders in it.
func sourcesOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d sources, %v", dir, len(files), err)
	}
	below, err := filepath.Glob(filepath.Join(root, dir, "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return append(files, below...)
}

// TestEveryCommandExists takes the commands in code on pages and looks for the first subcommand and for every flag as a
// string in the program's sources.
func TestEveryCommandExists(t *testing.T) {
	sources := map[string]string{}
	for program, dir := range commands {
		for _, file := range sourcesOf(t, dir) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources[program] += string(text)
		}
		if strings.Contains(sources[program], "browserwallet.NewFlag()") { // a flag that programs share
			text, err := os.ReadFile(filepath.Join(root, "sdk/browserwallet/flag.go"))
			if err != nil {
				t.Fatal(err)
			}
			sources[program] += string(text)
		}
	}
	for _, p := range pages(t) {
		code := p.blocks()
		for _, match := range quoted.FindAllString(p.prose(), -1) {
			code += "\n" + match
		}
		for _, match := range running.FindAllStringSubmatch(code, -1) {
			source, ok := sources[match[1]]
			if !ok {
				continue
			}
			subcommand := true
			for _, arg := range strings.Fields(match[2]) {
				if arg == "--" || arg == ">" || arg == "|" || arg == "=" {
					break
				}
				name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
				name, _, _ = strings.Cut(name, "|")
				name = strings.TrimRight(name, "].,;)")
				if isFlag := strings.HasPrefix(arg, "--"); !isFlag && (!subcommand || !word.MatchString(name)) {
					continue
				} else if !isFlag {
					subcommand = false
				}
				if !strings.Contains(source, `"`+name+`"`) {
					t.Errorf("%s shows `%s %s`: %s has no %q", p.path, match[1], match[2], commands[match[1]], name)
				}
			}
		}
	}
}

// sources are the endings of files whose comments and messages name pages.
var sources = []string{"*.go", "*.rs", "*.sh", "Makefile"}

var named = regexp.MustCompile(`\bdocs/[a-z0-9/_-]+\.md`)

// TestCodeNamesPagesThatExist reads comments, messages and scripts.
func TestCodeNamesPagesThatExist(t *testing.T) {
	list := exec.Command("git", append([]string{"ls-files", "-z", "--"}, sources...)...)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skipf("git cannot list the sources: %v", err)
	}
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, linked := range named.FindAllString(string(text), -1) {
			if !exists(linked) {
				t.Errorf("%s names %s, which does not exist", name, linked)
			}
		}
	}
}
