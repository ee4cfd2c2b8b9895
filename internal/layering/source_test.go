package layering

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// source is a Go or Rust file. Go files are read whatever their build tags are, so that the rules hold on every
// platform.
type source struct {
	path      string // from the root of the repository, with slashes
	pkg       string // the name in its package clause; empty for Rust
	lines     int
	test      bool // a test file, which no program contains
	imports   []imported
	functions []function
}

// dir is the folder, which is what other files import.
func (s source) dir() string { return path.Dir(s.path) }

// imported is an import of a package of this repository.
type imported struct {
	dir  string // from the root of the repository
	name string // empty where the package's own name is used
}

type function struct {
	name  string
	lines int
}

// skipped are folders without sources of ours.
var skipped = map[string]bool{".git": true, "build": true, "target": true, "testdata": true, "bin": true}

// readSources reads all sources below root that no generator wrote.
func readSources(root, module string) ([]source, error) {
	var all []source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped[d.Name()] && !binaries(name):
			return fs.SkipDir
		case d.IsDir() || (path.Ext(name) != ".go" && path.Ext(name) != ".rs"):
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		s, ok, err := parse(filepath.ToSlash(rel), text, module)
		if err == nil && ok {
			all = append(all, s)
		}
		return err
	})
	return all, err
}

// binaries reports whether a folder is where Cargo expects the sources of programs.
func binaries(name string) bool { return strings.HasSuffix(filepath.ToSlash(name), "/src/bin") }

// parse reads one file; false for one that was generated.
func parse(name string, text []byte, module string) (source, bool, error) {
	s := source{path: name, lines: bytes.Count(text, []byte("\n"))}
	if path.Ext(name) == ".rs" {
		s.test = !strings.HasPrefix(name, "program/src/")
		return s, true, nil
	}
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(f) {
		return source{}, false, err
	}
	s.pkg, s.test = f.Name.Name, strings.HasSuffix(name, "_test.go")
	for _, i := range f.Imports {
		full, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return source{}, false, err
		}
		dir, ours := strings.CutPrefix(full, module+"/")
		if !ours {
			continue
		}
		one := imported{dir: dir}
		if i.Name != nil {
			one.name = i.Name.Name
		}
		s.imports = append(s.imports, one)
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			lines := files.Position(d.End()).Line - files.Position(d.Pos()).Line + 1
			s.functions = append(s.functions, function{d.Name.Name, lines})
		}
	}
	return s, true, nil
}
