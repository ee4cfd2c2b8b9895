package image

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	_ "embed"
)

//go:embed expected.json
var committed []byte

// Committed is what a machine shows that has booted the image of this version of Gantry.
func Committed() (Expected, error) {
	var e Expected
	if err := json.Unmarshal(committed, &e); err != nil {
		return e, fmt.Errorf("expected values of the guest's image: %w", err)
	}
	return e, nil
}

// Encode is the document with the values, as it is committed.
func (e Expected) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("expected values of the guest's image: %w", err)
	}
	return append(data, '\n'), nil
}

// ProgramPackage is the guest's program in this repository.
const ProgramPackage = "./guest/cmd/gantry-guest"

// Compile builds the guest's program from the sources of this repository in a folder. The result depends on these and on Go's
// version alone, which the sources name.
func Compile(ctx context.Context, sources string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "gantry-guest-")
	if err != nil {
		return nil, fmt.Errorf("build the guest's program: %w", err)
	}
	defer os.RemoveAll(dir)
	version, err := toolchain(filepath.Join(sources, "go.mod"))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "init")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", "-s -w -buildid=", "-o", file, ProgramPackage)
	cmd.Dir = sources
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOAMD64=v1", "GOFLAGS=", "GOEXPERIMENT=", "GODEBUG=", "GOWORK=off",
		"GOFIPS140=off", "GOTOOLCHAIN="+version)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the guest's program: %w: %s", err, bytes.TrimSpace(out))
	}
	return os.ReadFile(file)
}

// toolchain is the version of Go that a module names.
func toolchain(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("version of Go: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "go "); ok {
			return "go" + version, nil
		}
	}
	return "", fmt.Errorf("version of Go: %s names none", file)
}
