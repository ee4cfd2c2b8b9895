package buy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The package and the one for gateways read no flags and print nothing: programs of all kinds use them.
func TestReadsNoFlagsAndPrintsNothing(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	gateways, err := filepath.Glob("../expose/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, gateways)
	for _, path := range append(files, gateways...) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			require.NotContains(t, []string{"flag", "log", "github.com/urfave/cli/v2"}, name, path)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := call.X.(*ast.Ident); ok {
					what := pkg.Name + "." + call.Sel.Name
					require.NotContains(t, []string{"os.Stdout", "os.Stderr"}, what, path)
					require.False(t, strings.HasPrefix(what, "fmt.Print") || strings.HasPrefix(what, "fmt.Fprint"), "%s: %s", path, what)
				}
			}
			return true
		})
	}
}
