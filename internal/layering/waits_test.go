package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shortestWait is the least time for which a test waits for what must happen. A busy computer stands still for seconds, and a test that
// gives up earlier fails now and then. A wait that succeeds ends at once, so that a long one costs nothing.
const shortestWait = 20 * time.Second

// TestWaitsOutlastABusyComputer holds every wait of testify that names its time by a constant to shortestWait.
func TestWaitsOutlastABusyComputer(t *testing.T) {
	waits := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if within, ok := waitOf(n); ok {
				waits++
				if within < shortestWait {
					t.Errorf("%s waits %s only", set.Position(n.Pos()), within)
				}
			}
			return true
		})
		return nil
	}))
	require.Greater(t, waits, 100)
}

// waitOf returns for how long a call of testify's Eventually waits.
func waitOf(n ast.Node) (time.Duration, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) < 4 {
		return 0, false
	}
	called, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(called.Sel.Name, "Eventually") {
		return 0, false
	}
	return durationOf(call.Args[2])
}

// durationOf returns the value of `time.Unit` and `N*time.Unit`.
func durationOf(e ast.Expr) (time.Duration, bool) {
	if product, ok := e.(*ast.BinaryExpr); ok && product.Op == token.MUL {
		count, ok := product.X.(*ast.BasicLit)
		if !ok {
			return 0, false
		}
		n, err := strconv.Atoi(count.Value)
		unit, ok := durationOf(product.Y)
		return time.Duration(n) * unit, err == nil && ok
	}
	unit, ok := e.(*ast.SelectorExpr)
	if !ok {
		return 0, false
	}
	d, ok := map[string]time.Duration{"Microsecond": time.Microsecond, "Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute}[unit.Sel.Name]
	return d, ok
}
