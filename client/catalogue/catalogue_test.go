package catalogue

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/templates"
)

func builtin(t *testing.T) (*Catalogue, template.Set) {
	t.Helper()
	all, err := template.Builtin()
	require.NoError(t, err)
	c, err := Parse(templates.Models, all)
	require.NoError(t, err)
	return c, all
}

// Each entry names a template that takes its parameters, has a licence, a size with a source, and memory that holds the weights.
func TestEveryModelIsComplete(t *testing.T) {
	c, all := builtin(t)
	require.GreaterOrEqual(t, len(c.Models), 25)
	does := map[Use]int{}
	gguf := regexp.MustCompile(`^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+:[A-Z0-9_]+$`)
	for _, m := range c.Models {
		require.NotEmpty(t, m.Licence, m.Name)
		for _, u := range m.Does {
			does[u]++
		}
		for i := range m.Variants {
			v := &m.Variants[i]
			what := m.Name + ":" + v.Quantisation
			require.NotEmpty(t, v.Source, what)
			require.Greater(t, float64(v.MemoryGiB)*float64(v.GPUs), v.Gigabytes*1e9/gib, "%s: the weights fit", what)
			require.LessOrEqual(t, v.MemoryGiB, uint(180), "%s: there are GPUs as large", what)
			if v.Template == "llama-cpp" {
				require.Regexp(t, gguf, v.Weights, what)
				require.True(t, strings.HasSuffix(v.Weights, ":"+v.Quantisation), what)
			}
			tpl, err := c.Template(all, what, Wanted{})
			require.NoError(t, err, what)
			set := map[string]string{}
			if v.Gated {
				_, err = tpl.Render(nil)
				require.ErrorIs(t, err, template.ErrParameter, "%s: a token is asked for before an order", what)
				set[hubToken] = "hf_x"
			}
			j, err := tpl.Render(set)
			require.NoError(t, err, what)
			require.Equal(t, v.MemoryGiB, j.MemoryGiB, what)
			require.Equal(t, v.GPUs, j.GPUs, what)
			if v.Weights != "" {
				require.Contains(t, strings.Join(j.Command, " "), v.Weights, what)
			}
			_, same, err := c.Find(strings.ToUpper(m.ID) + ":" + strings.ToLower(v.Quantisation))
			require.NoError(t, err)
			require.Same(t, v, same)
		}
	}
	for _, u := range uses {
		require.NotZero(t, does[u], u)
	}
}

// The memory of known models, computed by hand from their cards: weights, 16,384 tokens of cache, the margin, and what is usable.
func TestMemoryIsByTheFormula(t *testing.T) {
	c, all := builtin(t)
	for name, c2 := range map[string]struct {
		gpus   uint8
		memory uint
	}{
		"llama-3.1-8b":           {1, 23}, // (16.06e9 B + 16384 × 128 KiB = 2 GiB) + 1.5 GiB = 18.46 GiB; / 0.837 = 22.05
		"llama-3.1-8b:Q4_K_M":    {1, 10}, // (4.91e9 B + 2 GiB) + 1.5 GiB = 8.08 GiB; / 0.837 = 9.65
		"qwen3-32b":              {1, 80}, // (65.6e9 B + 4 GiB) + 1.5 GiB = 66.59 GiB; / 0.837 = 79.56
		"llama-3.3-70b":          {4, 43}, // (141.2e9 B + 5 GiB) / 4 + 1.5 GiB = 35.63 GiB; / 0.837 = 42.57
		"whisper-large-v3-turbo": {1, 4},  // 1.62e9 B + 1.5 GiB = 3.01 GiB; / 0.837 = 3.59
		"flux.1-schnell":         {1, 24}, // 17.2e9 B + 4 GiB = 20.02 GiB; / 0.837 = 23.92
		"gpt-oss-120b":           {1, 76}, // (65.3e9 B + 1.125 GiB) + 1.5 GiB = 63.44 GiB; / 0.837 = 75.79
		"bge-m3":                 {1, 5},  // 2.27e9 B + 1.5 GiB = 3.61 GiB; / 0.837 = 4.32
	} {
		tpl, err := c.Template(all, name, Wanted{})
		require.NoError(t, err, name)
		require.Equal(t, template.GPU{Count: c2.gpus, MemoryGiB: c2.memory}, tpl.GPU, name)
	}
}

// What an order sets changes the memory that it asks for, and the parameters follow.
func TestWhatAnOrderWants(t *testing.T) {
	c, all := builtin(t)
	of := func(name string, w Wanted) template.Job {
		tpl, err := c.Template(all, name, w)
		require.NoError(t, err)
		j, err := tpl.Render(w.Set)
		require.NoError(t, err)
		return j
	}
	least := of("qwen3-8b", Wanted{})
	require.Equal(t, "--model Qwen/Qwen3-8B --gpu-memory-utilization 0.9 --tensor-parallel-size 1 --max-model-len 16384", strings.Join(least.Command, " "))
	require.Equal(t, service.AnyModel, least.Try.GPU)
	require.Empty(t, least.Try.MaxPrice)
	require.Equal(t, "Qwen/Qwen3-8B", least.OpenAI.Model)
	more := of("qwen3-8b", Wanted{Set: map[string]string{"maxModelLen": "32768"}})
	require.Greater(t, more.MemoryGiB, least.MemoryGiB)
	require.Equal(t, more.MemoryGiB, of("qwen3-8b", Wanted{Set: map[string]string{"maxModelLen": "0"}}).MemoryGiB, "0 is the model's own, 32768")
	for _, w := range []Wanted{{Count: 2}, {GPU: "A100:2"}, {Set: map[string]string{"tensorParallel": "2"}}} {
		two := of("qwen3-8b", w)
		require.EqualValues(t, 2, two.GPUs)
		require.Less(t, two.MemoryGiB, least.MemoryGiB)
		require.Contains(t, strings.Join(two.Command, " "), "--tensor-parallel-size 2")
	}
	require.Equal(t, of("sdxl", Wanted{}).MemoryGiB, of("sdxl", Wanted{Count: 2}).MemoryGiB, "ComfyUI splits no model")

	for what, w := range map[string]Wanted{
		"another model":   {Set: map[string]string{"model": "a/b"}},
		"three GPUs":      {Count: 3},
		"two set at once": {Set: map[string]string{"tensorParallel": "3"}},
	} {
		_, err := c.Template(all, "qwen3-8b", w)
		require.ErrorIs(t, err, template.ErrParameter, what)
	}
	_, _, err := c.Find("qwen3-8")
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "qwen3-8b")
	_, _, err = c.Find("qwen3-8b:Q1")
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "BF16, Q8_0, Q4_K_M")
	_, err = c.List("poetry")
	require.ErrorIs(t, err, ErrNotFound)
}

func TestCommandLines(t *testing.T) {
	c, all := builtin(t)
	lines := func(name string) (out []string) {
		m, v, err := c.Find(name)
		require.NoError(t, err)
		tpl, err := c.Template(all, name, Wanted{})
		require.NoError(t, err)
		for _, l := range m.CommandLines(v, tpl) {
			out = append(out, l.Line)
		}
		return out
	}
	require.Equal(t, []string{"gantry deploy --model qwen3-8b --hours 1", "gantry deployments create qwen3-8b --model qwen3-8b"}, lines("Qwen/Qwen3-8B"))
	require.Equal(t, []string{
		`gantry deploy --model llama-3.1-8b --set hfToken="$HF_TOKEN" --hours 1`,
		`gantry deployments create llama-3.1-8b --model llama-3.1-8b --set hfToken="$HF_TOKEN"`,
	}, lines("llama-3.1-8b"))
	require.Equal(t, []string{"gantry deploy --model llama-3.1-8b:Q4_K_M --hours 1", "gantry deployments create llama-3.1-8b-q4_k_m --model llama-3.1-8b:Q4_K_M"}, lines("llama-3.1-8b:q4_k_m"))
	require.Equal(t, []string{
		"gantry deploy --model sdxl --hours 1",
		"gantry exec LEASE -- wget -P /root/ComfyUI/models/checkpoints https://huggingface.co/stabilityai/stable-diffusion-xl-base-1.0/resolve/main/sd_xl_base_1.0.safetensors",
		"gantry port LEASE 8188",
	}, lines("sdxl"))
}

// Free GPUs are counted where they are large enough and one machine has as many as the model is split over.
func TestFit(t *testing.T) {
	c, _ := builtin(t)
	m, _, err := c.Find("llama-3.3-70b")
	require.NoError(t, err)
	l := Listed{OpenModel: m}
	require.NoError(t, l.Fit([]service.GPUs{
		{Model: "A100-SXM4-40GB", VRAMMiB: 40960, Free: 8, MostFree: 8, From: "1.10"},
		{Model: "A100-SXM4-80GB", VRAMMiB: 81920, Free: 12, MostFree: 4, From: "1.40"},
		{Model: "H100-SXM5-80GB", VRAMMiB: 81559, Free: 3, MostFree: 3, From: "1.30"},
	}))
	require.Equal(t, []Fit{
		{"BF16", 20, "1.10", "A100-SXM4-40GB"}, // 43 GiB as sold is 40,949 MiB as shown
		{"FP8", 15, "1.30", "H100-SXM5-80GB"},
		{"Q4_K_M", 15, "1.30", "H100-SXM5-80GB"},
	}, l.Fits)
}

const small = `
quantisations: {BF16: {bits: 16, source: two bytes}}
runs: {vllm: {model: model, tokens: maxModelLen, gpus: tensorParallel, splits: true, marginGiB: 1.5}}
models:
  - {name: a, id: b/a, does: [chat], licence: MIT, parameters: 1, context: 100, variants: [{quantisation: BF16, template: vllm, weights: b/a}]}
`

func TestWhatIsNoCatalogueIsSaid(t *testing.T) {
	all, err := template.Builtin()
	require.NoError(t, err)
	_, err = Parse([]byte(small), all)
	require.NoError(t, err)
	twice := small + small[strings.Index(small, "  - "):]
	for what, c := range map[string]struct{ from, to, want string }{
		"unknown field":   {"licence: MIT", "licence: MIT, colour: red", "field colour not found"},
		"no licence":      {"licence: MIT", "licence: ' '", "no licence"},
		"a name":          {"name: a", "name: A b", "a name has"},
		"an id":           {"id: b/a", "id: c", "is not OWNER/NAME"},
		"twice":           {small, twice, "is there twice"},
		"no use":          {"[chat]", "[]", "does nothing"},
		"an unknown use":  {"[chat]", "[poetry]", `does "poetry"`},
		"no parameters":   {"parameters: 1", "parameters: 0", "parameters are missing"},
		"no context":      {"context: 100, ", "", "context, in tokens"},
		"half a cache":    {"context: 100", "context: 100, cache: {layers: 3}", "layers, heads and size"},
		"no variants":     {"[{quantisation: BF16, template: vllm, weights: b/a}]", "[]", "no variants"},
		"no template":     {"template: vllm,", "template: vlm,", "not among runs"},
		"an unknown run":  {"runs: {vllm:", "runs: {vlm: {marginGiB: 1}, vllm:", "no such template"},
		"no such key":     {"tokens: maxModelLen", "tokens: maxLen", `no parameter "maxLen"`},
		"no margin":       {"marginGiB: 1.5", "marginGiB: 0", "no marginGiB"},
		"no size":         {"quantisation: BF16, template", "quantisation: Q2, template", "no gigabytes"},
		"no weights":      {", weights: b/a", "", "weights are what"},
		"a bad weight":    {"weights: b/a", "weights: 'b a'", "does not match"},
		"a bad parameter": {"weights: b/a", "weights: b/a, set: {maxLen: '1'}", "maxLen"},
		"too many GPUs":   {"weights: b/a", "weights: b/a, gpus: 9", "1 to 8"},
		"odd GPUs":        {"weights: b/a", "weights: b/a, gpus: 3", "1, 2, 4 or 8"},
		"a quantisation":  {"quantisation: BF16, template", "quantisation: 'B F', template", "quantisation"},
	} {
		require.Contains(t, small, c.from, what)
		_, err := Parse([]byte(strings.Replace(small, c.from, c.to, 1)), all)
		require.ErrorIs(t, err, ErrCatalogue, what)
		require.ErrorContains(t, err, c.want, what)
	}
}
