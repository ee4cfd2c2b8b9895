package grafana

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-market/gantry/internal/testtool"
	"github.com/gantry-market/gantry/packaging/internal/known"
)

// The files are those that the tables make.
func TestFilesAreUpToDate(t *testing.T) {
	for _, d := range All() {
		want, err := d.JSON()
		require.NoError(t, err)
		got, err := os.ReadFile(d.File())
		require.NoError(t, err, "go generate ./packaging/grafana")
		require.Equal(t, string(want), string(got), "go generate ./packaging/grafana")
		require.True(t, json.Valid(got))
	}
}

// Grafana's own types, which are generated from its schemas, read every dashboard without a field that they do not know, down to
// the options of panels and the queries of Prometheus, and find none missing. They do not look at the values of enumerations.
func TestGrafanasSchemasTakeTheFiles(t *testing.T) {
	faults := func(raw string) string {
		said, err := testtool.Run(t.Context(), strings.NewReader(raw), "dashboard")
		require.NoError(t, err)
		return string(said)
	}
	for _, d := range All() {
		raw, err := d.JSON()
		require.NoError(t, err)
		require.Empty(t, faults(string(raw)), d.Daemon)
		for _, wrong := range [][2]string{
			{`"legendFormat"`, `"legend_format"`}, {`"fillOpacity": 10`, `"fillOpacity": "10"`}, {`"showLegend": true`, `"shown": true`}, {`"graphMode"`, `"graph_mode"`},
		} {
			require.Contains(t, string(raw), wrong[0])
			require.NotEmpty(t, faults(strings.Replace(string(raw), wrong[0], wrong[1], 1)), "%s: %s", d.Daemon, wrong[1])
		}
	}
}

// Every figure that a dashboard shows is one that a daemon has, and every panel shows something.
func TestDashboardsShowFiguresThatThereAre(t *testing.T) {
	figures := known.New(t, "../..")
	for _, d := range All() {
		require.Empty(t, figures.Unknown(d.Alive), d.Daemon)
		for _, row := range d.Rows {
			require.NotEmpty(t, row.Panels, row.Title)
			for _, p := range row.Panels {
				require.NotEmpty(t, p.Lines, p.Title)
			}
		}
		for _, l := range d.Lines() {
			require.Empty(t, figures.Unknown(l.Expr), "%s: %s", d.Daemon, l.Title)
			require.Contains(t, l.Expr, `instance=~"$instance"`, l.Title)
		}
	}
	require.NotEmpty(t, figures.Unknown("gantry_keeper_no_such_thing"), "the check finds what is not there")
}

// Prometheus's own tool reads every expression.
func TestExpressionsAreSound(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("SKIPPED: promtool is missing: scripts/toolchain.sh promtool")
	}
	type rule struct{ Record, Expr string }
	var rules []rule
	for _, d := range All() {
		for _, l := range d.Lines() {
			rules = append(rules, rule{fmt.Sprintf("panel_%d", len(rules)), strings.ReplaceAll(l.Expr, "$instance", ".+")})
		}
	}
	check := func(rules []rule) error {
		raw, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "panels", "rules": rules}}})
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "rules.yml")
		require.NoError(t, os.WriteFile(path, raw, 0o600))
		out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", path).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	require.NoError(t, check(rules))
	require.Error(t, check([]rule{{"panel", "sum by (gantry_keeper_peers"}}), "the tool refuses what is not PromQL")
}
