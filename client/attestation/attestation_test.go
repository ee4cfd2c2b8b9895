package attestation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/testbundle"

	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/client/service"
)

func asked(b *bundle.Bundle) *Request {
	return &Request{File: "bundle", Bundle: b, Policy: policy.Default(), At: time.Unix(b.Created, 0)}
}

// write writes a file of a test.
func write(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func TestABundleIsHeldAgainstWhatIsExpected(t *testing.T) {
	b := testbundle.Honest(t)
	digest, err := b.Digest()
	require.NoError(t, err)
	nonce, hash := b.Challenge.Nonce(), [32]byte(digest)
	r := asked(b)
	r.Expected = Expected{Nonce: &nonce, Hash: &hash, Node: &b.Challenge.NodeKey, Account: &b.Challenge.Node, Tier: 1}
	out, err := Verify(r)
	require.NoError(t, err)
	require.True(t, out.OK, out.Problem)
	require.EqualValues(t, 1, out.Tier)
	passed, failed, notCovered := out.Count()
	require.Zero(t, failed)
	require.NotZero(t, notCovered, "a machine of tier 1 proves no TPM and no GPU")
	require.GreaterOrEqual(t, passed, 5, "what is expected is a check each")
	require.Len(t, out.Checks, passed+notCovered)

	other := [32]byte{9}
	for name, expected := range map[string]Expected{
		"expected nonce": {Nonce: &other}, "expected hash": {Hash: &other}, "expected node": {Node: &other}, "expected account": {Account: &other}, "expected tier": {Tier: 2},
	} {
		r := asked(b)
		r.Expected = expected
		out, err := Verify(r)
		require.NoError(t, err, name)
		require.False(t, out.OK, name)
		require.True(t, strings.HasPrefix(out.Problem, name+": "), out.Problem)
		_, failed, _ := out.Count()
		require.Equal(t, 1, failed, name)
	}
}

func TestEvidenceOfAnotherTimeOrHandIsRefused(t *testing.T) {
	for name, change := range map[string]func(*Request){
		"freshness":      func(r *Request) { r.At = r.At.Add(365 * 24 * time.Hour) },
		"node signature": func(r *Request) { r.Bundle.Signature[0] ^= 1 },
	} {
		r := asked(testbundle.Honest(t))
		change(r)
		out, err := Verify(r)
		require.NoError(t, err, name)
		require.False(t, out.OK, name)
		require.Contains(t, out.Problem, name)
	}
}

func TestABundleIsReadFromItsFile(t *testing.T) {
	b := testbundle.Honest(t)
	raw, err := b.Encode()
	require.NoError(t, err)
	got, err := ReadBundle(write(t, raw))
	require.NoError(t, err)
	require.Equal(t, b, got)

	_, err = ReadBundle(write(t, []byte("hello\x1b[2J")))
	require.Equal(t, service.CodeRefused, service.Classify(err).Code)
	require.ErrorContains(t, err, "is not a bundle of evidence")
	require.NotContains(t, err.Error(), "\x1b")
	_, err = ReadBundle(write(t, make([]byte, bundle.MaxSize+1)))
	require.ErrorIs(t, err, service.ErrTooLarge)
	_, err = ReadBundle(filepath.Join(t.TempDir(), "none"))
	require.Equal(t, service.CodeUsage, service.Classify(err).Code)
}

// The built-in policy reaches tier 1; a policy that names what verifiers need reaches more, and the answer says what is
// missing to the others.
func TestAPolicySaysWhatItCannotReach(t *testing.T) {
	raw, err := DefaultPolicy()
	require.NoError(t, err)
	path := write(t, raw)
	out, err := CheckPolicy(path)
	require.NoError(t, err)
	require.Equal(t, path, out.File)
	require.Len(t, out.Missing, 2)
	require.Contains(t, out.Missing[0], "no tier 2: roots.tpm")
	require.Contains(t, out.Missing[1], "no tier 3")
	p, err := ReadPolicy(path)
	require.NoError(t, err)
	require.Equal(t, policy.Default().Name, p.Name)

	p.MaxAgeSecs = 1
	raw, err = p.Encode()
	require.NoError(t, err)
	out, err = CheckPolicy(write(t, raw))
	require.NoError(t, err)
	require.Contains(t, out.Missing[0], "keepers refuse it: max_age_secs is 1")

	for _, bad := range []string{"", "{", `{"version":`} {
		_, err := CheckPolicy(write(t, []byte(bad)))
		require.Equal(t, service.CodeUsage, service.Classify(err).Code, bad)
		require.Contains(t, service.Classify(err).Advice, "gantry evidence policy")
	}
}

func TestCollateralIsAFolder(t *testing.T) {
	dir := t.TempDir()
	_, err := Folder(dir)
	require.NoError(t, err)
	for _, bad := range []string{filepath.Join(dir, "none"), write(t, nil)} {
		_, err := Folder(bad)
		require.Equal(t, service.CodeUsage, service.Classify(err).Code)
		require.ErrorContains(t, err, "is not a folder")
	}
}

func TestARecordThatIsNoneIsRefused(t *testing.T) {
	_, err := VerifyMeasurement(t.Context(), write(t, []byte("hello\x1b[2J")), "")
	require.Equal(t, service.CodeRefused, service.Classify(err).Code)
	require.ErrorContains(t, err, "is not the record of a measurement")
	require.NotContains(t, err.Error(), "\x1b")
	_, err = VerifyMeasurement(t.Context(), filepath.Join(t.TempDir(), "none"), "")
	require.Equal(t, service.CodeUsage, service.Classify(err).Code)
}
