package buy

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
)

const aTask = `
gpu: A100:2
image: pytorch/pytorch:latest
duration: 90m
region: us
maxPricePerGpuHour: "1.60"
minTops: "300"
env:
  EPOCHS: "3"
  SEED: "1"
run: |
  python train.py
ports: ["8888:notebook", "6006"]
name: night
migrate: true
`

func TestATaskIsARequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "task.yaml")
	require.NoError(t, os.WriteFile(file, []byte(aTask), 0o600))
	r, err := ReadTask(file, nil)
	require.NoError(t, err)
	want := Request{
		GPU: "A100:2", Image: "pytorch/pytorch:latest", Seconds: 5400, Region: "us", MaxPrice: "1.60", Figures: service.Figures{MinTOPS: "300"},
		Env: map[string]string{"EPOCHS": "3", "SEED": "1"}, Command: []string{"/bin/sh", "-c", "python train.py\n"},
		Public: []template.Port{{Name: "notebook", Port: 8888}, {Name: "6006", Port: 6006}}, Name: "night", Migrate: true,
	}
	require.Equal(t, want, r)
	require.NoError(t, r.Check())

	example, err := ReadTask("../../examples/task.yaml", nil)
	require.NoError(t, err)
	require.NoError(t, example.Check())
	require.Equal(t, uint32(7200), example.Seconds)

	said, err := ReadTask("-", strings.NewReader(`{"gpu": "A100", "seconds": 60, "command": ["true"]}`))
	require.NoError(t, err)
	require.Equal(t, Request{GPU: "A100", Seconds: 60, Command: []string{"true"}}, said)

	flags := Request{GPU: "H100", Env: map[string]string{"SEED": "2", "MORE": "x"}, Figures: service.Figures{MinBandwidth: "900"}, Detach: true}
	over := flags.Over(r)
	want.GPU, want.Detach, want.MinBandwidth = "H100", true, "900"
	want.Env = map[string]string{"EPOCHS": "3", "SEED": "2", "MORE": "x"}
	require.Equal(t, want, over, "what the flags say counts, and the rest is the task's")
}

// Each field of an order can be in a file.
func TestATaskHasEachFieldOfAnOrder(t *testing.T) {
	var walk func(reflect.Type) []string
	walk = func(s reflect.Type) (names []string) {
		for i := range s.NumField() {
			f := s.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous:
				names = append(names, walk(f.Type)...)
			case name != "-":
				names = append(names, name)
			}
		}
		return names
	}
	for _, name := range walk(reflect.TypeFor[Request]()) {
		_, err := parseTask([]byte(name + ": null"))
		require.NoError(t, err, name)
	}
}

func TestWhatIsWrongWithATaskIsSaid(t *testing.T) {
	for text, says := range map[string]string{
		"":                          "the file is empty",
		"- gpu":                     "the file has no fields",
		"gpu: [":                    "not YAML",
		"gpu: A100\n---\ngpu: H100": "more than one document",
		"gpus: 4":                   `unknown field "gpus"`,
		"gpu: 4":                    "gpu",
		"1: 2":                      "no fields",
		"duration: soon":            `"soon" is not a time`,
		"duration: 1500ms":          "whole seconds",
		"duration: 1h\nseconds: 60": "leave one out",
		"run: x\ncommand: [y]":      "leave one out",
		"ports: [\"0\"]":            "is not a port",
		"ports: [\"80:Web\"]":       "cannot be part of a host name",
	} {
		_, err := ReadTask("-", strings.NewReader(text))
		require.ErrorContains(t, err, says, text)
	}
	_, err := ReadTask("-", strings.NewReader(strings.Repeat("#", maxTask+1)))
	require.ErrorContains(t, err, "more than 256 KiB")
	_, err = ReadTask(filepath.Join(t.TempDir(), "none.yaml"), nil)
	require.ErrorContains(t, err, "cannot be read")
}
