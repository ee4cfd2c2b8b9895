package ptxgen

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write cuda/ptx anew")

const folder = "../../cuda/ptx"

func TestCommittedModulesAreWhatIsWritten(t *testing.T) {
	for name, text := range Modules() {
		path := filepath.Join(folder, name)
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		committed, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(committed, []byte(text)) {
			t.Errorf("%s is not what ptxgen writes: run the test with -update", name)
		}
	}
}

// The assembler of the CUDA toolkit accepts all modules for all architectures that the project names. It is looked for
// in GANTRY_PTXAS and in PATH.
func TestAssembler(t *testing.T) {
	ptxas := os.Getenv("GANTRY_PTXAS")
	if ptxas == "" {
		found, err := exec.LookPath("ptxas")
		if err != nil {
			t.Skip("no ptxas: set GANTRY_PTXAS to the one in the nvidia-cuda-nvcc-cu12 wheel (see docs/protocol/measurement.md)")
		}
		ptxas = found
	}
	for _, arch := range []string{"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"} {
		for name := range Modules() {
			out, err := exec.CommandContext(t.Context(), ptxas, "-v", "-arch="+arch, "-o", filepath.Join(t.TempDir(), "out.cubin"), filepath.Join(folder, name)).CombinedOutput()
			if err != nil {
				t.Fatalf("%s for %s: %v\n%s", name, arch, err, out)
			}
			if bytes.Contains(out, []byte("warning")) {
				t.Errorf("%s for %s:\n%s", name, arch, out)
			}
			t.Logf("%s for %s:\n%s", name, arch, out)
		}
	}
}
