package selfsigned

import (
	"crypto/tls"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWritesAPair(t *testing.T) {
	cert, key := filepath.Join(t.TempDir(), "new", "c"), filepath.Join(t.TempDir(), "k")
	require.NoError(t, Write(cert, key, "*.gw.test", "gw.test"))
	pair, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	for _, name := range []string{"gw.test", "x.gw.test"} {
		require.NoError(t, pair.Leaf.VerifyHostname(name))
	}
	require.Error(t, pair.Leaf.VerifyHostname("example.org"))
}
