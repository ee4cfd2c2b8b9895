// Package guestfiles has the measured guest of these sources and a firmware as files, for tests that start it with QEMU.
package guestfiles

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/tpm/swtpm"
	"github.com/gantry-market/gantry/guest/image"
	"github.com/gantry-market/gantry/internal/testkit/repository"
)

// qemu is the program that starts the guest.
const qemu = "qemu-system-x86_64"

// Files are the paths of an image and a firmware, whose variables are in a file beside it.
type Files struct{ Image, Firmware string }

// Build builds an image with a command line; empty for the genuine one. It skips the test where something is missing that
// scripts/toolchain.sh guest installs.
func Build(t *testing.T, commandLine string) (Files, image.Expected) {
	t.Helper()
	if _, err := exec.LookPath(qemu); err != nil {
		t.Skipf("SKIPPED: no %s: scripts/toolchain.sh guest", qemu)
	}
	if err := swtpm.Available(); err != nil {
		t.Skipf("SKIPPED: %v: scripts/toolchain.sh guest", err)
	}
	packages, err := image.Folder()
	require.NoError(t, err)
	inputs, err := image.Load(packages)
	if errors.Is(err, image.ErrNoInputs) {
		t.Skipf("SKIPPED: %v", err)
	}
	require.NoError(t, err)
	program, err := image.Compile(t.Context(), repository.Root(t))
	require.NoError(t, err)
	data, e, err := image.Build(image.Options{Inputs: inputs, Program: program, CommandLine: commandLine})
	require.NoError(t, err)
	code, vars, err := image.Firmware(packages)
	require.NoError(t, err)
	dir := t.TempDir()
	for name, data := range map[string][]byte{"guest.efi": data, "CODE.fd": code, "VARS.fd": vars} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return Files{Image: filepath.Join(dir, "guest.efi"), Firmware: filepath.Join(dir, "CODE.fd")}, e
}
