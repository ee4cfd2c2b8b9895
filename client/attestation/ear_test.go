package attestation

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/testkit/testbundle"
)

// A token says what the verifier says of the bundle, also where it refuses it. Evidence that is too old gives none.
func TestAVerdictIsSigned(t *testing.T) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	b := testbundle.Honest(t)
	made := time.Unix(b.Created, 0)
	r := asked(b)
	out, token, err := Sign(r, key, "v1", made)
	require.NoError(t, err)
	require.True(t, out.OK, out.Problem)
	parts := strings.Split(token, ".")
	require.Len(t, parts, 3)
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	require.NoError(t, err)
	require.True(t, ed25519.Verify(ed25519.PublicKey(key.PublicKey().Bytes()), []byte(parts[0]+"."+parts[1]), sig))
	body := func(token string) string {
		raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
		require.NoError(t, err)
		return string(raw)
	}
	require.Contains(t, body(token), `"build":"v1"`)
	require.Contains(t, body(token), `"gantry-evidence-hash":"`+out.Hash+`"`)
	require.Contains(t, body(token), `"ear_status":"none"`, "a machine of tier 1 has shown nothing that others vouch for")

	r.Expected.Tier = 2
	out, token, err = Sign(r, key, "v1", made)
	require.NoError(t, err)
	require.False(t, out.OK)
	require.Contains(t, body(token), `"ear_status":"warning"`)
	require.Contains(t, body(token), "at least 2 is wanted")

	b.Created += 3600 // from the future
	require.NoError(t, b.Sign(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{6}, ed25519.SeedSize))))
	r = asked(b)
	out, token, err = Sign(r, key, "v1", made)
	require.NoError(t, err)
	require.False(t, out.OK)
	require.NotContains(t, body(token), `"ear_status":"affirming"`)
	b.Created -= 3600

	var f *service.Failure
	_, token, err = Sign(r, key, "v1", time.Now())
	require.ErrorAs(t, err, &f)
	require.Equal(t, service.CodeRefused, f.Code)
	require.Empty(t, token)
}
