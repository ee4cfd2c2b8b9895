package verify

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEvidenceHash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "complaint")
	content := bytes.Repeat([]byte("what went wrong\n"), 10_000)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	raw, hash, err := readComplaint(path)
	require.NoError(t, err)
	require.Equal(t, content, raw)
	require.Equal(t, sha256.Sum256(content), hash)
	require.NoError(t, os.WriteFile(path, bytes.Repeat(content, 2), 0o600))
	_, _, err = readComplaint(path)
	require.ErrorContains(t, err, "has more than 256 KiB")
}
