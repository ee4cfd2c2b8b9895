package rfc2136

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const secret = "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3I="

func TestKeysAreReadAsBINDWritesThem(t *testing.T) {
	for _, text := range []string{
		"key \"gantry\" {\n\talgorithm hmac-sha256;\n\tsecret \"" + secret + "\";\n};\n",
		"# of the gateway\nkey gantry. { algorithm HMAC-SHA256; secret " + secret + "; };",
	} {
		k, err := parseKey(text)
		require.NoError(t, err)
		require.Equal(t, Key{"gantry.", "hmac-sha256.", secret}, k)
	}
}

func TestWrongKeysAreExplainedWithoutTheirSecret(t *testing.T) {
	block := func(name, algorithm, secret string) string {
		return `key "` + name + `" { algorithm ` + algorithm + `; secret "` + secret + `"; };`
	}
	good := block("gantry", "hmac-sha256", secret)
	for says, text := range map[string]string{
		"0 blocks": "hmac-sha256:gantry:" + secret, "2 blocks": good + good, "no algorithm or no secret": `key "gantry" { algorithm hmac-sha256; };`,
		"hmac-md5 is not one of": block("gantry", "hmac-md5", secret), "not in base64": block("gantry", "hmac-sha256", "%"+secret),
		"not a domain name": block("a..b", "hmac-sha256", secret),
	} {
		_, err := parseKey(text)
		require.ErrorIs(t, err, ErrKey)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), secret)
	}
	_, err := ReadKey(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
