package network

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrMissing means that a binary or the built program was not found; the message says how to get it.
var ErrMissing = errors.New("not found")

// ProgramVariable is the environment variable that names the program's shared object.
const ProgramVariable = "GANTRY_PROGRAM"

// Binary finds one of the project's executables: beside the running one, in build/bin of the working directory or of
// one above it, or in PATH. It fails with ErrMissing.
func Binary(name string) (string, error) {
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), name)); err == nil {
			return path, nil
		}
	}
	if path, ok := upwards(filepath.Join("build", "bin", name)); ok {
		return path, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	return "", fmt.Errorf("%s is %w: run `make build`", name, ErrMissing)
}

// Program finds the built program: named by GANTRY_PROGRAM, or in program/artifacts of the working directory, of one
// above it, or of the checkout that the running executable was built in. It fails with ErrMissing.
func Program() (string, error) {
	if path := os.Getenv(ProgramVariable); path != "" {
		return filepath.Abs(path)
	}
	artifact := filepath.Join("program", "artifacts", "gantry_market.so")
	if path, ok := upwards(artifact); ok {
		return path, nil
	}
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), "..", "..", artifact)
		if _, err := os.Stat(path); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("%s is %w: restore it with git, or name it in %s", artifact, ErrMissing, ProgramVariable)
}

// upwards looks for a file below the working directory and every directory above it.
func upwards(relative string) (string, bool) {
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		path := filepath.Join(dir, relative)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}
