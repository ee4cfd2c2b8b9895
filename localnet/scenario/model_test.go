//go:build e2e

package scenario

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	sdk "github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/internal/imagetest"
)

// llamaImage is an image of llama.cpp's server with a tiny model, whose weights are random.
func llamaImage(t *testing.T) string {
	t.Helper()
	files, python := imagetest.Python(t, "model-python", "model")
	model := filepath.Join(t.TempDir(), "model.gguf")
	out, err := exec.CommandContext(t.Context(), "model-python", "testdata/llama/model.py", model).CombinedOutput()
	require.NoError(t, err, string(out))
	for at, from := range map[string]string{"model.gguf": model, "server.py": "testdata/llama/server.py"} {
		raw, err := os.ReadFile(from)
		require.NoError(t, err)
		files = append(files, imagetest.File(at, string(raw)))
	}
	config := v1.Config{Entrypoint: []string{python, "/server.py"}, Env: []string{"MODEL=/model.gguf"}}
	tagged, _ := imagetest.Start(t, nil).Push(t, "models/llama", imagetest.Image(t, "amd64", config, imagetest.Layer(t, files...)))
	return tagged
}

// killContainer ends a lease's sandbox with SIGKILL, as a fault of the machine does.
func killContainer(t *testing.T, dir, lease string) {
	t.Helper()
	pids, err := processes(func(_, cmdline []byte) bool {
		return bytes.Contains(cmdline, []byte(dir)) && bytes.Contains(cmdline, []byte(lease)) && bytes.Contains(cmdline, []byte("runsc"))
	})
	require.NoError(t, err)
	require.NotEmpty(t, pids)
	for pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // some end with the first
	}
}

// A real model server: llama.cpp's, in containers of two machines, with a model that is made here. The stock OpenAI client and
// LiteLLM use it; a container is killed while they do, and no request fails that has not begun to answer. Another deployment
// goes down to no replica, and comes back when it is asked.
func TestARealModelServerIsServed(t *testing.T) {
	needsSandbox(t)
	stock, err := exec.LookPath("openai-python")
	if err != nil {
		t.Skip("SKIPPED: the stock OpenAI client and LiteLLM are missing: scripts/toolchain.sh openai")
	}
	image := llamaImage(t)
	n, customer := twoMachines(t)
	m := serveModels(t, n, customer)
	request := map[string]any{
		"template": "llama-cpp", "image": image, "network": "none", "minReplicas": 2, "maxReplicas": 2, "waitSeconds": 120, "leaseSeconds": 3600, "maxPricePerGpuHour": "3",
		"gpu": "A100", "allowSimulated": true, "set": map[string]string{"model": "test/random:F32", "context": "8192", "pooling": "mean", "gpuLayers": "0"},
	}
	status, text := m.ask(http.MethodPut, "/v1/deployments/small", request, nil)
	require.Equal(t, http.StatusCreated, status, text)
	had := m.serving(2)
	began := time.Now()
	cmd := exec.CommandContext(t.Context(), stock, "testdata/llama/client.py", m.url+"/openai/v1", m.token, "small")
	cmd.Env = append(os.Environ(), "LITELLM_LOCAL_MODEL_COST_MAP=True", "no_proxy=*")
	var said syncBuffer
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return strings.Contains(said.String(), "asking") || cmd.ProcessState != nil }, 2*time.Minute, 20*time.Millisecond, "%s", said.String())
	time.Sleep(2 * time.Second)
	killContainer(t, n.Dir(), had.Replicas[0].Lease)
	require.NoError(t, cmd.Wait(), said.String())
	t.Logf("clients: %s, in %s", strings.TrimSpace(said.String()), time.Since(began).Round(time.Second))
	require.Eventually(t, func() bool {
		var d deploymentDoc
		_, _ = m.ask(http.MethodGet, "/v1/deployments/small", nil, &d)
		return d.Serving == 2 && d.Replicas[1].ID == 2
	}, 5*time.Minute, 500*time.Millisecond, "the lost replica is replaced")
	var used struct {
		Usage []struct {
			Requests, Failed, PromptTokens, CompletionTokens, CountedHere uint64
			Cost                                                          string
		}
	}
	status, text = m.ask(http.MethodGet, "/v1/deployments/small/usage", nil, &used)
	require.Equal(t, http.StatusOK, status, text)
	t.Logf("used: %s", text)
	require.NotEmpty(t, used.Usage)
	require.Zero(t, used.Usage[0].CountedHere-used.Usage[0].Failed, "llama.cpp reports what it has used, unless it is killed")
	status, text = m.ask(http.MethodDelete, "/v1/deployments/small", nil, nil)
	require.Equal(t, http.StatusAccepted, status, text)

	request["minReplicas"], request["maxReplicas"], request["idleSeconds"] = 0, 1, 3
	status, text = m.ask(http.MethodPut, "/v1/deployments/rare", request, nil)
	require.Equal(t, http.StatusCreated, status, text)
	leases := func() (running int) {
		for _, l := range snapshotOf(t, n).LeasesOfCustomer(customer.Address()) {
			if l.State() != sdk.LeaseEnded {
				running++
			}
		}
		return running
	}
	require.Eventually(t, func() bool { return leases() == 0 }, 2*time.Minute, 500*time.Millisecond, "no replica is left")
	for range 2 { // up from none, and down again
		began := time.Now()
		status, text = m.ask(http.MethodPost, "/openai/v1/completions", map[string]any{"model": "rare", "prompt": "hello", "max_tokens": 4}, nil)
		require.Equal(t, http.StatusOK, status, text)
		require.Contains(t, text, `"completion_tokens":4`)
		t.Logf("from no replica to the answer: %s", time.Since(began).Round(100*time.Millisecond))
		require.Equal(t, 1, leases())
		require.Eventually(t, func() bool { return leases() == 0 }, 2*time.Minute, 500*time.Millisecond, "after the idle time")
	}
}
