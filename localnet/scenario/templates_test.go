//go:build e2e

package scenario

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
)

// rentTemplate orders a template on a machine of the network, and returns the lease.
func rentTemplate(t *testing.T, n *network.Network, customer seed.Wallet, template string, args ...string) string {
	t.Helper()
	all := append([]string{"deploy", "--detach", "--max-price", "3", "--gpu", "A100", "--minutes", "10", "--allow-simulated", "--network", "none", "--template", template}, args...)
	done := ok(t, n, customer, all...)
	var deployed struct{ Leases []struct{ Address string } }
	require.NoError(t, json.Unmarshal([]byte(done.Stdout), &deployed), done.Stdout)
	require.Len(t, deployed.Leases, 1)
	return deployed.Leases[0].Address
}

// Templates are started for real as far as a machine without a GPU can: the workspace, which is visited, and the command line
// of llama.cpp's server, by a program that takes the same flags and has no model.
func TestTemplatesAreStarted(t *testing.T) {
	needsSandbox(t)
	model := modelImage(t)
	shell, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	n, customer := twoMachines(t)
	lease := rentTemplate(t, n, customer, "llama-cpp", "--set", "model=test/words:Q4", "--image", model)
	require.Eventually(t, func() bool {
		return strings.Contains(ok(t, n, customer, "logs", lease).Stdout, "serving on 0.0.0.0:8080")
	}, 2*time.Minute, 500*time.Millisecond)
	at, stop, err := n.Forward(t.Context(), customer, lease, "8080")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		res, err := http.Get("http://" + at + "/health")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	}, 2*time.Minute, 200*time.Millisecond)
	require.NoError(t, stop())

	wrong, err := n.Gantry(t.Context(), customer, "deploy", "--template", "llama-cpp", "--set", "parallel=many")
	require.NoError(t, err)
	require.Contains(t, wrong.Stderr, `"many" is no integer`)
	unknown, err := n.Gantry(t.Context(), customer, "deploy", "--template", "llama")
	require.NoError(t, err)
	require.Contains(t, unknown.Stderr, "there are comfyui")

	lease = rentTemplate(t, n, customer, "ssh", "--image", shell)
	require.Eventually(t, func() bool {
		out, err := n.GantryRaw(t.Context(), customer.Name, "--yes", "--keypair", customer.Path, "--url", n.At.RPC, "--ws", n.At.WS, "exec", lease, "--", "echo", "in the workspace")
		return err == nil && out.Code == 0 && strings.Contains(out.Stdout, "in the workspace")
	}, 2*time.Minute, 500*time.Millisecond)
	examples(t, "../../docs/operate/templates.md", "PATH="+buildBin(t)+":"+os.Getenv("PATH"))
}

func buildBin(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../build/bin")
	require.NoError(t, err)
	return dir
}

// pythonImage is an image with a program in Python at the place where its project's image has it.
func pythonImage(t *testing.T, part string, config v1.Config, program string, body string) string {
	t.Helper()
	files, python := imagetest.Python(t, part+"-python", part)
	files = append(files, imagetest.File("usr/local/bin/"+program, "#!"+python+"\n"+body))
	config.Env = append(config.Env, "PATH="+filepath.Dir(python)+":/usr/local/bin:/usr/bin:/bin")
	tagged, _ := imagetest.Start(t, nil).Push(t, "programs/"+part, imagetest.Image(t, "amd64", config, imagetest.Layer(t, files...)))
	return tagged
}

// web is a program at a forwarded port.
type web struct {
	t       *testing.T
	at      string
	headers map[string]string
}

func forwardedWeb(t *testing.T, n *network.Network, customer seed.Wallet, lease, port string) *web {
	t.Helper()
	at, stop, err := n.Forward(t.Context(), customer, lease, port)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })
	return &web{t: t, at: at, headers: map[string]string{"Content-Type": "application/json"}}
}

func (w *web) ask(method, path, body string, into any) int {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.at+path, strings.NewReader(body))
	require.NoError(w.t, err)
	for key, value := range w.headers {
		r.Header.Set(key, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0 // nothing listens yet
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return 0
	}
	if into != nil && res.StatusCode < http.StatusBadRequest {
		require.NoError(w.t, json.Unmarshal(raw, into), string(raw))
	}
	return res.StatusCode
}

// JupyterLab in a container answers its health check, lets nobody in without the token, and runs a kernel. Its image is made
// here: start-notebook.py, which the project's image has, is a line that starts the same program with the same arguments.
func TestJupyterIsStarted(t *testing.T) {
	needsSandbox(t)
	image := pythonImage(t, "jupyter", v1.Config{User: "1000:100", Env: []string{"HOME=/tmp/jovyan"}, WorkingDir: "/tmp"}, "start-notebook.py", `import os, sys
os.makedirs(os.environ["HOME"], exist_ok=True)
os.execvp("jupyter", ["jupyter", "lab", "--ServerApp.ip=0.0.0.0", "--ServerApp.open_browser=False", *sys.argv[1:]])
`)
	n, customer := twoMachines(t)
	const token = "0123456789abcdef"
	lease := rentTemplate(t, n, customer, "jupyter", "--set", "token="+token, "--image", image)
	w := forwardedWeb(t, n, customer, lease, "8888")
	var is struct{ Version string }
	require.Eventually(t, func() bool { return w.ask(http.MethodGet, "/api", "", &is) == http.StatusOK }, 5*time.Minute, time.Second)
	require.Equal(t, http.StatusForbidden, w.ask(http.MethodGet, "/api/status", "", nil))
	w.headers["Authorization"] = "token " + token
	require.Equal(t, http.StatusOK, w.ask(http.MethodGet, "/api/status", "", nil))
	var kernel struct{ ID string }
	require.Equal(t, http.StatusCreated, w.ask(http.MethodPost, "/api/kernels", "{}", &kernel))
	require.Equal(t, "42\n", w.run(kernel.ID, "print(6 * 7)"))
	t.Logf("Jupyter Server %s runs code", is.Version)
}

// run has a kernel of Jupyter run code, and returns what that prints.
func (w *web) run(kernel, code string) string {
	w.t.Helper()
	conn, res, err := websocket.DefaultDialer.DialContext(w.t.Context(), "ws://"+w.at+"/api/kernels/"+kernel+"/channels", http.Header{"Authorization": {w.headers["Authorization"]}})
	require.NoError(w.t, err)
	defer res.Body.Close()
	defer conn.Close()
	require.NoError(w.t, conn.SetReadDeadline(time.Now().Add(2*time.Minute)))
	require.NoError(w.t, conn.WriteJSON(map[string]any{
		"channel": "shell", "parent_header": map[string]any{}, "metadata": map[string]any{}, "content": map[string]any{"code": code},
		"header": map[string]any{"msg_id": "1", "msg_type": "execute_request", "username": "x", "session": "1", "date": time.Now().Format(time.RFC3339), "version": "5.3"},
	}))
	for {
		var message struct {
			Header struct {
				Type string `json:"msg_type"`
			}
			Content struct{ Text string }
		}
		require.NoError(w.t, conn.ReadJSON(&message))
		if message.Header.Type == "stream" {
			return message.Content.Text
		}
	}
}

// Ray starts as its template says, and runs a job that is submitted to its dashboard.
func TestRayIsStarted(t *testing.T) {
	needsSandbox(t)
	image := pythonImage(t, "ray", v1.Config{User: "1000:100", Env: []string{"HOME=/tmp"}, WorkingDir: "/tmp"}, "nothing", "")
	n, customer := twoMachines(t)
	lease := rentTemplate(t, n, customer, "ray", "--image", image)
	w := forwardedWeb(t, n, customer, lease, "8265")
	var is struct {
		Ray string `json:"ray_version"`
	}
	require.Eventually(t, func() bool { return w.ask(http.MethodGet, "/api/version", "", &is) == http.StatusOK }, 5*time.Minute, time.Second)
	var job struct {
		ID     string `json:"submission_id"`
		Status string
	}
	require.Equal(t, http.StatusOK, w.ask(http.MethodPost, "/api/jobs/", `{"entrypoint": "echo a job ran"}`, &job))
	require.Eventually(t, func() bool {
		return w.ask(http.MethodGet, "/api/jobs/"+job.ID, "", &job) == http.StatusOK && job.Status == "SUCCEEDED"
	}, 3*time.Minute, time.Second)
	var logs struct{ Logs string }
	require.Equal(t, http.StatusOK, w.ask(http.MethodGet, "/api/jobs/"+job.ID+"/logs", "", &logs))
	require.Contains(t, logs.Logs, "a job ran")
	t.Logf("Ray %s ran a job", is.Ray)
}
