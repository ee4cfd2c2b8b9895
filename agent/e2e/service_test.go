package e2e_test

import (
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// systemd is a socket as a service manager has one.
type systemd struct {
	path string
	mu   sync.Mutex
	said []string
}

func newSystemd(t *testing.T) *systemd {
	s := &systemd{path: filepath.Join(t.TempDir(), "notify")}
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: s.path, Net: "unixgram"})
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
			s.mu.Lock()
			s.said = append(s.said, string(b[:n]))
			s.mu.Unlock()
		}
	}()
	t.Cleanup(func() { require.NoError(t, l.Close()); <-done })
	return s
}

// count is how often a message has come that begins so.
func (s *systemd) count(begins string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.said {
		if strings.HasPrefix(m, begins) {
			n++
		}
	}
	return n
}

// A real agent tells systemd that it serves, that it goes on and that it ends. Its metrics are for this machine alone without a web
// config.
func TestAnAgentTellsSystemd(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a := w.newAgent(0)
	s := newSystemd(t)
	a.env = []string{"NOTIFY_SOCKET=" + s.path, "WATCHDOG_USEC=1000000", "WATCHDOG_PID="}
	out, err := a.try("run", "--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS, "--metrics", "0.0.0.0:0")
	require.Error(t, err)
	require.Contains(t, out, "metrics address is not on this machine")
	require.Contains(t, out, "--web-config with tls_server_config and basic_auth_users")
	require.Zero(t, s.count("READY=1"), "it never served")

	a.start()
	await := func(begins string, from int) {
		t.Helper()
		require.Eventually(t, func() bool { return s.count(begins) > from }, time.Minute, 20*time.Millisecond, begins)
	}
	await("READY=1", 0)
	await("WATCHDOG=1", s.count("WATCHDOG=1")+2)
	await("STATUS=serves", 0)
	ended := s.count("STOPPING=1") // by the run that was refused
	a.stop()
	await("STOPPING=1", ended)
	require.Equal(t, 1, s.count("READY=1"))
}
