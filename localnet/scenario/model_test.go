//go:build e2e

package scenario

import (
	"archive/tar"
	"bytes"
	"encoding/json"
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

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/sdk/market"
)

// llamaImage is an image of llama.cpp's server with a tiny model, whose weights are random.
func llamaImage(t *testing.T) string {
	t.Helper()
	own, python := imagetest.Python(t, "model")
	model := filepath.Join(t.TempDir(), "model.gguf")
	out, err := exec.CommandContext(t.Context(), "model-python", "testdata/llama/model.py", model).CombinedOutput()
	require.NoError(t, err, string(out))
	files := append([]imagetest.Entry{{Header: tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}}}, own...)
	for at, from := range map[string]string{"model.gguf": model, "server.py": "testdata/llama/server.py"} {
		raw, err := os.ReadFile(from)
		require.NoError(t, err)
		files = append(files, imagetest.File(at, string(raw)))
	}
	config := v1.Config{Entrypoint: []string{python, "/server.py"}, Env: []string{"MODEL=/model.gguf", "PATH=" + filepath.Dir(python) + ":/usr/bin:/bin"}}
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

// completion is llama.cpp's answer to a request for text.
type completion struct {
	Model   string
	Choices []struct {
		Text   string
		Reason string `json:"finish_reason"`
	}
	Usage struct {
		Prompt     uint64 `json:"prompt_tokens"`
		Completion uint64 `json:"completion_tokens"`
	}
}

// A real model server, llama.cpp's, in a container of a lease that a deployment has rented, with a model that is made here:
// completions come through the route of OpenAI's API, whole and streamed, and what they have used is counted as the server
// says. When its container is killed, the next request is answered from another lease, and without requests none is left.
func TestARealModelServerInALease(t *testing.T) {
	long.Test(t, "a model server is unpacked and started")
	needsSandbox(t)
	image := llamaImage(t)
	n, customer := twoMachines(t)
	m := serveModels(t, n, customer)
	status, text := m.ask(http.MethodPut, "/v1/deployments/small", map[string]any{
		"template": "llama-cpp", "image": image, "network": "none", "minReplicas": 0, "maxReplicas": 1, "idleSeconds": 20, "waitSeconds": 300, "leaseSeconds": 3600,
		"maxPricePerGpuHour": "3", "gpu": "A100", "allowSimulated": true, "set": map[string]string{"model": "test/random:F32", "context": "2048", "pooling": "mean", "gpuLayers": "0"},
	}, nil)
	require.Equal(t, http.StatusCreated, status, text)

	ask := func(more map[string]any, into any) (int, string) {
		body := map[string]any{"model": "small", "prompt": "the market", "max_tokens": 8, "temperature": 0, "seed": 1, "ignore_eos": true}
		for k, v := range more {
			body[k] = v
		}
		return m.ask(http.MethodPost, "/openai/v1/completions", body, into)
	}
	leases := func() (live []string) {
		for _, l := range snapshotOf(t, n).LeasesOfCustomer(customer.Address()) {
			if l.State() != market.LeaseEnded {
				live = append(live, l.Address.String())
			}
		}
		return live
	}
	var one, two, again completion
	began := time.Now()
	status, text = ask(nil, &one)
	require.Equal(t, http.StatusOK, status, text)
	t.Logf("from no replica to the answer: %s", time.Since(began).Round(100*time.Millisecond))
	first := leases()
	require.Len(t, first, 1)
	require.Len(t, one.Choices, 1)
	require.NotEmpty(t, one.Choices[0].Text)
	require.Equal(t, "length", one.Choices[0].Reason)
	require.EqualValues(t, 8, one.Usage.Completion)
	require.NotZero(t, one.Usage.Prompt)
	status, text = ask(map[string]any{"max_tokens": 16}, &two)
	require.Equal(t, http.StatusOK, status, text)
	require.EqualValues(t, 16, two.Usage.Completion)
	require.True(t, strings.HasPrefix(two.Choices[0].Text, one.Choices[0].Text), "the model goes on as it began: %q, %q", one.Choices[0].Text, two.Choices[0].Text)
	status, text = ask(map[string]any{"stream": true}, nil)
	require.Equal(t, http.StatusOK, status, text)
	streamed, parts := "", 0
	for line := range strings.Lines(text) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: {"); ok {
			var c completion
			require.NoError(t, json.Unmarshal([]byte("{"+data), &c), line)
			for _, choice := range c.Choices {
				streamed, parts = streamed+choice.Text, parts+1
			}
		}
	}
	require.Equal(t, one.Choices[0].Text, streamed)
	require.Greater(t, parts, 2, "it comes as it is made")
	require.Contains(t, text, "data: [DONE]")
	t.Logf("%q, then %q", one.Choices[0].Text, two.Choices[0].Text)

	var used struct {
		Usage []struct {
			Requests, Failed, PromptTokens, CompletionTokens, CountedHere uint64
		}
	}
	require.Eventually(t, func() bool {
		status, text = m.ask(http.MethodGet, "/v1/deployments/small/usage", nil, &used)
		return status == http.StatusOK && len(used.Usage) == 1 && used.Usage[0].Requests == 3
	}, 30*time.Second, 200*time.Millisecond, "%s", &text)
	require.EqualValues(t, 8+16+8, used.Usage[0].CompletionTokens)
	require.Zero(t, used.Usage[0].CountedHere, "the server says itself what it has used")
	require.Zero(t, used.Usage[0].Failed)

	killContainer(t, n.Dir(), first[0])
	began = time.Now()
	status, text = ask(nil, &again)
	require.Equal(t, http.StatusOK, status, text)
	require.Equal(t, one.Choices[0].Text, again.Choices[0].Text)
	require.NotContains(t, leases(), first[0])
	t.Logf("from a killed container to the answer of another lease: %s", time.Since(began).Round(100*time.Millisecond))
	require.Eventually(t, func() bool { return len(leases()) == 0 }, 2*time.Minute, 500*time.Millisecond, "no replica is left without requests")
}
