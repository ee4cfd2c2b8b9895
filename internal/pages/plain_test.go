package pages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// mostWords is how long a sentence of a help text may be. Vale reads the pages by the same rules (scripts/prose.sh).
const mostWords = 28

var (
	sentenceEnd = regexp.MustCompile(`[.!?:]["')*_]*(\s|$)`)
	// paragraphEnd ends a sentence without a full stop: a blank line, an item of a list, a heading, a cell of a table.
	paragraphEnd = regexp.MustCompile(`\n\s*(\n|[-*] |[0-9]+\. |#|\||>)|\|`)
	// hardPatterns are the patterns of docs/contributing.md that a machine can find.
	hardPatterns = regexp.MustCompile(`(?i)\b(is no|are no|of before|of who|from who|by itself|in all|goes on|go on)\b`)
)

// longSentences returns the sentences of a text that have too many words.
func longSentences(text string) []string {
	var long []string
	for _, paragraph := range paragraphEnd.Split(text, -1) {
		for _, sentence := range sentenceEnd.Split(paragraph, -1) {
			if len(strings.Fields(sentence)) > mostWords {
				long = append(long, strings.Join(strings.Fields(sentence), " "))
			}
		}
	}
	return long
}

// The README is a landing page.
func TestTheReadmeIsShort(t *testing.T) {
	const mostLines, mostLinks = 120, 20
	for _, p := range pages(t) {
		if p.path != "README.md" {
			continue
		}
		if lines := strings.Count(p.text, "\n"); lines > mostLines {
			t.Errorf("%d lines, at most %d", lines, mostLines)
		}
		if links := len(link.FindAllString(p.prose(), -1)); links > mostLinks {
			t.Errorf("%d links, at most %d", links, mostLinks)
		}
	}
}

func TestHelpHasShortSentences(t *testing.T) {
	texts := 0
	for _, dir := range commands {
		for _, file := range sourcesOf(t, dir) {
			for _, text := range helpTexts(t, file) {
				texts++
				for _, sentence := range longSentences(text) {
					t.Errorf("%s: more than %d words: %s", file, mostWords, sentence)
				}
				for _, found := range hardPatterns.FindAllString(text, -1) {
					t.Errorf("%s has %q, see Plain English in docs/contributing.md: %s", file, found, text)
				}
			}
		}
	}
	if texts < 300 {
		t.Errorf("only %d help texts were found", texts)
	}
}

// helpTexts are the constant parts of Usage and Description in a source.
func helpTexts(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		field, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		if name, ok := field.Key.(*ast.Ident); ok && (name.Name == "Usage" || name.Name == "Description") {
			texts = append(texts, constant(field.Value))
		}
		return true
	})
	return texts
}

// constant joins the string literals of an expression.
func constant(e ast.Expr) string {
	var b strings.Builder
	ast.Inspect(e, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				b.WriteString(s)
			}
		}
		return true
	})
	return b.String()
}
