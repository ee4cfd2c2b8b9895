package rent

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/arguments"
)

// A model chooses template, parameters and the memory of GPUs; flags that are given count more.
func TestModelsAreOrdered(t *testing.T) {
	r := requestOf(t, "--model=qwen3-8b")
	require.Equal(t, []any{service.AnyModel, uint8(1), uint(23), ""}, []any{r.GPU, r.Count, r.MinMemory, r.MaxPrice})
	require.Equal(t, "docker.io/vllm/vllm-openai:latest", r.Image)
	require.Contains(t, strings.Join(r.Command, " "), "--model Qwen/Qwen3-8B")
	require.Equal(t, "/health", r.Health.Path)

	r = requestOf(t, "--model=qwen3-8b:q4_k_m", "--gpu=A100:2", "--min-vram=40", "--max-price=1.5")
	require.Equal(t, []any{"A100:2", uint8(2), uint(40), "1.5"}, []any{r.GPU, r.Count, r.MinMemory, r.MaxPrice})
	require.Contains(t, strings.Join(r.Command, " "), "-hf Qwen/Qwen3-8B-GGUF:Q4_K_M")

	r = requestOf(t, "--model=meta-llama/Llama-3.1-8B-Instruct", "--set=hfToken=hf_x")
	require.Equal(t, map[string]string{"HF_TOKEN": "hf_x"}, r.Env)

	for want, args := range map[string][]string{
		"near it are":                   {"--model=qwen3-9b"},
		"hfToken":                       {"--model=llama-3.1-8b"},
		"both say what runs":            {"--model=qwen3-8b", "--template=vllm"},
		"the model is qwen3-8b already": {"--model=qwen3-8b", "--set=model=a/b"},
		"--set is for templates":        {"--gpu=A100", "--set=model=a/b"},
		"a measured guest has none":     {"--model=qwen3-8b", "--guest", "--attest=testdata/guest.json"},
	} {
		require.ErrorContains(t, refused(t, args...), want)
	}
}

// refused is why flags of deploy ask for nothing.
func refused(t *testing.T, args ...string) error {
	t.Helper()
	app := newApp()
	arguments.Command(app.Commands, "deploy").Action = func(c *cli.Context) error {
		_, err := (&session{Session: &command.Session{CLI: c, Context: t.Context()}}).request()
		return err
	}
	return app.RunContext(t.Context(), append([]string{"gantry", "--state-dir=" + t.TempDir(), "deploy", "--minutes=1"}, args...))
}
