package runtime

import (
	"archive/tar"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/testkit/long"
)

// program is a template's program in a container, and a way to its ports, as a customer has it.
type program struct {
	t       *testing.T
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	port    string
	headers map[string]string
	printed func() string
}

// started starts a template's command line in an image that is made here of a package for Python, and waits until it answers as
// the template says. files are put beside it; those in usr/local/bin are run by its interpreter.
func started(t *testing.T, name, part string, set, files map[string]string, config func(python string) v1.Config) *program {
	t.Helper()
	long.Test(t, "programs of templates are unpacked and started")
	p, _ := containers(t)
	own, python := imagetest.Python(t, part)
	entries := append([]imagetest.Entry{{Header: tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}}}, own...)
	for path, content := range files {
		if strings.HasPrefix(path, "usr/local/bin/") {
			content = "#!" + python + "\n" + content
		}
		entries = append(entries, imagetest.File(path, content))
	}
	c := config(python)
	c.Env = append(c.Env, "PATH="+filepath.Dir(python)+":/usr/local/bin:/usr/bin:/bin")
	_, digested := imagetest.Serve(t, "amd64", c, imagetest.Layer(t, entries...))
	p.sandbox.Shell = imagetest.Program(t, "github.com/gantry-market/gantry/agent/cmd/gantry-shell")
	all, err := template.Builtin()
	require.NoError(t, err)
	tpl, err := all.Named(name)
	require.NoError(t, err)
	job, err := tpl.Render(set)
	require.NoError(t, err)
	_, err = p.Start(background(t), Spec{LeaseID: "l", Image: digested, Command: job.Command, Env: job.Env})
	require.NoError(t, err)
	shell, _ := login(t, p)
	x := &program{
		t: t, port: strconv.Itoa(int(job.Health.Port)), headers: map[string]string{"Content-Type": "application/json"},
		dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return shell.DialContext(ctx, network, address)
		},
		printed: func() string { return printed(t, p, "l") },
	}
	began := time.Now()
	require.Eventually(t, func() bool {
		st, err := p.Status(background(t), "l")
		return err != nil || st.Exit != nil || x.ask(http.MethodGet, job.Health.Path, "", nil) == http.StatusOK
	}, 5*time.Minute, 250*time.Millisecond)
	st, err := p.Status(background(t), "l")
	require.NoError(t, err)
	require.Nil(t, st.Exit, "%s has ended: %s", name, lazy(func() []string { return []string{x.printed()} }))
	t.Logf("%s serves after %s", name, time.Since(began).Round(100*time.Millisecond))
	return x
}

func (x *program) ask(method, path, body string, into any) int {
	x.t.Helper()
	r, err := http.NewRequestWithContext(x.t.Context(), method, "http://localhost:"+x.port+path, strings.NewReader(body))
	require.NoError(x.t, err)
	for key, value := range x.headers {
		r.Header.Set(key, value)
	}
	client := http.Client{Transport: &http.Transport{DialContext: x.dial, DisableKeepAlives: true}, Timeout: time.Minute}
	res, err := client.Do(r)
	if err != nil {
		return 0 // nothing listens yet
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && into != nil && res.StatusCode < http.StatusBadRequest {
		require.NoError(x.t, json.Unmarshal(raw, into), string(raw))
	}
	return res.StatusCode
}

// JupyterLab asks for the token, and a kernel runs code. Its project's image has start-notebook.py, of which the line here does
// the same with the same arguments.
func TestJupyterInAContainer(t *testing.T) {
	x := started(t, "jupyter", "jupyter", map[string]string{"token": "0123456789abcdef"}, map[string]string{"usr/local/bin/start-notebook.py": `import os, sys
os.makedirs(os.environ["HOME"], exist_ok=True)
os.execvp("jupyter", ["jupyter", "lab", "--ServerApp.ip=0.0.0.0", "--ServerApp.open_browser=False", *sys.argv[1:]])
`}, func(string) v1.Config {
		return v1.Config{User: "1000:100", Env: []string{"HOME=/tmp/jovyan"}, WorkingDir: "/tmp"}
	})
	require.Equal(t, http.StatusForbidden, x.ask(http.MethodGet, "/api/status", "", nil))
	x.headers["Authorization"] = "token 0123456789abcdef"
	require.Equal(t, http.StatusOK, x.ask(http.MethodGet, "/api/status", "", nil))
	var kernel struct{ ID string }
	require.Equal(t, http.StatusCreated, x.ask(http.MethodPost, "/api/kernels", "{}", &kernel))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws://localhost:"+x.port+"/api/kernels/"+kernel.ID+"/channels", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: &http.Transport{DialContext: x.dial}}, HTTPHeader: http.Header{"Authorization": {x.headers["Authorization"]}},
	})
	require.NoError(t, err)
	defer conn.CloseNow()
	conn.SetReadLimit(-1)
	require.NoError(t, wsjson.Write(ctx, conn, map[string]any{
		"channel": "shell", "parent_header": map[string]any{}, "metadata": map[string]any{}, "content": map[string]any{"code": "print(6 * 7)"},
		"header": map[string]any{"msg_id": "1", "msg_type": "execute_request", "username": "x", "session": "1", "date": time.Now().Format(time.RFC3339), "version": "5.3"},
	}))
	for {
		var message struct {
			Header struct {
				Type string `json:"msg_type"`
			}
			Content struct{ Text string }
		}
		require.NoError(t, wsjson.Read(ctx, conn, &message))
		if message.Header.Type == "stream" {
			require.Equal(t, "42\n", message.Content.Text)
			return
		}
	}
}

// llama.cpp's server answers with a model that is made here, of random weights.
func TestLlamaInAContainer(t *testing.T) {
	const dir = "../../localnet/scenario/testdata/llama/"
	if _, err := exec.LookPath("model-python"); err != nil {
		t.Skip("SKIPPED: llama.cpp's server is missing: scripts/toolchain.sh model")
	}
	model := filepath.Join(t.TempDir(), "model.gguf")
	out, err := exec.CommandContext(t.Context(), "model-python", dir+"model.py", model).CombinedOutput()
	require.NoError(t, err, string(out))
	files := map[string]string{}
	for at, from := range map[string]string{"model.gguf": model, "server.py": dir + "server.py"} {
		raw, err := os.ReadFile(from)
		require.NoError(t, err)
		files[at] = string(raw)
	}
	x := started(t, "llama-cpp", "model", map[string]string{"model": "test/random:F32", "context": "8192", "gpuLayers": "0", "pooling": "mean"}, files, func(python string) v1.Config {
		return v1.Config{Entrypoint: []string{python, "/server.py"}, Env: []string{"MODEL=/model.gguf"}}
	})
	var answer struct {
		Usage struct {
			Completion int `json:"completion_tokens"`
		}
	}
	require.Equal(t, http.StatusOK, x.ask(http.MethodPost, "/v1/chat/completions", `{"model": "test/random:F32", "max_tokens": 8, "messages": [{"role": "user", "content": "hello"}]}`, &answer))
	require.Equal(t, 8, answer.Usage.Completion)
	var vectors struct {
		Data []struct{ Embedding []float64 }
	}
	require.Equal(t, http.StatusOK, x.ask(http.MethodPost, "/v1/embeddings", `{"input": "hello"}`, &vectors))
	require.Len(t, vectors.Data[0].Embedding, 64)
}
