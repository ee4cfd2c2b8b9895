package e2e_test

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	systemdtest "github.com/gantry-market/gantry/internal/testkit/systemd"
)

// systemd is a socket as a service manager has one.
type systemd struct {
	path string
	mu   sync.Mutex
	said []string
}

func newSystemd(t *testing.T) *systemd {
	s := &systemd{}
	s.path = systemdtest.Socket(t, func(message string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.said = append(s.said, message)
	})
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

// webConfig writes a web config with TLS and a user, whose password is right; the client trusts its certificate.
func webConfig(t *testing.T) (path string, client *http.Client) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	dir := t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	for name, raw := range map[string][]byte{
		"cert.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		"key.pem":  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"web.yml":  []byte("tls_server_config: {cert_file: cert.pem, key_file: key.pem}\nbasic_auth_users: {prometheus: '" + string(hash) + "'}\n"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), raw, 0o600))
	}
	return filepath.Join(dir, "web.yml"), s.Client()
}

// A real agent tells systemd that it serves, that it goes on and that it ends. Its metrics are for this machine alone without a web
// config, and with one for who has the password.
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

	config, client := webConfig(t)
	a.args = append(a.args, "--metrics", "0.0.0.0:0", "--web-config", config)
	a.start()
	ask := func(password string) int {
		at, err := os.ReadFile(filepath.Join(a.dir, "http.addr"))
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(strings.TrimSpace(string(at)))
		require.NoError(t, err)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1:"+port+"/metrics", nil)
		require.NoError(t, err)
		req.SetBasicAuth("prometheus", password)
		resp, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, http.StatusUnauthorized, ask("wrong"))
	require.Equal(t, http.StatusOK, ask("right"))
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
