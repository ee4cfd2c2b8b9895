// Package driver imitates NVIDIA's driver for tests of whole programs: a library that they load in place of NVML, and a program
// in place of the container toolkit. It says
// nothing about real GPUs; it is for tests of what a program does around them.
package driver

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/nvml.c
var nvml []byte

// Environment returns the variables under which a program sees a number of GPUs, A100 of 40 GB. It skips the test where
// there is no C compiler.
func Environment(t testing.TB, gpus int) []string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("SKIPPED: the imitation of the driver needs a C compiler: apt-get install gcc")
	}
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml").Output()
	require.NoError(t, err)
	dir := t.TempDir()
	source := filepath.Join(dir, "nvml.c")
	require.NoError(t, os.WriteFile(source, nvml, 0o600))
	header := filepath.Join(strings.TrimSpace(string(module)), "pkg", "nvml")
	out, err := exec.Command(cc, "-shared", "-fPIC", "-I", header, "-o", filepath.Join(dir, "libnvidia-ml.so.1"), source).CombinedOutput()
	require.NoError(t, err, string(out))
	var devices []string
	for i := range gpus {
		devices = append(devices, fmt.Sprintf(`{"name": "GPU-00000000-0000-4000-8000-%012d", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia%d"}]}}`, i+1, i))
	}
	toolkit := fmt.Sprintf("#!/bin/sh\necho '"+`{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [%s], "containerEdits": {"deviceNodes": [{"path": "/dev/nvidiactl"}, {"path": "/dev/nvidia-uvm"}]}}`+"'\n", strings.Join(devices, ", "))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nvidia-ctk"), []byte(toolkit), 0o755))
	return []string{"LD_LIBRARY_PATH=" + dir, fmt.Sprintf("GANTRY_TEST_GPUS=%d", gpus), "PATH=" + dir + ":" + os.Getenv("PATH")}
}
