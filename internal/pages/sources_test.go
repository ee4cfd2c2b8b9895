package pages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// makesErrors are the last names of functions whose first texts a person reads as an error.
var makesErrors = []string{"New", "Errorf", "Usage", "usage", "Refused", "refused", "Failure"}

// Errors and the comments of packages are as plain as the pages: people who use a program read the first, and those who change
// it read the second.
func TestErrorsAndPackagesAreSaidPlainly(t *testing.T) {
	errors, packages := 0, 0
	for _, file := range goFiles(t) {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		texts := errorTexts(parsed)
		errors += len(texts)
		if parsed.Doc != nil {
			packages++
			texts = append(texts, preformatted.ReplaceAllString(parsed.Doc.Text(), "\n\n"))
		}
		for _, text := range texts {
			for _, sentence := range longSentences(text) {
				t.Errorf("%s: more than %d words: %s", file, mostWords, sentence)
			}
			for _, found := range hardPatterns.FindAllString(thereIs.ReplaceAllString(text, ""), -1) {
				t.Errorf("%s has %q, see Plain English in docs/contributing.md: %s", file, found, text)
			}
		}
	}
	if errors < 1000 || packages < 150 {
		t.Errorf("only %d texts of errors and %d comments of packages were found", errors, packages)
	}
}

// thereIs are usual ways to say that something is missing or over. The patterns of Vale allow them too.
var thereIs = regexp.MustCompile(`(?i)\bthere (is|are) no\b|\b(is|are) no (longer|more)\b`)

// preformatted are tables and code in a comment: lines that begin with a tab.
var preformatted = regexp.MustCompile(`\n(\t.*\n)+`)

// errorTexts are the texts that a source makes errors of.
func errorTexts(parsed *ast.File) (texts []string) {
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		var name string
		switch f := call.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
		}
		if !slices.Contains(makesErrors, name) {
			return true
		}
		for _, arg := range call.Args {
			texts = append(texts, argumentTexts(arg)...)
		}
		return true
	})
	return texts
}

// argumentTexts are the texts of an argument. The arguments of a call and the fields of a struct are apart: only what stands in one
// expression is read as one text.
func argumentTexts(arg ast.Expr) (texts []string) {
	switch e := arg.(type) {
	case *ast.CallExpr:
		for _, a := range e.Args {
			texts = append(texts, argumentTexts(a)...)
		}
	case *ast.CompositeLit:
		for _, a := range e.Elts {
			texts = append(texts, argumentTexts(a)...)
		}
	case *ast.KeyValueExpr:
		return argumentTexts(e.Value)
	case *ast.UnaryExpr:
		return argumentTexts(e.X)
	case *ast.FuncLit:
		return nil // errors that it makes are found in its own calls
	default:
		if text := constant(arg); strings.Contains(text, " ") {
			texts = append(texts, text)
		}
	}
	return texts
}

// goFiles are the sources of programs and libraries, without tests and what is generated.
func goFiles(t *testing.T) (files []string) {
	t.Helper()
	skip := []string{"build", "node_modules", "testdata", ".git", "bindings"}
	if err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(skip, d.Name()):
			return filepath.SkipDir
		case strings.HasSuffix(at, ".go") && !strings.HasSuffix(at, "_test.go"):
			rel, err := filepath.Rel(root, at)
			files = append(files, rel)
			return err
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return files
}
