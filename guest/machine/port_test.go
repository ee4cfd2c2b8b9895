package machine

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A port reads as ended before the host has come, and after it has gone. A file that grows does so as well.
func TestPortWaitsForItsHost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "port")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	p := &Port{file: f}
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	require.NoError(t, p.SetDeadline(time.Now()))
	got := make(chan string)
	go func() {
		b := make([]byte, 8)
		n, _ := p.Read(b)
		got <- string(b[:n])
	}()
	select {
	case text := <-got:
		t.Fatalf("it has read %q before the host came", text)
	case <-time.After(3 * portWait):
	}
	require.NoError(t, os.WriteFile(path, []byte("hello"), 0o600))
	require.Equal(t, "hello", <-got)
	_, err = p.Read(make([]byte, 8))
	require.ErrorIs(t, err, io.EOF)
}
