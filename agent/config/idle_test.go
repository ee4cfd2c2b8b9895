package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/jobspec"
)

// The owner's job is checked when the settings are read, by the rules for customers' jobs; errors say what to write.
func TestTheIdleJobOfTheSettings(t *testing.T) {
	dir := t.TempDir()
	read := func(text string) error {
		require.NoError(t, os.WriteFile(filepath.Join(dir, FileName), []byte("url: http://127.0.0.1:1\nkeypair: a\n"+text), 0o600))
		c, err := Load(dir)
		if err != nil {
			return err
		}
		_, err = c.Complete()
		return err
	}
	require.NoError(t, read("idle:\n  image: docker.io/library/debian:12\n  command: [work, --pool, here]\n  env: {A: b}\n  gpus: 2\n  cpus: 4\n  memory_gib: 8\n  disk_gib: 20\n"))
	require.NoError(t, read("idle: {image: debian, network: none, gpus: all}\n"))
	for text, says := range map[string]string{
		"idle: {}\n":                                       "there is no image; name one",
		"idle: {image: 'UPPER/not a name'}\n":              "is not a reference such as",
		"idle: {image: debian, network: host}\n":           `network "host"; use internet or none`,
		"idle: {image: debian, gpus: most}\n":              `gpus "most"; use all, or a number from 1`,
		"idle: {image: debian, gpus: 0}\n":                 `gpus "0"`,
		"idle: {image: debian, cpus: -1}\n":                "cpus -1",
		"idle: {image: debian, ports: [80]}\n":             "field ports not found",
		"idle: {image: debian, env: {GANTRY_LEASE: x}}\n":  "GANTRY_LEASE",
		"idle: {image: debian, memory_gib: 99999999999}\n": "give what the machine has at most",
		"idle: {image: debian, command: [\"a\\0b\"]}\n":    "idle: ",
		"idle: {image: 'debian@sha256:12'}\n":              "is not a reference such as",
		"idle: {image: debian, env: {'': x}}\n":            "idle: ",
	} {
		err := read(text)
		require.ErrorIs(t, err, ErrConfig, text)
		require.ErrorContains(t, err, says, text)
	}
	require.ErrorIs(t, read("idle: {image: debian, env: {GANTRY_LEASE: x}}\n"), jobspec.ErrJob)
}
