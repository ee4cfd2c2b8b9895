package serve

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the OpenAPI document anew")

func document(t *testing.T) []byte {
	t.Helper()
	raw, err := json.Marshal((&Server{}).api(&routes{}).OpenAPI())
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, raw, "", "  "))
	return append(b.Bytes(), '\n')
}

// Clients are generated from the document: a change of it is seen in a review.
func TestOpenAPIDocumentIsTheCommittedOne(t *testing.T) {
	path := filepath.Join("testdata", "openapi.json")
	got := document(t)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "the API has changed; if that is wanted, write the document anew with: go test ./client/serve -run OpenAPI -update")
}

var inPath = regexp.MustCompile(`\{([^}]+)\}`)

// What OpenAPI 3.1 asks of a document beyond its fields: references lead somewhere, operations have names of their own,
// and the parameters in a path are declared.
func TestOpenAPIDocumentIsWhole(t *testing.T) {
	var doc struct {
		OpenAPI    string
		Info       struct{ Title, Version string }
		Paths      map[string]map[string]json.RawMessage
		Components struct {
			Schemas         map[string]any
			SecuritySchemes map[string]any
		}
	}
	raw := document(t)
	require.NoError(t, json.Unmarshal(raw, &doc))
	require.Regexp(t, `^3\.1\.`, doc.OpenAPI)
	require.NotEmpty(t, doc.Info.Title)
	require.NotEmpty(t, doc.Info.Version)
	ids := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			var o struct {
				OperationID string
				Parameters  []struct {
					Name, In string
					Required bool
				}
				Responses map[string]struct {
					Description string
					Content     map[string]any
				}
				Security []map[string][]string
			}
			require.NoError(t, json.Unmarshal(operation, &o), path)
			require.False(t, ids[o.OperationID] || o.OperationID == "", "%s %s: %q", method, path, o.OperationID)
			ids[o.OperationID] = true
			declared := map[string]bool{}
			for _, p := range o.Parameters {
				if p.In == "path" {
					require.True(t, p.Required, path)
					declared[p.Name] = true
				}
			}
			for _, m := range inPath.FindAllStringSubmatch(path, -1) {
				require.True(t, declared[m[1]], "%s: %s is not declared", path, m[1])
				delete(declared, m[1])
			}
			require.Empty(t, declared, path)
			require.NotEmpty(t, o.Responses, path)
			for status, r := range o.Responses {
				require.NotEmpty(t, r.Description, "%s %s", path, status)
				if status >= "4" {
					require.Contains(t, r.Content, problemType, "%s %s", path, status)
				}
			}
			for _, s := range o.Security {
				for name := range s {
					require.Contains(t, doc.Components.SecuritySchemes, name)
				}
			}
		}
	}
	var any any
	require.NoError(t, json.Unmarshal(raw, &any))
	refs := references(any)
	require.NotEmpty(t, refs)
	for _, ref := range refs {
		name, ok := strings.CutPrefix(ref, "#/components/schemas/")
		require.True(t, ok, ref)
		require.Contains(t, doc.Components.Schemas, name, ref)
	}
}

func references(v any) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if k == "$ref" {
				out = append(out, fmt.Sprint(x))
			}
			out = append(out, references(x)...)
		}
	case []any:
		for _, x := range v {
			out = append(out, references(x)...)
		}
	}
	return out
}
