package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/testbundle"

	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/client/attestation"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
)

// evidenceFile writes the bundle of an honest tier 1 machine.
func evidenceFile(t *testing.T, change func(*bundle.Bundle)) (path string, b *bundle.Bundle) {
	b = testbundle.Honest(t)
	if change != nil {
		change(b)
	}
	raw, err := b.Encode()
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "bundle")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	return path, b
}

func runEvidence(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = command.Run(context.Background(), command.Streams{Out: &o, Err: &e}, append([]string{"evidence", "verify"}, args...), Commands)
	return code, o.String(), e.String()
}

func TestEvidenceVerify(t *testing.T) {
	path, b := evidenceFile(t, nil)
	digest, err := b.Digest()
	require.NoError(t, err)
	code, out, errs := runEvidence(path)
	require.Equal(t, service.CodeDone, code, errs)
	require.Empty(t, errs)
	require.Contains(t, out, "tier            1")
	require.Contains(t, out, "not tier 2: no TPM quote")
	require.Contains(t, out, fmt.Sprintf("%x", digest))
	require.Contains(t, out, "a claim, not a proof")
	require.Contains(t, out, "not covered")

	nonce := b.Challenge.Nonce()
	code, _, errs = runEvidence(path, "--nonce", fmt.Sprintf("%x", nonce), "--hash", fmt.Sprintf("%x", digest), "--tier", "1",
		"--node", solana.PublicKey(b.Challenge.NodeKey).String(), "--account", solana.PublicKey{44}.String(), "--at", "2023-11-15T00:00:00Z")
	require.Equal(t, service.CodeDone, code, errs)

	code, out, _ = runEvidence(path, "--json")
	require.Equal(t, service.CodeDone, code)
	var doc attestation.Evidence
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	require.True(t, doc.OK)
	require.Equal(t, uint8(1), doc.Tier)
	require.Equal(t, "sound", doc.Verdict)
}

func TestEvidenceRefused(t *testing.T) {
	path, _ := evidenceFile(t, nil)
	forged, _ := evidenceFile(t, func(b *bundle.Bundle) { b.Signature[0] ^= 1 })
	other := solana.PublicKey{9}.String()
	zero := fmt.Sprintf("%064x", 0)
	strict := policy.Default()
	strict.WindowSecs = 1
	raw, err := strict.Encode()
	require.NoError(t, err)
	strictPath := filepath.Join(t.TempDir(), "policy.json")
	require.NoError(t, os.WriteFile(strictPath, raw, 0o600))
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("hello"), 0o600))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"signature":  {[]string{forged}, "node signature"},
		"nonce":      {[]string{path, "--nonce", zero}, "expected nonce"},
		"hash":       {[]string{path, "--hash", zero}, "expected hash"},
		"node":       {[]string{path, "--node", other}, "expected node"},
		"account":    {[]string{path, "--account", other}, "expected account"},
		"tier":       {[]string{path, "--tier", "2"}, "expected tier"},
		"too late":   {[]string{path, "--at", "now"}, "freshness"},
		"too early":  {[]string{path, "--at", "1"}, "freshness"},
		"policy":     {[]string{path, "--policy", strictPath}, "more than 1s before"},
		"no bundle":  {[]string{text}, "is not a bundle"},
		"also as in": {[]string{path, "--tier", "3", "--json"}, "expected tier"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := runEvidence(c.args...)
			require.Equal(t, service.CodeRefused, code, out)
			require.Contains(t, errs, c.want)
			if c.args[len(c.args)-1] == "--json" {
				dec := json.NewDecoder(bytes.NewReader([]byte(out)))
				var doc attestation.Evidence
				require.NoError(t, dec.Decode(&doc))
				require.False(t, doc.OK)
				require.False(t, dec.More(), "one document")
			}
		})
	}
}

func TestEvidenceWrongUse(t *testing.T) {
	path, _ := evidenceFile(t, nil)
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("hello"), 0o600))
	for name, args := range map[string][]string{
		"no file":       nil,
		"two files":     {path, path},
		"missing file":  {path + "x"},
		"nonce":         {path, "--nonce", "zz"},
		"hash":          {path, "--hash", "00"},
		"node":          {path, "--node", "me"},
		"keeper":        {path, "--keeper", "you"},
		"time":          {path, "--at", "tomorrow"},
		"tier":          {path, "--tier", "4"},
		"policy":        {path, "--policy", text},
		"no policy":     {path, "--policy", text + "x"},
		"no collateral": {path, "--collateral", text},
		"flag":          {path, "--faster"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, errs := runEvidence(args...)
			require.Equal(t, service.CodeUsage, code, errs)
			require.Contains(t, errs, "error: ")
		})
	}
}
