package template

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every template that gantry comes with renders, and its command line is the one that its project documents: the sources
// are in the file.
func TestBuiltinTemplatesAreAsDocumented(t *testing.T) {
	all, err := Builtin()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		set     map[string]string
		image   string
		command string
		env     map[string]string
	}{
		"comfyui": {image: "docker.io/yanwk/comfyui-boot:cu130-slim-v2"},
		"fine-tune": {
			set: map[string]string{"epochs": "3", "hfToken": "hf_x"}, image: "docker.io/axolotlai/axolotl:main-latest", env: map[string]string{"HF_TOKEN": "hf_x"},
			command: "axolotl train https://raw.githubusercontent.com/axolotl-ai-cloud/axolotl/main/examples/llama-3/lora-1b.yml --num-epochs 3",
		},
		"jupyter": {
			set: map[string]string{"token": "0123456789abcdef"}, image: "quay.io/jupyter/pytorch-notebook:cuda12-latest",
			command: "start-notebook.py --IdentityProvider.token=0123456789abcdef",
		},
		"llama-cpp": {
			set: map[string]string{"pooling": "mean"}, image: "ghcr.io/ggml-org/llama.cpp:server-cuda",
			command: "-hf ggml-org/gemma-3-1b-it-GGUF:Q4_K_M --host 0.0.0.0 --port 8080 --ctx-size 16384 --parallel 4 --n-gpu-layers 99 --embeddings --pooling mean",
		},
		"ray": {
			image:   "docker.io/rayproject/ray:latest-gpu",
			command: "ray start --head --dashboard-host=0.0.0.0 --dashboard-port=8265 --disable-usage-stats --block",
		},
		"ssh": {image: "docker.io/library/debian:12", command: "sleep infinity"},
		"whisper": {
			set: map[string]string{"model": "small"}, image: "ghcr.io/ggml-org/whisper.cpp:main-cuda",
			command: "./models/download-ggml-model.sh small /tmp && exec whisper-server --host 0.0.0.0 --port 8080 --model /tmp/ggml-small.bin --language auto --inference-path /v1/audio/transcriptions --convert",
		},
		"vllm": {
			set: map[string]string{"model": "meta-llama/Llama-3.1-8B-Instruct", "maxModelLen": "8192"}, image: "docker.io/vllm/vllm-openai:latest",
			command: "--model meta-llama/Llama-3.1-8B-Instruct --gpu-memory-utilization 0.9 --tensor-parallel-size 1 --max-model-len 8192",
		},
	} {
		tpl, err := all.Named(name)
		require.NoError(t, err)
		require.NotEmpty(t, tpl.Sources, name)
		for _, source := range tpl.Sources {
			require.True(t, strings.HasPrefix(source, "https://"), source)
		}
		j, err := tpl.Render(c.set)
		require.NoError(t, err, name)
		require.Equal(t, c.image, j.Image, name)
		require.Equal(t, c.command, strings.Join(j.Command, " "), name)
		require.Equal(t, c.env, j.Env, name)
	}
	require.Len(t, all, 8)
	for _, name := range []string{"vllm", "llama-cpp", "whisper"} {
		tpl, err := all.Named(name)
		require.NoError(t, err)
		j, err := tpl.Render(nil)
		require.NoError(t, err)
		require.Equal(t, "/v1", j.OpenAI.Path)
		require.Equal(t, tpl.Parameters["model"].Default, j.OpenAI.Model)
		require.Equal(t, "/health", j.Health.Path)
	}
	_, err = all.Named("vlm")
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "llama-cpp, ray")
}

// Browsers check values by the patterns of these templates. In a class they take no bare - ( ) [ { } / or |, and they ignore
// a pattern that has one.
func TestBuiltinPatternsAreOnesThatBrowsersTake(t *testing.T) {
	all, err := Builtin()
	require.NoError(t, err)
	classes := regexp.MustCompile(`\\.|\[\^?((?:\\.|[^\]\\])*)\]`)
	escapesAndRanges := regexp.MustCompile(`\\.|\w-\w`)
	bare := func(pattern string) (found bool) {
		for _, m := range classes.FindAllStringSubmatch(pattern, -1) {
			found = found || strings.ContainsAny(escapesAndRanges.ReplaceAllString(m[1], ""), "-()[{}/|")
		}
		return found
	}
	require.True(t, bare(`[a-z._-]+`))
	require.True(t, bare(`x[a-z/]`))
	require.False(t, bare(`\[[^a-z\-\/]+(/|-){1,2}`))
	for _, tpl := range all {
		for key, p := range tpl.Parameters {
			require.False(t, bare(p.Pattern), "%s: parameter %s: %s", tpl.Name, key, p.Pattern)
		}
	}
}

const minimal = `
name: x
title: X
description: It is x.
image: example.org/job:v1
network: none
gpu: {count: 1}
try: {gpu: A100, minutes: 5, maxPrice: '1'}
`

func TestWhatIsNoTemplateIsSaid(t *testing.T) {
	for what, c := range map[string]struct{ text, want string }{
		"unknown field":           {minimal + "colour: red", "field colour not found"},
		"unknown field below":     {minimal + "command: [{whn: a, args: [b]}]", "field whn not found"},
		"two documents":           {minimal + "---\nname: y", "more than one document"},
		"a field twice":           {minimal + "name: y", "already defined"},
		"no name":                 {strings.Replace(minimal, "name: x", "name: X y", 1), `name "X y"`},
		"no image":                {strings.Replace(minimal, "image: example.org/job:v1", "", 1), "image is missing"},
		"a bad image":             {strings.Replace(minimal, "job:v1", "Job:v1", 1), "is not the name of an image"},
		"network":                 {strings.Replace(minimal, "none", "host", 1), "write internet or none"},
		"no price":                {strings.Replace(minimal, "'1'", "free", 1), "is not a price"},
		"no GPU":                  {strings.Replace(minimal, "count: 1", "count: 9", 1), "1 to 8 GPUs"},
		"unknown parameter":       {minimal + "command: ['${a}']", `there is no parameter "a"`},
		"a lone $":                {minimal + "command: ['$a']", "write ${parameter}, and $$ for a $"},
		"not closed":              {minimal + "command: ['${a']", "write ${parameter}"},
		"when":                    {minimal + "command: [{when: a, args: [b]}]", "which there is not"},
		"a type":                  {minimal + "parameters: {a: {description: d, type: date}}", `type "date"`},
		"no description":          {minimal + "parameters: {a: {default: '1'}}", "no description"},
		"a default":               {minimal + "parameters: {a: {description: d, type: integer, default: x}}", "default of a"},
		"a pattern":               {minimal + "parameters: {a: {description: d, pattern: '('}}", "pattern"},
		"required with default":   {minimal + "parameters: {a: {description: d, required: true, default: x}}", "has a default"},
		"choices":                 {minimal + "parameters: {a: {description: d, type: choice, default: x}}", "choices"},
		"a volume":                {minimal + "volume: data", "volume"},
		"a variable":              {minimal + "env: {'A B': x}", `"A B" has a name that machines do not set`},
		"a loader's":              {minimal + "env: {LD_PRELOAD: x}", "LD_PRELOAD is for the loader"},
		"health without a port":   {minimal + "health: {port: 80, path: /, deadline: 1m}", "health needs one of the ports"},
		"a deadline":              {minimal + "ports: [{name: a, port: 80}]\nhealth: {port: 80, path: /, deadline: soon}", "is not a time"},
		"a server without health": {minimal + "ports: [{name: a, port: 80}]\nopenai: {port: 80, path: /v1, model: m, concurrency: 1}", "needs health"},
		"nothing":                 {"", "EOF"},
		"too large":               {minimal + strings.Repeat("# comment\n", 7000), "at most"},
	} {
		_, err := Parse([]byte(c.text))
		require.ErrorIs(t, err, ErrTemplate, what)
		require.ErrorContains(t, err, c.want, what)
	}
	_, err := Parse([]byte(minimal))
	require.NoError(t, err)
}

func TestValuesAreCheckedAndPutInAsTheyAre(t *testing.T) {
	tpl, err := Parse([]byte(minimal + `
parameters:
  text: {description: d, default: a}
  word: {description: d, default: a, pattern: '[a-z]+'}
  whole: {description: d, type: integer, default: '0', min: 0, max: 5}
  part: {description: d, type: number, default: '0.5', max: 1}
  flag: {description: d, type: boolean, default: 'false'}
  one: {description: d, type: choice, choices: [a, b], default: a}
  key: {description: what opens it, required: true, secret: true, pattern: '[0-9]+'}
command: [sh, -c, 'echo $$HOME ${text}', {when: whole, args: [--whole, '${whole}']}, {when: flag, args: [--flag]}]
env: {KEY: '${key}', WORD: '${word}'}
volume: data:1GiB:/${word}
`))
	require.NoError(t, err)
	for what, c := range map[string]struct {
		set  map[string]string
		want string
	}{
		"missing":      {nil, "--set key=VALUE"},
		"unknown":      {map[string]string{"key": "1", "txt": "x"}, "it has flag, key"},
		"not whole":    {map[string]string{"key": "1", "whole": "1.5"}, "is not of type integer"},
		"too much":     {map[string]string{"key": "1", "whole": "6"}, "is more than 5"},
		"too little":   {map[string]string{"key": "1", "whole": "-1"}, "is less than 0"},
		"no number":    {map[string]string{"key": "1", "part": "NaN"}, "is not of type number"},
		"no flag":      {map[string]string{"key": "1", "flag": "yes"}, "is not true or false"},
		"no choice":    {map[string]string{"key": "1", "one": "c"}, "is not one of"},
		"two words":    {map[string]string{"key": "1", "word": "a b"}, "does not match"},
		"a line more":  {map[string]string{"key": "1", "word": "a\n"}, "does not match"},
		"a NUL":        {map[string]string{"key": "1", "text": "\x00"}, "NUL"},
		"too long":     {map[string]string{"key": "1", "text": strings.Repeat("x", 5000)}, "longer"},
		"a wrong word": {map[string]string{"key": "hunter2"}, "the given value does not match"},
	} {
		_, err := tpl.Render(c.set)
		require.ErrorIs(t, err, ErrParameter, what)
		require.ErrorContains(t, err, c.want, what)
		require.NotContains(t, err.Error(), "hunter2")
	}
	j, err := tpl.Render(map[string]string{"key": "7", "text": "${word} $HOME; rm -rf /", "whole": "3", "flag": "true", "word": "w"})
	require.NoError(t, err)
	require.Equal(t, []string{"sh", "-c", "echo $HOME ${word} $HOME; rm -rf /", "--whole", "3", "--flag"}, j.Command, "a value is not expanded")
	require.Equal(t, map[string]string{"KEY": "7", "WORD": "w"}, j.Env)
	require.Equal(t, "data:1GiB:/w", j.Volume)
}

func TestOwnTemplatesTakeTheirPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(minimal, "name: x", "name: vllm", 1)), 0o600))
	own, err := Load(path)
	require.NoError(t, err)
	all, err := Builtin()
	require.NoError(t, err)
	mine := all.With(own)
	require.Len(t, mine, len(all))
	found, err := mine.Named("vllm")
	require.NoError(t, err)
	require.Same(t, own, found)
	_, err = Load(path + "x")
	require.ErrorIs(t, err, ErrNotFound)
	require.True(t, IsFile("./x"))
	require.True(t, IsFile("x.yaml"))
	require.False(t, IsFile("llama-cpp"))
	llama, err := all.Named("llama-cpp")
	require.NoError(t, err)
	require.Equal(t, 15*time.Minute, time.Duration(llama.Health.Deadline))
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tpl, err := Parse(raw)
		if err != nil {
			require.ErrorIs(t, err, ErrTemplate)
			return
		}
		_, _ = tpl.Render(nil)
	})
}
