package container

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrefixedLines(t *testing.T) {
	var b bytes.Buffer
	p := &Marked{W: &b, Prefix: "[a] "}
	for _, piece := range []string{"on", "e\ntwo\nth", "ree\n", "rest"} {
		n, err := p.Write([]byte(piece))
		require.NoError(t, err)
		require.Equal(t, len(piece), n)
	}
	require.Equal(t, "[a] one\n[a] two\n[a] three\n", b.String())
	require.NoError(t, p.Flush())
	require.NoError(t, p.Flush())
	require.Equal(t, "[a] one\n[a] two\n[a] three\n[a] rest\n", b.String())
}
