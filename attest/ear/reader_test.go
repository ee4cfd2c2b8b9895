package ear

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/policy"
)

// The crate of the Veraison project reads our tokens, and refuses one that was changed and the key of another signer.
func TestTheCrateOfVeraisonReadsAToken(t *testing.T) {
	program := filepath.Join(t.TempDir(), "reader")
	build := exec.CommandContext(t.Context(), "bash", "-c", `source ../../scripts/common.sh && in_dir attest/ear/testdata/reader cargo "+$RUST_HOST" build --quiet --locked --target-dir "$cache/ear-reader" && cp "$cache/ear-reader/debug/reader" "$1"`, "bash", program)
	if _, err := exec.LookPath("cargo"); err != nil {
		t.Skip("cargo is missing: install rustup")
	}
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	token, err := Sign(verdict(2, policy.Sound, gpu(nil)), signer, now)
	require.NoError(t, err)
	jwk := func(key ed25519.PrivateKey) string {
		return fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","x":%q}`, base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey)))
	}
	read := func(token string, key ed25519.PrivateKey) (string, error) {
		c := exec.CommandContext(t.Context(), program, jwk(key))
		c.Stdin = strings.NewReader(token)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	said, err := read(token, signer)
	require.NoError(t, err, said)
	require.Equal(t, `profile tag:ietf.org,2026:rats/ear#04
status affirming
nonce AQIDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
submod gpu-0: affirming
submod gpu-0: instance-identity recognized_instance
submod gpu-0: executables approved_boot
submod gpu-0: hardware genuine_hw
submod machine: affirming
`, said)
	said, err = read(token, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize)))
	require.Error(t, err, said)
	parts := strings.Split(token, ".")
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	changed := bytes.Replace(body, []byte(`"affirming"`), []byte(`"warning"`), 1)
	require.NotEqual(t, body, changed)
	said, err = read(strings.Join([]string{parts[0], base64.RawURLEncoding.EncodeToString(changed), parts[2]}, "."), signer)
	require.Error(t, err, said)
}
