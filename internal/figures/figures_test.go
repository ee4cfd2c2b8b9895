package figures

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/gantry-market/gantry/internal/options"
)

func healthy() []string { return nil }

func TestLoopbackOnly(t *testing.T) {
	registry := prometheus.NewRegistry()
	for _, addr := range []string{"0.0.0.0:0", ":9464", "192.0.2.1:1"} {
		_, err := New(Options{Addr: addr, Registry: registry, Healthy: healthy, Ready: healthy})
		require.ErrorIs(t, err, ErrNotLoopback, addr)
		require.ErrorContains(t, err, "--web-config")
	}
	options.Without(Options{"127.0.0.1:0", "", registry, healthy, healthy}, []string{"WebConfig"}, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
	_, err := New(Options{Addr: "nonsense", Registry: registry, Healthy: healthy, Ready: healthy})
	require.Error(t, err)
}

const (
	tlsPart   = "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n"
	usersPart = "basic_auth_users: {prometheus: '%s'}\n"
)

// webConfig writes a file beside a certificate; it returns who trusts that.
func webConfig(t *testing.T, parts ...string) (path string, roots *x509.CertPool) {
	// The certificate of package httptest is for 127.0.0.1 and example.com.
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	dir := t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, "key.pem": {Type: "PRIVATE KEY", Bytes: key}} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	path = filepath.Join(dir, "web.yml")
	write(t, path, parts...)
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return path, roots
}

func write(t *testing.T, path string, parts ...string) {
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	var text []byte
	for _, part := range parts {
		text = append(text, bytes.ReplaceAll([]byte(part), []byte("%s"), hash)...)
	}
	require.NoError(t, os.WriteFile(path, text, 0o600))
}

func TestAnAddressForOthersNeedsTLSAndUsers(t *testing.T) {
	o := Options{Addr: "0.0.0.0:0", Registry: prometheus.NewRegistry(), Healthy: healthy, Ready: healthy}
	for what, parts := range map[string][]string{"has no users": {tlsPart}, "has no TLS": {usersPart}} {
		o.WebConfig, _ = webConfig(t, parts...)
		_, err := New(o)
		require.ErrorIs(t, err, ErrNotLoopback, what)
		require.ErrorContains(t, err, what)
	}
	for _, wrong := range []string{"nonsense: 1\n", "tls_server_config: {cert_file: none.pem, key_file: key.pem}\n", "basic_auth_users: {prometheus: plain}\n"} {
		o.WebConfig, _ = webConfig(t, wrong)
		_, err := New(o)
		require.ErrorIs(t, err, ErrWebConfig, wrong)
	}
	o.WebConfig = filepath.Join(t.TempDir(), "none")
	_, err := New(o)
	require.ErrorIs(t, err, ErrWebConfig)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// serve runs a server for the test; ask answers with the status of a path.
func serve(t *testing.T, addr, config string, roots *x509.CertPool) (ask func(path, password string) int, plain string) {
	o := Options{Addr: addr, WebConfig: config, Registry: prometheus.NewRegistry(), Healthy: healthy, Ready: func() []string { return []string{"it waits"} }}
	s, err := New(o)
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() { end(); require.ErrorIs(t, <-done, context.Canceled) })
	_, port, err := net.SplitHostPort(s.Addr())
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
	return func(path, password string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1:"+port+path, nil)
		require.NoError(t, err)
		if password != "" {
			req.SetBasicAuth("prometheus", password)
		}
		resp, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}, "http://127.0.0.1:" + port
}

func TestTLSAndPasswords(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		config, roots := webConfig(t, tlsPart, usersPart)
		ask, plain := serve(t, addr, config, roots)
		for path, code := range map[string]int{"/metrics": 200, "/healthz": 200, "/readyz": 503} {
			require.Equal(t, 401, ask(path, ""), path)
			require.Equal(t, 401, ask(path, "wrong"), path)
			require.Equal(t, code, ask(path, "right"), path)
		}
		resp, err := http.Get(plain + "/metrics")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 400, resp.StatusCode, "plain HTTP")
	}
}

// A file that loses its users while the daemon runs opens nothing.
func TestAWebConfigThatStopsProtecting(t *testing.T) {
	config, roots := webConfig(t, tlsPart, usersPart)
	ask, _ := serve(t, "0.0.0.0:0", config, roots)
	require.Equal(t, 200, ask("/metrics", "right"))
	write(t, config, tlsPart)
	require.Equal(t, 500, ask("/metrics", "right"))
	write(t, config, tlsPart, usersPart)
	require.Equal(t, 200, ask("/metrics", "right"))
}

func TestAPasswordWithoutTLSOnThisMachine(t *testing.T) {
	config, _ := webConfig(t, usersPart)
	_, plain := serve(t, "127.0.0.1:0", config, nil)
	resp, err := http.Get(plain + "/healthz")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 401, resp.StatusCode)
}
