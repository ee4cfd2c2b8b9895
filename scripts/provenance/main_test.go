package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	commit = "0123456789abcdef0123456789abcdef01234567"
	sum    = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// A statement names the files, the commit and the platforms, and is the same each time.
func TestProvenance(t *testing.T) {
	list := sum + "  gantry_1.0.0_amd64.deb\n" + sum + "  install.sh\n"
	var out, again bytes.Buffer
	require.NoError(t, write(&out, strings.NewReader(list), commit, "1.0.0", []string{"linux/amd64", "darwin/arm64"}))
	require.NoError(t, write(&again, strings.NewReader(list), commit, "1.0.0", []string{"linux/amd64", "darwin/arm64"}))
	require.Equal(t, out.String(), again.String())
	type resource struct {
		Name   string            `json:"name"`
		Digest map[string]string `json:"digest"`
	}
	var got struct {
		Type          string     `json:"_type"`
		Subject       []resource `json:"subject"`
		PredicateType string     `json:"predicateType"`
		Predicate     struct {
			BuildDefinition struct {
				ExternalParameters   map[string]any `json:"externalParameters"`
				ResolvedDependencies []resource     `json:"resolvedDependencies"`
			} `json:"buildDefinition"`
		} `json:"predicate"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Equal(t, "https://in-toto.io/Statement/v1", got.Type)
	require.Equal(t, "https://slsa.dev/provenance/v1", got.PredicateType)
	require.Equal(t, []resource{{"gantry_1.0.0_amd64.deb", map[string]string{"sha256": sum}}, {"install.sh", map[string]string{"sha256": sum}}}, got.Subject)
	require.Equal(t, map[string]any{"version": "1.0.0", "platforms": []any{"linux/amd64", "darwin/arm64"}}, got.Predicate.BuildDefinition.ExternalParameters)
	require.Equal(t, map[string]string{"gitCommit": commit}, got.Predicate.BuildDefinition.ResolvedDependencies[0].Digest)
}

func TestProvenanceNeedsChecksumsAndACommit(t *testing.T) {
	for name, c := range map[string]struct{ list, commit string }{
		"nothing":             {"", commit},
		"another list":        {"install.sh\n", commit},
		"a short checksum":    {"e3b0  install.sh\n", commit},
		"a commit by name":    {sum + "  install.sh\n", "main"},
		"a commit left empty": {sum + "  install.sh\n", ""},
	} {
		require.Error(t, write(&bytes.Buffer{}, strings.NewReader(c.list), c.commit, "1.0.0", nil), name)
	}
}
