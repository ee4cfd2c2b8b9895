package rent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/inference"
)

// soldOut sells nothing.
type soldOut struct{}

func (soldOut) Buy(context.Context, string, json.RawMessage) (string, error) {
	return "", errors.New("no node fits")
}

func (soldOut) Extend(context.Context, string, string, time.Duration) (inference.Lease, error) {
	return inference.Lease{}, inference.ErrOver
}
func (soldOut) Abandon(context.Context, string) error { return nil }
func (soldOut) Stop(context.Context, string) error    { return nil }
func (soldOut) Lease(context.Context, string) (inference.Lease, error) {
	return inference.Lease{}, inference.ErrOver
}

func (soldOut) Connect(context.Context, string) (inference.Connection, error) {
	return nil, inference.ErrOver
}

// run runs a command and returns its exit code and what it has printed.
func run(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = command.Run(context.Background(), command.Streams{Out: &o, Err: &e}, args, Commands)
	return code, o.String(), e.String()
}

// The commands make, show and end a deployment of a running server, and say what is wrong.
func TestDeploymentCommands(t *testing.T) {
	store, err := serve.OpenStore(filepath.Join(t.TempDir(), "serve.db"), solana.PublicKey{1})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	file, err := inference.OpenStore(filepath.Join(t.TempDir(), "inference.db"), solana.PublicKey{1})
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	models, err := inference.New(inference.Options{Store: file, Compute: soldOut{}, Log: zerolog.Nop()})
	require.NoError(t, err)
	all, err := template.Builtin()
	require.NoError(t, err)
	server := httptest.NewServer(serve.New(serve.Options{Store: store, Inference: models, Templates: all, Log: zerolog.Nop()}))
	t.Cleanup(server.Close)
	token, err := store.NewToken()
	require.NoError(t, err)

	code, _, errs := run("deployments", "list", "--server", server.URL)
	require.Equal(t, service.CodeUsage, code)
	require.Contains(t, errs, "GANTRY_TOKEN")
	t.Setenv("GANTRY_SERVER", server.URL)
	t.Setenv("GANTRY_TOKEN", token)
	create := []string{"deployments", "create", "small", "--template", "vllm", "--set", "model=a/b", "--max", "3", "--allow-simulated"}
	for range 2 {
		code, out, errs := run(append([]string{"--json"}, create...)...)
		require.Equal(t, service.CodeDone, code, errs)
		var d serve.Deployment
		require.NoError(t, json.Unmarshal([]byte(out), &d), out)
		require.Equal(t, []any{"small", 0, 3}, []any{d.Name, d.MinReplicas, d.MaxReplicas})
	}
	_, spec, err := models.Deployment("small")
	require.NoError(t, err)
	require.Equal(t, "a/b", spec.Model)
	code, out, _ := run("deployments", "list")
	require.Equal(t, service.CodeDone, code)
	require.Contains(t, out, "small")
	for _, x := range []struct {
		code int
		want string
		args []string
	}{
		{service.CodeRefused, "another deployment of this name", append(create[:len(create)-1:len(create)-1], "--region", "us")},
		{service.CodeRefused, "none of a model server", []string{"deployments", "create", "x", "--template", "ray"}},
		{service.CodeRefused, "no such template", []string{"deployments", "create", "x", "--template", "vlm"}},
		{service.CodeRefused, "not found", []string{"deployments", "show", "none"}},
		{service.CodeRefused, "validation failed", []string{"deployments", "create", "x", "--template", "vllm", "--max", "1000"}},
		{service.CodeUsage, "is not PARAMETER=VALUE", []string{"deployments", "create", "x", "--template", "vllm", "--set", "model"}},
		{service.CodeRefused, "the token is not", []string{"deployments", "list", "--token", "other"}},
		{service.CodeNetwork, "does not answer", []string{"deployments", "list", "--server", "http://127.0.0.1:1"}},
	} {
		code, _, errs := run(x.args...)
		require.Equal(t, x.code, code, "%v: %s", x.args, errs)
		require.Contains(t, errs, x.want, x.args)
	}
	code, out, errs = run("deployments", "delete", "small")
	require.Equal(t, service.CodeDone, code, errs)
	require.Contains(t, out, "is being deleted")
}

// Templates are listed and shown without a market; a file of one's own too.
func TestTemplateCommands(t *testing.T) {
	code, out, errs := run("templates")
	require.Equal(t, service.CodeDone, code, errs)
	require.Contains(t, out, "llama-cpp")
	require.Contains(t, out, "1.00 USDC: 30 minutes of 1×A100")
	code, out, _ = run("templates", "show", "vllm")
	require.Equal(t, service.CodeDone, code)
	require.Contains(t, out, "[--max-model-len ${maxModelLen}]")
	require.Contains(t, out, "gantry port LEASE 8000")
	code, _, errs = run("templates", "show", "vlm")
	require.Equal(t, service.CodeUsage, code)
	require.Contains(t, errs, "there are comfyui")
	path := filepath.Join(t.TempDir(), "own.yaml")
	require.NoError(t, os.WriteFile(path, []byte("name: own\ncolour: red\n"), 0o600))
	code, _, errs = run("templates", "show", path)
	require.Equal(t, service.CodeUsage, code)
	require.Contains(t, errs, "field colour not found")
}
