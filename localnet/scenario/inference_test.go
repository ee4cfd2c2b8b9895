//go:build e2e

package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// modelImage is an image of testdata/modelserver.
func modelImage(t *testing.T) string {
	t.Helper()
	binary, err := os.ReadFile(imagetest.Program(t, "./testdata/modelserver"))
	require.NoError(t, err)
	image := imagetest.Image(t, "amd64", v1.Config{Entrypoint: []string{"/bin/modelserver"}}, imagetest.Layer(t, imagetest.File("bin/modelserver", string(binary))))
	tagged, _ := imagetest.Start(t, nil).Push(t, "models/server", image)
	return tagged
}

// twoMachines is a network with two machines that run containers.
func twoMachines(t *testing.T) (*network.Network, seed.Wallet) {
	t.Helper()
	n := marketOfOneModel(t)
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "40")
	return n, customer
}

// models is a running `gantry serve` of a customer, to be killed and started again.
type models struct {
	t        *testing.T
	n        *network.Network
	customer seed.Wallet
	args     []string
	cmd      *exec.Cmd
	url      string
	token    string
}

func serveModels(t *testing.T, n *network.Network, customer seed.Wallet) *models {
	t.Helper()
	session, err := seed.OpenWallet(filepath.Join(n.Dir(), "keys"), "models")
	require.NoError(t, err)
	ok(t, n, customer, "session", "add", session.Path, "--cap", "35", "--expires", "720h", "--fund", "1")
	file := filepath.Join(t.TempDir(), "token")
	m := &models{t: t, n: n, customer: customer, args: []string{"--json", "serve", "--session", session.Path, "--listen", "127.0.0.1:0", "--token-file", file}}
	m.start()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	m.token = strings.TrimSpace(string(raw))
	return m
}

func (m *models) start() {
	m.t.Helper()
	m.cmd = m.n.Command(context.Background(), m.customer, m.args...)
	var errs bytes.Buffer
	m.cmd.Stderr = &errs
	out, err := m.cmd.StdoutPipe()
	require.NoError(m.t, err)
	require.NoError(m.t, m.cmd.Start())
	m.t.Cleanup(func() {
		m.kill()
		if m.t.Failed() {
			m.t.Logf("the server said: %s", errs.String())
		}
	})
	var doc struct{ URL string }
	require.NoError(m.t, json.NewDecoder(out).Decode(&doc), errs.String())
	m.url = doc.URL
}

// kill ends it as kill -9 does.
func (m *models) kill() {
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
}

func (m *models) ask(method, path string, body, into any) (int, string) {
	m.t.Helper()
	return m.send(method, path, "", body, into)
}

// order buys, under an idempotency key.
func (m *models) order(key string, body, into any) (int, string) {
	m.t.Helper()
	return m.send(http.MethodPost, "/v1/orders", key, body, into)
}

func (m *models) send(method, path, key string, body, into any) (int, string) {
	m.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(m.t, err)
	r, err := http.NewRequestWithContext(m.t.Context(), method, m.url+path, bytes.NewReader(raw))
	require.NoError(m.t, err)
	r.Header.Set("Authorization", "Bearer "+m.token)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	if into != nil {
		require.NoError(m.t, json.Unmarshal(text, into), string(text))
	}
	return res.StatusCode, string(text)
}

func (m *models) chat(content string) (int, string) {
	return m.ask(http.MethodPost, "/openai/v1/chat/completions", map[string]any{
		"model": "small", "stream": true, "messages": []any{map[string]any{"role": "user", "content": content}},
	}, nil)
}

type deploymentDoc struct {
	Reason   string
	Serving  int `json:"servingReplicas"`
	Replicas []struct {
		ID                   int
		Phase, Lease, Reason string
	}
}

// serving waits until as many replicas serve, and none else is left.
func (m *models) serving(n int) (d deploymentDoc) {
	m.t.Helper()
	require.Eventually(m.t, func() bool {
		d = deploymentDoc{}
		status, text := m.ask(http.MethodGet, "/v1/deployments/small", nil, &d)
		if status != http.StatusOK {
			m.t.Log(text)
		}
		return status == http.StatusOK && d.Serving == n && len(d.Replicas) == n
	}, 5*time.Minute, 500*time.Millisecond, "%+v", &d)
	return d
}

var shBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// examples runs the shell examples of a page as a reader would.
func examples(t *testing.T, path string, env ...string) {
	t.Helper()
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	blocks := shBlock.FindAllSubmatch(page, -1)
	require.NotEmpty(t, blocks)
	for _, b := range blocks {
		cmd := exec.CommandContext(t.Context(), "sh", "-euc", string(b[1]))
		cmd.Env = append(append(os.Environ(), "no_proxy=*"), env...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", b[1], out)
		require.NotEmpty(t, out, string(b[1]))
	}
}

// A deployment of two replicas, each in a container of a machine of its own: requests are streamed from them, the server is
// killed and goes on with the leases that it had, a lease that ends fails no request and is replaced, and in the end no lease
// is left.
func TestAModelIsServedByLeases(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	image := modelImage(t)
	n, customer := twoMachines(t)
	m := serveModels(t, n, customer)
	request := map[string]any{
		"template": "llama-cpp", "image": image, "network": "none", "minReplicas": 2, "maxReplicas": 2, "waitSeconds": 120, "leaseSeconds": 3600,
		"maxPricePerGpuHour": "3", "gpu": "A100", "allowSimulated": true, "set": map[string]string{"model": "test/words:Q4"},
	}
	status, text := m.ask(http.MethodPut, "/v1/deployments/small", request, nil)
	require.Equal(t, http.StatusCreated, status, text)
	for _, after := range []time.Duration{100 * time.Millisecond, 700 * time.Millisecond, 1500 * time.Millisecond} { // while it buys
		time.Sleep(after)
		m.kill()
		m.start()
	}
	m.serving(2)
	require.Len(t, snapshotOf(t, n).LeasesOfCustomer(customer.Address()), 2, "kills within a purchase buy nothing twice")
	status, text = m.chat("one two three")
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `"content":"three "`)
	require.Contains(t, text, "data: [DONE]")

	m.kill()
	m.start()
	status, text = m.ask(http.MethodPut, "/v1/deployments/small", request, nil)
	require.Equal(t, http.StatusOK, status, text)
	had := m.serving(2)
	leases := snapshotOf(t, n).LeasesOfCustomer(customer.Address())
	require.Len(t, leases, 2, "the server that was killed buys nothing twice")

	// Requests go on while a lease ends under its replica.
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	var mu sync.Mutex
	answered, failed := 0, []string{}
	for i := range 4 {
		asking.Go(func() {
			for j := 0; ctx.Err() == nil; j++ {
				status, text := m.chat(fmt.Sprintf("worker %d question %d of many words", i, j))
				mu.Lock()
				if answered++; status != http.StatusOK || !strings.Contains(text, "[DONE]") {
					failed = append(failed, fmt.Sprint(status, " ", text))
				}
				mu.Unlock()
			}
		})
	}
	time.Sleep(time.Second)
	ok(t, n, customer, "stop", had.Replicas[0].Lease)
	require.Eventually(t, func() bool {
		var d deploymentDoc
		_, _ = m.ask(http.MethodGet, "/v1/deployments/small", nil, &d)
		return d.Serving == 2 && d.Replicas[1].ID == 2
	}, 5*time.Minute, 500*time.Millisecond)
	cancel()
	asking.Wait()
	// The container ends with its lease: a stream that has begun is broken off, and says so. No other request fails.
	t.Logf("%d requests, of which %d were broken off", answered, len(failed))
	require.Greater(t, answered, 20)
	for _, text := range failed {
		require.Contains(t, text, "200 ")
		require.Contains(t, text, "replica_lost")
	}
	require.LessOrEqual(t, len(failed), 4, "at most what was streamed at that moment")

	examples(t, "../../docs/operate/inference.md", "GANTRY_SERVER="+m.url, "GANTRY_TOKEN="+m.token, "IMAGE="+image)
	require.Eventually(t, func() bool {
		status, _ := m.ask(http.MethodGet, "/v1/deployments/small", nil, nil)
		return status == http.StatusNotFound
	}, 5*time.Minute, 500*time.Millisecond)
	for _, l := range snapshotOf(t, n).LeasesOfCustomer(customer.Address()) {
		require.Equal(t, market.LeaseEnded, l.State())
	}
}
