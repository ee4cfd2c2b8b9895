package gpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"github.com/stretchr/testify/require"
)

// programs puts a runsc and a toolkit in a folder, and the folder in PATH.
func programs(t *testing.T, toolkit string) (runsc string) {
	t.Helper()
	dir := t.TempDir()
	runsc = filepath.Join(dir, "runsc")
	require.NoError(t, os.WriteFile(runsc, []byte("#!/bin/sh\necho 535.1.1; echo 550.1.1; echo 550.2.2\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nvidia-ctk"), []byte("#!/bin/sh\n"+toolkit), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return runsc
}

func TestDriversThatTheSandboxDoesNotKnow(t *testing.T) {
	runsc := programs(t, "exit 1")
	require.NoError(t, Check(t.Context(), runsc, "550.1.1"))
	err := Check(t.Context(), runsc, "550.9.9")
	require.ErrorIs(t, err, ErrDriver)
	require.ErrorContains(t, err, "it is 550.9.9; install one of: 550.1.1, 550.2.2")
	require.ErrorContains(t, Check(t.Context(), runsc, "470.1"), "install one of: 535.1.1, 550.1.1, 550.2.2")
	require.ErrorIs(t, Check(t.Context(), filepath.Join(t.TempDir(), "none"), "550.1.1"), ErrDriver)
	for _, version := range []string{"", "../550.1.1"} {
		_, err = Prepare(t.Context(), t.TempDir(), runsc, version)
		require.ErrorIs(t, err, ErrDriver)
	}
}

// The specification is made once for a driver, and anew for the next one.
func TestTheSpecificationFollowsTheDriver(t *testing.T) {
	counted := filepath.Join(t.TempDir(), "counted")
	runsc := programs(t, "echo >>"+counted+"\necho '{\"kind\":\"nvidia.com/gpu\",\"devices\":[{\"name\":\"GPU-1\"}]}'")
	folder := filepath.Join(t.TempDir(), "gpus")
	made := func() int { raw, _ := os.ReadFile(counted); return len(raw) }
	d, err := Prepare(t.Context(), folder, runsc, "550.1.1")
	require.NoError(t, err)
	again, err := Prepare(t.Context(), folder, runsc, "550.1.1")
	require.NoError(t, err)
	require.Equal(t, d, again)
	require.Equal(t, 1, made())
	require.NoError(t, os.WriteFile(d.Spec, []byte("{"), 0o600))
	_, err = Prepare(t.Context(), folder, runsc, "550.1.1")
	require.NoError(t, err, "one that cannot be read is made again")
	_, err = Prepare(t.Context(), folder, runsc, "550.2.2")
	require.NoError(t, err)
	require.Equal(t, 3, made())
	require.NoFileExists(t, d.Spec)

	runsc = programs(t, "echo no GPUs here >&2; exit 1")
	_, err = Prepare(t.Context(), folder, runsc, "550.1.1")
	require.ErrorIs(t, err, ErrToolkit)
	require.ErrorContains(t, err, "no GPUs here")
}

func TestSpecificationsThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spec.json")
	edit := func(text, uuid string) error {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return Driver{Version: "1", Spec: file, Links: t.TempDir()}.Edit(&oci.Spec{Linux: &oci.Linux{}, Process: &oci.Process{}}, []string{uuid})
	}
	for why, c := range map[string]struct{ text, uuid string }{
		"no device GPU-2":              {`{"kind":"nvidia.com/gpu","devices":[{"name":"GPU-1"}]}`, "GPU-2"},
		"0 device nodes for 1":         {`{"kind":"nvidia.com/gpu","devices":[{"name":"GPU-1"}]}`, "GPU-1"},
		"no such file":                 {`{"kind":"nvidia.com/gpu","devices":[{"name":"GPU-1","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia63"}]}}]}`, "GPU-1"},
		"lies at /dev/null on":         {`{"kind":"nvidia.com/gpu","devices":[{"name":"GPU-1","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia63","hostPath":"/dev/null"}]}}]}`, "GPU-1"},
		`it is of "other.org/thing"`:   {`{"kind":"other.org/thing","devices":[{"name":"GPU-1"}]}`, "GPU-1"},
		"unexpected end of JSON input": {`{`, "GPU-1"},
	} {
		err := edit(c.text, c.uuid)
		require.ErrorIs(t, err, ErrSpec, why)
		require.ErrorContains(t, err, why)
	}
}

// What an image says of its libraries stays, behind the driver's; nothing is there twice.
func TestTheDriversLibrariesComeFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spec.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"kind":"nvidia.com/gpu","devices":[{"name":"GPU-1"}]}`), 0o600))
	for given, want := range map[string]string{
		"": linksInside, "LD_LIBRARY_PATH=": linksInside, "LD_LIBRARY_PATH=/opt/a:/opt/b": linksInside + ":/opt/a:/opt/b",
	} {
		config := &oci.Spec{Linux: &oci.Linux{}, Process: &oci.Process{Env: []string{"A=1", given, "LD_PRELOAD=x"}}}
		require.NoError(t, Driver{Version: "1", Spec: file, Links: t.TempDir()}.Edit(config, nil))
		var found []string
		for _, pair := range config.Process.Env {
			if value, ok := strings.CutPrefix(pair, "LD_LIBRARY_PATH="); ok {
				found = append(found, value)
			}
		}
		require.Equal(t, []string{want}, found)
		require.Contains(t, config.Process.Env, "LD_PRELOAD=x")
	}
}
