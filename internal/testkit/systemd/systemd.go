// Package systemd has a socket to which programs in tests send what they tell their service manager.
package systemd

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Socket listens until the test ends and calls heard with each message, one after the other. Its path is for NOTIFY_SOCKET.
func Socket(t *testing.T, heard func(message string)) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 4096)
		for {
			n, err := l.Read(b)
			if err != nil {
				return
			}
			heard(string(b[:n]))
		}
	}()
	t.Cleanup(func() { require.NoError(t, l.Close()); <-done })
	return path
}
