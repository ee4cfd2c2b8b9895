package image_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/guest/image"
	"github.com/gantry-market/gantry/internal/testkit/long"
)

func packages(t *testing.T) string {
	dir, err := image.Folder()
	require.NoError(t, err)
	return dir
}

func skipWithoutInputs(t *testing.T, err error) {
	if errors.Is(err, image.ErrNoInputs) {
		t.Skip(err)
	}
	require.NoError(t, err)
}

// The inputs and the program are taken once: unpacking and compiling take seconds.
var (
	inputs  = sync.OnceValues(load)
	program = sync.OnceValues(func() ([]byte, error) { return image.Compile(context.Background(), "../..") })
)

func load() (*image.Inputs, error) {
	dir, err := image.Folder()
	if err != nil {
		return nil, err
	}
	return image.Load(dir)
}

func build(t *testing.T, commandLine string) ([]byte, image.Expected) {
	return buildWith(t, "", commandLine)
}

// buildWith builds the image of this repository's program, with more at the program's end.
func buildWith(t *testing.T, more, commandLine string) ([]byte, image.Expected) {
	in, err := inputs()
	skipWithoutInputs(t, err)
	p, err := program()
	require.NoError(t, err)
	data, e, err := image.Build(image.Options{Inputs: in, Program: append(bytes.Clone(p), more...), CommandLine: commandLine})
	require.NoError(t, err)
	return data, e
}

// The committed values are those of these sources.
func TestCommitted(t *testing.T) {
	want, err := image.Committed()
	require.NoError(t, err)
	_, e := build(t, "")
	require.Equal(t, want, e, "the guest's sources have changed: run make guest, and commit guest/image/expected.json")
}

// The part of a policy is read where policies are.
func TestFragment(t *testing.T) {
	e, err := image.Committed()
	require.NoError(t, err)
	p := e.Policy.Apply(policy.Default())
	require.Len(t, p.TPM.PCRs, 4)
	data, err := p.Encode()
	require.NoError(t, err)
	read, err := policy.Parse(data)
	require.NoError(t, err)
	_, err = policy.Standard(read, nil, policy.Subject{})
	require.NoError(t, err)

	var document, part map[string]any
	fragment, err := json.Marshal(e.Policy)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(fragment, &part))
	base, err := policy.Default().Encode()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(base, &document))
	for name := range part {
		require.Contains(t, document, name, "a policy has no such part")
	}
}

// Every change of what is measured changes the registers that say so.
func TestValues(t *testing.T) {
	pcr := func(e image.Expected, at int) string { return e.Policy.TPM.PCRs[at].Values[0] }
	_, genuine := build(t, "")
	_, longer := buildWith(t, "x", "")
	_, other := build(t, image.CommandLine+" debug")
	for _, e := range []image.Expected{longer, other} {
		require.NotEqual(t, genuine.SHA256, e.SHA256)
		require.NotEqual(t, pcr(genuine, 0), pcr(e, 0))
		require.NotEqual(t, pcr(genuine, 1), pcr(e, 1))
		require.Equal(t, pcr(genuine, 2), pcr(e, 2))
	}
	require.NotEqual(t, pcr(longer, 1), pcr(other, 1))
}

// Two builds of the whole, in other folders, with another umask and time zone, are the same bytes.
func TestReproducible(t *testing.T) {
	long.Test(t, "it compiles the program twice, without what is compiled already")
	_, err := inputs()
	skipWithoutInputs(t, err)
	var sums []string
	for _, how := range []struct{ umask, zone, folder string }{{"022", "UTC", "one"}, {"077", "Asia/Kolkata", "another-folder/two"}} {
		dir := filepath.Join(t.TempDir(), how.folder)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		script := `umask "$1" && git -C ../.. archive --format=tar HEAD | tar -xm -C "$2" && cd "$2" && GOCACHE="$2.cache" go run ./guest/cmd/guest-image --check --out "$2.out"`
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", how.umask, dir)
		cmd.Env = append(os.Environ(), "TZ="+how.zone)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		data, err := os.ReadFile(filepath.Join(dir+".out", "guest.efi"))
		require.NoError(t, err)
		sum := sha256.Sum256(data)
		sums = append(sums, hex.EncodeToString(sum[:]))
	}
	require.Equal(t, sums[0], sums[1])
	e, err := image.Committed()
	require.NoError(t, err)
	require.Equal(t, e.SHA256, sums[0])
}

// Packages that are not those that are pinned are refused.
func TestPins(t *testing.T) {
	pins, err := image.Pins()
	require.NoError(t, err)
	require.Len(t, pins, 3)
	dir := t.TempDir()
	_, err = image.Load(dir)
	require.ErrorIs(t, err, image.ErrNoInputs)
	for _, p := range pins {
		require.Len(t, p.SHA256, 64)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(p.Path)), []byte("!<arch>\n"), 0o600))
	}
	_, err = image.Load(dir)
	require.ErrorIs(t, err, image.ErrPin)
}
