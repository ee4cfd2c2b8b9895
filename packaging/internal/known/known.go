// Package known tells which figures the daemons have, for tests of what reads them.
package known

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/metrics"
	"github.com/gantry-market/gantry/keeper/server"
)

// figure is a metric of a daemon, or of a GPU, in an expression.
var figure = regexp.MustCompile(`gantry_(agent|keeper|gateway|serve)_\w+|DCGM_FI_\w+`)

// Figures are the names of all metrics, and the source of those that are made with their daemon.
type Figures struct {
	names  map[string]bool
	source string
}

// New reads the figures; root is the repository.
func New(t *testing.T, root string) Figures {
	t.Helper()
	f := Figures{names: map[string]bool{}}
	for _, name := range append(metrics.Names(), server.NewMetrics().Names()...) {
		f.names[name] = true
	}
	// Gauges of the keeper and the gateway are made with the daemon, and so are those of a server: their names stand in its source.
	for _, path := range []string{"keeper/daemon/health.go", "gateway/daemon/seen.go", "client/serve/metrics.go", "client/server/figures.go"} {
		raw, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		f.source += string(raw)
	}
	return f
}

// Unknown returns the figures in an expression that no daemon has.
func (f Figures) Unknown(expr string) (unknown []string) {
	for _, name := range figure.FindAllString(expr, -1) {
		if !f.has(strings.TrimSuffix(name, "_bucket")) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

func (f Figures) has(name string) bool {
	if f.names[name] {
		return true
	}
	if strings.Contains(f.source, `"`+name+`"`) {
		return true
	}
	for _, daemon := range []string{"gantry_keeper_", "gantry_gateway_"} {
		if rest, ok := strings.CutPrefix(name, daemon); ok {
			return strings.Contains(f.source, `"`+rest+`"`) || strings.Contains(f.source, `"_`+rest+`"`)
		}
	}
	return false
}
