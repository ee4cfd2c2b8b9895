package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// This program has the licences of Go and of the modules that it is linked with, and no others.
func TestLicencesOfAProgram(t *testing.T) {
	self := filepath.Join(t.TempDir(), "licences")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", self, ".").CombinedOutput()
	require.NoError(t, err, string(built))
	var out, again bytes.Buffer
	require.NoError(t, run(t.Context(), &out, []string{self}, []string{"testdata/page.txt"}))
	require.NoError(t, run(t.Context(), &again, []string{self, self}, []string{"testdata/page.txt"}))
	require.Equal(t, out.String(), again.String())
	require.Regexp(t, `\nstd go1\.`, out.String())
	require.Contains(t, out.String(), "\ngolang.org/x/mod v")
	require.Contains(t, out.String(), "Redistribution and use in source and binary forms")
	require.Contains(t, out.String(), "\ntestdata/page.txt\n")
	require.Contains(t, out.String(), "\nDo with this page what you want.\n")
	require.NotContains(t, out.String(), "cyclonedx")
	require.NotContains(t, out.String(), "\n"+own)
}

func TestModulesWithoutALicence(t *testing.T) {
	m := module{"example.com/m", "v1.0.0"}
	folder := func(files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		return dir
	}
	for name, files := range map[string]map[string]string{
		"none":            {"README.md": "free"},
		"an empty one":    {"LICENSE": " \n"},
		"a notice alone":  {"NOTICE": "by us"},
		"of a part alone": {"part/LICENSE": "do what you want"},
		"a program":       {"license.go": "package m"},
		"of a test":       {"testdata/LICENSE": "do what you want"},
	} {
		_, err := texts(m, folder(files))
		require.ErrorContains(t, err, "example.com/m v1.0.0 has no licence", name)
	}
	_, err := texts(m, folder(map[string]string{"COPYING": "\n   GNU GENERAL PUBLIC LICENSE\n   Version 3"}))
	require.ErrorContains(t, err, "has a licence of GNU")
	known := module{"github.com/gagliardetto/treeout", "v0.1.4"}
	found, err := texts(known, folder(map[string]string{"README.md": "free"}))
	require.NoError(t, err)
	require.Equal(t, []string{unlicensed[known.path]}, found)
	_, err = texts(known, folder(map[string]string{"LICENSE": "do what you want"}))
	require.ErrorContains(t, err, "has a licence now")
	found, err = texts(m, folder(map[string]string{"LICENCE.md": "do what you want\r\n", "NOTICE": "by us", "part/COPYING": "or not", "part/main.go": "package part"}))
	require.NoError(t, err)
	require.Equal(t, []string{"do what you want", "by us", "or not"}, found)
}

func TestWhatGoDidNotBuild(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}, []string{"main.go"}, nil), "was not built by Go")
}
