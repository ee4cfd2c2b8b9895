//go:build e2e

package scenario

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/packaging/grafana"
)

// nothingToShow are lines of dashboards that have no series in a market where nothing is wrong, with the reason.
var nothingToShow = map[string]string{
	"{{instance}} GPU {{gpu}} missing": "no GPU is missing",
	"{{instance}} not: {{reason}}":     "every machine takes leases",
	"{{instance}} signer answers":      "these keepers have their keys themselves",
	"DCGM_FI_DEV_":                     "simulated GPUs have no readings",
	"gantry_gateway_relayed_bytes_":    "no lease is a container, which a gateway needs",
	"gantry_serve_notices_total":       "this server tells nobody",
}

// A Prometheus server scrapes a market's daemons and evaluates the rules that are shipped. All targets are up, all rules are
// evaluated, no alert fires in a market where nothing is wrong, and every line of every dashboard shows something. Then a machine
// stops and another one loses its GPU, and their alerts fire, with the texts that a person gets.
func TestAPrometheusServerReadsAMarket(t *testing.T) {
	if _, err := exec.LookPath("prometheus"); err != nil {
		t.Skip("SKIPPED: the Prometheus server is missing: scripts/toolchain.sh promtool")
	}
	ctx, dir := t.Context(), stateDir(t)
	lost := filepath.Join(dir, "lost-gpu")
	n, err := network.Start(ctx, network.Config{
		Models: seed.Calibrated(), Engine: kind(t), Dir: dir, Keepers: 3, Customers: 3, Nodes: network.DefaultNodes(2), Log: warnings(t),
		Flags: map[string][]string{"node-2": {"--simulate-lost-gpu-file", lost, "--report-dead-after", "-1s"}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(ctx))
	awaitClass(t, n)
	operator, customer := n.Keys.Customers[0], n.Keys.Customers[1]
	ok(t, n, operator, "credits", "add", "1")
	ok(t, n, customer, "credits", "add", "20")
	visitors := freeAddr(t)
	startGateway(t, n, operator, "--listen", "/ip4/127.0.0.1/tcp/"+portOf(freeAddr(t)), "--tls", visitors, "--ssh", freeAddr(t))
	figures := freeAddr(t)
	served, err := n.StartServe(ctx, n.Keys.Customers[2], "5", "--metrics", figures)
	require.NoError(t, err)
	p := startPrometheus(t, n, map[string][]string{
		"gantry-agent": {"node-1", "node-2"}, "gantry-keeper": {"keeper-1", "keeper-2", "keeper-3"}, "gantry-gateway": {network.GatewayName}, "gantry-serve": {figures},
	})
	answer, err := http.Get(served.URL + "/v1/leases") // without a token: an answer all the same
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	ok(t, n, customer, "deploy", "--gpu", "A100", "--max-price", "2", "--duration", "10m", "--allow-simulated", "--run-to-completion", "--", "sleep", "3")
	ok(t, n, customer, "deploy", "--gpu", "H100", "--max-price", "3", "--duration", "10m", "--allow-simulated", "--detach", "--", "sleep", "600")
	conn, err := tls.Dial("tcp", visitors, &tls.Config{ServerName: "nobody." + gatewayDomain, InsecureSkipVerify: true}) // a visitor of no lease
	if err == nil {
		_, _ = conn.Write([]byte("GET / HTTP/1.1\r\nHost: nobody." + gatewayDomain + "\r\n\r\n"))
		require.NoError(t, conn.Close())
	}

	var targets struct {
		ActiveTargets []struct{ Health, LastError, ScrapeURL string }
	}
	p.get(t, "targets", nil, &targets)
	require.Len(t, targets.ActiveTargets, 7)
	for _, target := range targets.ActiveTargets {
		require.Equal(t, "up", target.Health, target.LastError)
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	p.get(t, "rules", nil, &rules)
	count := 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			require.Equal(t, "ok", r.Health, "%s: %s", r.Name, r.LastError)
			count++
		}
	}
	require.Equal(t, rulesShipped(t), count)

	for _, d := range grafana.All() {
		var instances []string
		p.get(t, "label/instance/values", url.Values{"match[]": {d.Alive}}, &instances)
		require.NotEmpty(t, instances, "%s: the instances that can be chosen", d.Daemon)
		for _, l := range d.Lines() {
			p.shows(t, d.Daemon+": "+l.Title, strings.ReplaceAll(l.Expr, "$instance", strings.Join(instances, "|")), l.Legend)
		}
	}
	firing := func() (names []string) {
		for _, a := range p.query(t, `ALERTS{alertstate="firing"}`) {
			names = append(names, a.Metric["alertname"]+" "+a.Metric["instance"])
		}
		slices.Sort(names)
		return names
	}
	require.Empty(t, firing(), "nothing is wrong")

	require.NoError(t, os.WriteFile(lost, nil, 0o600))
	require.NoError(t, n.Stop(ctx, "node-1"))
	require.Eventually(t, func() bool {
		names := firing()
		return slices.Contains(names, "GantryAgentDown node-1") && slices.Contains(names, "GantryAgentGPUMissing node-2")
	}, 2*time.Minute, time.Second)
	var alerts struct {
		Alerts []struct{ Annotations, Labels map[string]string }
	}
	p.get(t, "alerts", nil, &alerts)
	for _, a := range alerts.Alerts {
		require.NotContains(t, a.Annotations["summary"], "{{")
		require.Contains(t, a.Annotations["summary"], a.Labels["instance"])
		require.NotEmpty(t, a.Annotations["action"])
	}
}

// promServer is a Prometheus server.
type promServer struct{ at string }

// startPrometheus scrapes daemons, by job, twice a second, and returns once each was scraped for some seconds. A daemon that is none of the
// network's is called by the address of its figures.
func startPrometheus(t *testing.T, n *network.Network, jobs map[string][]string) promServer {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs("../../packaging/prometheus/*.rules.yml")
	require.NoError(t, err)
	var scrape []any
	for job, names := range jobs {
		var static []any
		for _, name := range names {
			at := "http://" + name
			if !strings.Contains(name, ":") {
				var err error
				at, err = n.Metrics(name)
				require.NoError(t, err)
			}
			u, err := url.Parse(at)
			require.NoError(t, err)
			static = append(static, map[string]any{"targets": []string{u.Host}, "labels": map[string]string{"instance": name}})
		}
		scrape = append(scrape, map[string]any{"job_name": job, "static_configs": static})
	}
	config, err := yaml.Marshal(map[string]any{
		"global": map[string]any{"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"}, "rule_files": []string{rules}, "scrape_configs": scrape,
	})
	require.NoError(t, err)
	file := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(file, config, 0o600))
	p := promServer{at: "http://" + freeAddr(t)}
	var said bytes.Buffer
	cmd := exec.Command("prometheus", "--config.file", file, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", strings.TrimPrefix(p.at, "http://"))
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it says that it was killed
		if t.Failed() {
			t.Log(said.String())
		}
	})
	all := 0
	for _, names := range jobs {
		all += len(names)
	}
	require.Eventually(t, func() bool {
		up, err := p.ask(t.Context(), "query", url.Values{"query": {"count(count_over_time(up[1m]) > 10 and up == 1)"}}, nil)
		return err == nil && strings.Contains(up, fmt.Sprintf(`"%d"`, all))
	}, time.Minute, 200*time.Millisecond)
	return p
}

// ask asks the server's API and decodes what it says into out.
func (p promServer) ask(ctx context.Context, path string, args url.Values, out any) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.at+"/api/v1/"+path+"?"+args.Encode(), nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %w %s", resp.Status, err, raw)
	}
	if out == nil {
		return string(raw), nil
	}
	var answer struct{ Data json.RawMessage }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "", err
	}
	return string(raw), json.Unmarshal(answer.Data, out)
}

func (p promServer) get(t *testing.T, path string, args url.Values, out any) {
	t.Helper()
	_, err := p.ask(t.Context(), path, args, out)
	require.NoError(t, err)
}

type sampled struct {
	Metric map[string]string
	Value  []any
}

func (p promServer) query(t *testing.T, expr string) []sampled {
	t.Helper()
	var answer struct{ Result []sampled }
	p.get(t, "query", url.Values{"query": {expr}}, &answer)
	return answer.Result
}

// shows waits until a line of a panel has a series that its legend can name.
func (p promServer) shows(t *testing.T, panel, expr, legend string) {
	t.Helper()
	for name := range nothingToShow {
		if legend == name || strings.Contains(expr, name) {
			p.query(t, expr) // it can be read
			return
		}
	}
	var got []sampled
	require.Eventually(t, func() bool { got = p.query(t, expr); return len(got) > 0 }, 2*time.Minute, 500*time.Millisecond, "%s: %s shows nothing", panel, expr)
	for _, label := range []string{"instance", "gpu", "kind", "result", "status", "state", "route", "part", "way", "side", "event", "outcome", "answered", "why", "lease"} {
		if strings.Contains(legend, "{{"+label+"}}") {
			require.NotEmpty(t, got[0].Metric[label], "%s: the legend %s has no label %s", panel, legend, label)
		}
	}
}

// rulesShipped counts the alerts in the files of rules.
func rulesShipped(t *testing.T) (count int) {
	t.Helper()
	files, err := filepath.Glob("../../packaging/prometheus/*.rules.yml")
	require.NoError(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		count += strings.Count(string(raw), "- alert:")
	}
	return count
}
