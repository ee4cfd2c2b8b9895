package gpus

import (
	"context"
	"errors"
	"fmt"
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

// The specification is made anew at each call, and what containers of the same driver use stays.
func TestTheSpecificationFollowsTheDriver(t *testing.T) {
	counted := filepath.Join(t.TempDir(), "counted")
	runsc := programs(t, "echo >>"+counted+"\necho '{\"kind\":\"nvidia.com/gpu\",\"devices\":[{\"name\":\"GPU-1\"}]}'")
	folder := filepath.Join(t.TempDir(), "gpus")
	made := func() int { raw, _ := os.ReadFile(counted); return len(raw) }
	d, err := Prepare(t.Context(), folder, runsc, "550.1.1")
	require.NoError(t, err)
	used := filepath.Join(d.Links, "libcuda.so.1")
	require.NoError(t, os.Symlink("/usr/lib/libcuda.so.550.1.1", used))
	again, err := Prepare(t.Context(), folder, runsc, "550.1.1")
	require.NoError(t, err)
	require.Equal(t, d, again)
	require.Equal(t, 2, made(), "devices may have other numbers after a start of the machine")
	_, err = os.Lstat(used)
	require.NoError(t, err)
	_, err = Prepare(t.Context(), folder, runsc, "550.2.2")
	require.NoError(t, err)
	require.Equal(t, 3, made())
	require.NoFileExists(t, d.Spec)

	runsc = programs(t, "echo no GPUs here >&2; exit 1")
	_, err = Prepare(t.Context(), folder, runsc, "550.1.1")
	require.ErrorIs(t, err, ErrToolkit)
	require.ErrorContains(t, err, "no GPUs here")
	runsc = programs(t, `echo '{"kind":"nvidia.com/gpu","devices":[{"name":"GPU-1"}],"containerEdits":{"mounts":[{"hostPath":"/usr/lib/libcuda.so.550.2.2","containerPath":"/usr/lib/libcuda.so.550.2.2"}]}}'`)
	_, err = Prepare(t.Context(), folder, runsc, "550.1.1")
	require.ErrorIs(t, err, ErrToolkit)
	require.ErrorContains(t, err, "restart the machine")
}

// Before each container the driver is asked what is so: a GPU that has another number than the specification says is not given.
func TestAContainerGetsTheDevicesThatAreThereNow(t *testing.T) {
	counted, numbers := filepath.Join(t.TempDir(), "counted"), filepath.Join(t.TempDir(), "numbers")
	runsc := programs(t, "echo >>"+counted+"\ncat "+numbers)
	made := func() int { raw, _ := os.ReadFile(counted); return len(raw) }
	says := func(one, two int) {
		text := `{"kind":"nvidia.com/gpu","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia-uvm"}]},"devices":[`
		for i, minor := range []int{one, two} {
			text += strings.Repeat(",", i) + fmt.Sprintf(`{"name":"GPU-%d","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia%d"}]}}`, i+1, minor)
		}
		require.NoError(t, os.WriteFile(numbers, []byte(text+"]}"), 0o600))
	}
	version, minors, failed := "550.1.1", map[string]int{"GPU-1": 0, "GPU-2": 1}, error(nil)
	s := &Source{Folder: filepath.Join(t.TempDir(), "gpus"), Runsc: runsc, Ask: func(context.Context) (string, map[string]int, error) {
		return version, minors, failed
	}}
	says(0, 1)
	_, err := s.Fresh(t.Context())
	require.NoError(t, err)
	d, err := s.Now(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, made(), "it is as it was")
	edit := func(d Driver) error {
		return d.Edit(&oci.Spec{Linux: &oci.Linux{}, Process: &oci.Process{}}, []string{"GPU-1"})
	}

	minors = map[string]int{"GPU-1": 1, "GPU-2": 0}
	d.Minors = minors
	require.ErrorIs(t, edit(d), ErrSpec)
	require.ErrorContains(t, edit(d), "it has /dev/nvidia0 for GPU-1, which the driver has at /dev/nvidia1")
	_, err = s.Now(t.Context())
	require.ErrorIs(t, err, ErrSpec, "the toolkit still says otherwise")
	says(1, 0)
	_, err = s.Now(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, made())

	version = "550.2.2" // the driver was upgraded
	d, err = s.Now(t.Context())
	require.NoError(t, err)
	require.Equal(t, "550.2.2", d.Version)
	version = "550.9.9"
	_, err = s.Now(t.Context())
	require.ErrorIs(t, err, ErrDriver, "to one that the sandbox does not know")
	failed = errors.New("the driver does not answer")
	_, err = s.Now(t.Context())
	require.ErrorIs(t, err, failed)
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
		"libcuda.so.1.2 is not there":  {`{"kind":"nvidia.com/gpu","devices":[{"name":"GPU-1"}],"containerEdits":{"mounts":[{"hostPath":"/none/libcuda.so.1.2","containerPath":"/usr/lib/libcuda.so.1.2"}]}}`, "GPU-1"},
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

// The links in an image's own folders touch nothing outside of the image, whatever it has there.
func TestLinksInAnImageStayInIt(t *testing.T) {
	links, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink("/usr/lib/libcuda.so.1.2", filepath.Join(links, "libcuda.so.1")))
	for name, folder := range map[string]func(rootfs string) error{
		"absolute": func(r string) error { return os.Symlink(outside, filepath.Join(r, "usr/lib64")) },
		"upwards": func(r string) error {
			return os.Symlink("../../../../../../../.."+outside, filepath.Join(r, "usr/lib64"))
		},
		"a file": func(r string) error { return os.WriteFile(filepath.Join(r, "usr/lib64"), nil, 0o600) },
		"none":   func(string) error { return nil },
	} {
		rootfs := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(rootfs, "usr"), 0o755))
		require.NoError(t, folder(rootfs), name)
		require.NoError(t, Driver{Links: links}.LinkDefaults(rootfs), name)
		entries, err := os.ReadDir(outside)
		require.NoError(t, err)
		require.Empty(t, entries, name)
	}
	rootfs := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(rootfs, "usr/lib64"), 0o755))
	at := filepath.Join(rootfs, "usr/lib64/libcuda.so.1")
	require.NoError(t, os.Symlink("/elsewhere", at))
	for range 2 {
		require.NoError(t, Driver{Links: links}.LinkDefaults(rootfs))
		to, err := os.Readlink(at)
		require.NoError(t, err)
		require.Equal(t, "/usr/local/gantry/lib64/libcuda.so.1", to)
	}
}
