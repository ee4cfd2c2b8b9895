package terminal

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/printable"
)

// YAML has the names, the order and the texts of JSON: what looks like a number and is a text stays one, and what a terminal obeys is an escape.
func TestYAMLSaysWhatJSONSays(t *testing.T) {
	value := struct {
		Price string   `json:"price"`
		Count uint64   `json:"count"`
		Name  string   `json:"name"`
		None  []string `json:"none"`
		Left  string   `json:"left,omitempty"`
		Rows  []any    `json:"rows"`
	}{Price: "1.98", Count: 12_345_678_901_234, Name: "<evil>\x1b[2J\u202e: &x", None: []string{}, Rows: []any{map[string]bool{"a": true}, "no"}}
	var out bytes.Buffer
	require.NoError(t, FormatYAML.Write(printable.Writer(&out), value))
	require.Equal(t, "price: \"1.98\"\ncount: 12345678901234\nname: \"<evil>\\e[2J\\u202e: &x\"\nnone: []\nrows:\n  - a: true\n  - \"no\"\n", out.String())
	out.Reset()
	require.NoError(t, FormatJSON.Write(&out, map[string]string{"name": "<a>"}))
	require.Equal(t, "{\n  \"name\": \"<a>\"\n}\n", out.String())
}

func TestFormats(t *testing.T) {
	for name, document := range map[string]bool{"table": false, "wide": false, "json": true, "yaml": true} {
		f, err := ParseFormat(name)
		require.NoError(t, err)
		require.Equal(t, document, f.Document(), name)
	}
	_, err := ParseFormat("xml")
	require.ErrorIs(t, err, ErrFormat)
}
