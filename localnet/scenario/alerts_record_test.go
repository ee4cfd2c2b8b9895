//go:build e2e

package scenario

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// tick is the time between two samples. Rules are about minutes and hours: each sample counts for as long as a case says.
const tick = 500 * time.Millisecond

// recorder samples the figures of daemons as Prometheus would, also those that are gone.
type recorder struct {
	metrics func(name string) (string, error) // URL
	targets map[string]string                 // job by name of the process

	mu     sync.Mutex
	ticks  int
	series map[string][]string // in promtool's notation, with a value for each tick
}

// record samples until the test ends.
func record(t *testing.T, metrics func(name string) (string, error), targets map[string]string) *recorder {
	r := &recorder{metrics: metrics, targets: targets, series: map[string][]string{}}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		every := time.NewTicker(tick)
		defer every.Stop()
		for {
			r.sample(ctx)
			select {
			case <-every.C:
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { stop(); wg.Wait() })
	return r
}

func (r *recorder) sample(ctx context.Context) {
	now := map[string]string{}
	for name, job := range r.targets {
		labels := fmt.Sprintf(`job=%q,instance=%q`, job, name)
		families, err := r.scrape(ctx, name)
		if err != nil {
			now["up{"+labels+"}"] = "0"
			continue
		}
		now["up{"+labels+"}"] = "1"
		for _, f := range families {
			if strings.HasPrefix(f.GetName(), "gantry_") {
				values(f, labels, now)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range now {
		if _, ok := r.series[key]; !ok {
			r.series[key] = slices.Repeat([]string{"_"}, r.ticks)
		}
	}
	for key := range r.series {
		value, ok := now[key]
		if !ok {
			value = "stale"
		}
		r.series[key] = append(r.series[key], value)
	}
	r.ticks++
}

func (r *recorder) scrape(ctx context.Context, name string) (map[string]*dto.MetricFamily, error) {
	at, err := r.metrics(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, tick)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return parser.TextToMetricFamilies(io.LimitReader(answer.Body, 8<<20))
}

// values writes the values of a gauge or a counter; alerts read no others.
func values(f *dto.MetricFamily, labels string, into map[string]string) {
	for _, m := range f.GetMetric() {
		all := labels
		for _, l := range m.GetLabel() {
			all += fmt.Sprintf(",%s=%q", l.GetName(), l.GetValue())
		}
		var v float64
		switch {
		case m.GetGauge() != nil:
			v = m.GetGauge().GetValue()
		case m.GetCounter() != nil:
			v = m.GetCounter().GetValue()
		default:
			continue
		}
		into[f.GetName()+"{"+all+"}"] = strconv.FormatFloat(v, 'f', -1, 64)
	}
}

func (r *recorder) now() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ticks
}

// shown waits until a figure of a process, with labels such as status="active", has a value that a condition takes.
func (r *recorder) shown(t *testing.T, name, figure string, cond func(float64) bool, labels ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for key, values := range r.series {
			lacks := func(label string) bool { return !strings.Contains(key, label) }
			if !strings.HasPrefix(key, figure+"{") || lacks(fmt.Sprintf("instance=%q", name)) || slices.ContainsFunc(labels, lacks) {
				continue
			}
			if v, err := strconv.ParseFloat(values[len(values)-1], 64); err == nil && cond(v) {
				return true
			}
		}
		return false
	}, 2*time.Minute, tick, "%s of %s", figure, name)
}

// alert is one that a fault has caused: it was quiet at one tick, and fires at a later one, each tick being as long as step.
type alert struct {
	name, instance string
	daemon         string
	step           time.Duration
	quiet, fires   int
	// shorter puts a threshold in seconds in the place of one of minutes; empty leaves the rule as it is.
	shorter [2]string
}

// lasts waits until a fault has been there for so many ticks since its alert was quiet, after which the alert fires.
func (r *recorder) lasts(t *testing.T, a alert, ticks int) alert {
	t.Helper()
	a.fires = a.quiet + ticks
	require.Eventually(t, func() bool { return r.now() > a.fires+1 }, 5*time.Minute, tick)
	return a
}

// judge has Prometheus's own tool try an alert on what was recorded.
func (r *recorder) judge(t *testing.T, a alert) {
	t.Helper()
	r.promtool(t, a, max(a.quiet, a.fires), r.firing(a, a.quiet, false), r.firing(a, a.fires, true))
}

// judgeQuiet is judge for an alert that never fires.
func (r *recorder) judgeQuiet(t *testing.T, a alert) {
	t.Helper()
	r.promtool(t, a, a.quiet, r.firing(a, a.quiet, false))
}

// firing expects an alert to fire, or not to, at a tick.
func (r *recorder) firing(a alert, tick int, want bool) map[string]any {
	samples := []any{}
	if want {
		samples = append(samples, map[string]any{"labels": "{}", "value": 1})
	}
	return map[string]any{
		"expr": fmt.Sprintf("count(ALERTS{alertname=%q,alertstate=%q})", a.name, "firing"), "eval_time": (time.Duration(tick) * a.step).String(),
		"exp_samples": samples,
	}
}

// rules is the file of the alert's rule.
func (a alert) rules(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../packaging/prometheus/" + a.daemon + ".rules.yml")
	require.NoError(t, err)
	if a.shorter[0] == "" {
		return path
	}
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(raw), a.shorter[0]), "%s in %s", a.shorter[0], path)
	path = filepath.Join(t.TempDir(), "rules.yml")
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(raw), a.shorter[0], a.shorter[1], 1)), 0o600))
	return path
}

func (r *recorder) promtool(t *testing.T, a alert, last int, expect ...map[string]any) {
	t.Helper()
	promtool, err := exec.LookPath("promtool")
	require.NoError(t, err)
	rules := a.rules(t)
	var input []any
	r.mu.Lock()
	for _, key := range slices.Sorted(maps.Keys(r.series)) {
		if strings.Contains(key, fmt.Sprintf("instance=%q", a.instance)) {
			input = append(input, map[string]any{"series": key, "values": strings.Join(r.series[key][:last+1], " ")})
		}
	}
	r.mu.Unlock()
	doc, err := yaml.Marshal(map[string]any{
		"rule_files": []string{rules}, "evaluation_interval": a.step.String(),
		"tests": []any{map[string]any{"interval": a.step.String(), "input_series": input, "promql_expr_test": expect}},
	})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "test.yml")
	require.NoError(t, os.WriteFile(file, doc, 0o600))
	out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput()
	require.NoError(t, err, "%s of %s: %s", a.name, a.instance, out)
}
