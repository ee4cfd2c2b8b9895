package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Format is how a command prints its result.
type Format string

// Formats.
const (
	FormatTable Format = "table"
	FormatWide  Format = "wide" // with all columns
	FormatJSON  Format = "json"
	FormatYAML  Format = "yaml"
)

var formats = []Format{FormatTable, FormatWide, FormatJSON, FormatYAML}

// ErrFormat: no output format has this name.
var ErrFormat = errors.New("not an output format")

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	if f := Format(name); slices.Contains(formats, f) {
		return f, nil
	}
	return FormatTable, fmt.Errorf("%q is %w: give table, wide, json or yaml", name, ErrFormat)
}

// Document: the result is one document for programs, and nothing else is on standard output.
func (f Format) Document() bool { return f == FormatJSON || f == FormatYAML }

// Write writes value as the document of a format. YAML has the names and the order of JSON.
func (f Format) Write(w io.Writer, value any) error {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("write the result as JSON: %w", err)
	}
	if f == FormatYAML {
		var all yaml.Node // JSON is YAML
		if err := yaml.Unmarshal(raw.Bytes(), &all); err != nil {
			return fmt.Errorf("write the result as YAML: %w", err)
		}
		blocks(&all)
		raw.Reset()
		out := yaml.NewEncoder(&raw)
		out.SetIndent(2)
		if err := errors.Join(out.Encode(&all), out.Close()); err != nil {
			return fmt.Errorf("write the result as YAML: %w", err)
		}
	}
	if _, err := w.Write(raw.Bytes()); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// bare are texts that need no quotes: every reader of YAML takes them for texts, also an old one.
var bare = regexp.MustCompile(`^[A-Za-z/][^:#]*$`)

// words are what old readers take for true or false.
var words = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

// blocks has a document written in lines. Characters that are not shown stand as escapes, as in JSON.
func blocks(n *yaml.Node) {
	n.Style = 0
	hidden := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
	if n.Tag == "!!str" && (!bare.MatchString(n.Value) || slices.Contains(words, strings.ToLower(n.Value)) || strings.ContainsFunc(n.Value, hidden)) {
		n.Style = yaml.DoubleQuotedStyle
	}
	if len(n.Content) == 0 && n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle // [] and {}
	}
	for _, c := range n.Content {
		blocks(c)
	}
}
