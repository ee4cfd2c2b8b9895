package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/client/attestation"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
)

func runPolicy(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = command.Run(context.Background(), command.Streams{Out: &o, Err: &e}, append([]string{"evidence", "policy"}, args...), Commands)
	return code, o.String(), e.String()
}

// What is printed is the built-in policy, with every field that an operator may set.
func TestEvidencePolicyTemplate(t *testing.T) {
	code, out, errs := runPolicy()
	require.Equal(t, service.CodeDone, code, errs)
	p, err := policy.Parse([]byte(out))
	require.NoError(t, err)
	got, err := p.Digest()
	require.NoError(t, err)
	want, err := policy.Default().Digest()
	require.NoError(t, err)
	require.Equal(t, want, got)
	doc := map[string]map[string]any{}
	var whole map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(out), &whole))
	for _, section := range []string{"roots", "gpu", "tpm", "snp", "tdx", "require"} {
		var fields map[string]any
		require.NoError(t, json.Unmarshal(whole[section], &fields))
		doc[section] = fields
	}
	for section, field := range map[string]string{"roots": "tpm", "tpm": "pcrs", "snp": "measurements", "tdx": "measurements"} {
		require.Equal(t, []any{}, doc[section][field], "%s.%s is there to be filled", section, field)
	}
}

// The template, filled in, is a policy with all tiers, and evidence verify takes it.
func TestEvidencePolicyCheck(t *testing.T) {
	_, template, _ := runPolicy()
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "policy.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	code, out, errs := runPolicy("--check", write(template))
	require.Equal(t, service.CodeDone, code, errs)
	digest, err := policy.Default().Digest()
	require.NoError(t, err)
	require.Contains(t, out, fmt.Sprintf("%x", digest))
	require.Contains(t, out, "no tier 2")
	require.Contains(t, out, "no tier 3")

	filled := strings.Replace(template, `"tpm": [],`, `"tpm": ["`+strings.Repeat("ab", 32)+`"],`, 1)
	filled = strings.Replace(filled, `"measurements": []`, `"measurements": ["`+strings.Repeat("cd", 48)+`"]`, 1)
	for _, part := range []string{"bootloader", "snp", "microcode"} { // now, and at the launch
		filled = strings.ReplaceAll(filled, `"`+part+`": 0`, `"`+part+`": 1`)
	}
	path := write(filled)
	code, out, errs = runPolicy("--check", path, "--json")
	require.Equal(t, service.CodeDone, code, errs)
	var doc attestation.Policy
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	require.Empty(t, doc.Missing)
	require.NotEqual(t, fmt.Sprintf("%x", digest), doc.Hash)
	file, _ := evidenceFile(t, nil)
	code, out, errs = runEvidence(file, "--policy", path)
	require.Equal(t, service.CodeDone, code, errs)
	require.Contains(t, out, doc.Hash)

	for name, bad := range map[string]string{
		"unknown field":   strings.Replace(template, `"version"`, `"verison"`, 1),
		"half a root":     strings.Replace(filled, strings.Repeat("ab", 32), "abab", 1),
		"half an image":   strings.Replace(filled, strings.Repeat("cd", 48), "cdcd", 1),
		"below the floor": strings.Replace(template, `"guest's signature"`, `"format"`, 1),
		"empty":           "",
	} {
		code, _, errs = runPolicy("--check", write(bad))
		require.Equal(t, service.CodeUsage, code, name)
		require.Contains(t, errs, "policy document", name)
	}
	code, _, _ = runPolicy(path)
	require.Equal(t, service.CodeUsage, code)
	code, _, _ = runPolicy("--check", path+"x")
	require.Equal(t, service.CodeUsage, code)
}
