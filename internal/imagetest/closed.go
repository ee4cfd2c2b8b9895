package imagetest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/gantry-market/gantry/internal/child"
)

// The account of a closed registry.
const (
	User     = "customer"
	Password = "correct horse battery staple"
)

// Auth lets Push into a closed registry.
func Auth() remote.Option {
	return remote.WithAuth(authn.FromConfig(authn.AuthConfig{Username: User, Password: Password}))
}

// Login is a folder with docker's settings for a registry, as "docker login" leaves it.
func Login(t testing.TB, r Registry) string {
	t.Helper()
	dir := t.TempDir()
	raw, err := json.Marshal(map[string]any{"auths": map[string]any{r.Host: map[string]string{
		"auth": base64.StdEncoding.EncodeToString([]byte(User + ":" + Password)),
	}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), raw, 0o600))
	return dir
}

// Closed starts the distribution project's registry with one account: it asks for tokens, or for the password itself.
func Closed(t testing.TB, tokens bool) Registry {
	t.Helper()
	path, err := exec.LookPath("registry")
	if err != nil {
		t.Skip("SKIPPED: no registry server: run scripts/toolchain.sh registry")
	}
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		at := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(at, content, 0o600))
		return at
	}
	var auth map[string]any
	if tokens {
		realm, keys := tokenServer(t)
		auth = map[string]any{"token": map[string]any{
			"realm": realm, "service": "registry", "issuer": "issuer", "jwks": file("keys.json", keys), "signingalgorithms": []string{"ES256"},
		}}
	} else {
		hash, err := bcrypt.GenerateFromPassword([]byte(Password), bcrypt.MinCost)
		require.NoError(t, err)
		auth = map[string]any{"htpasswd": map[string]any{"realm": "registry", "path": file("htpasswd", fmt.Appendf(nil, "%s:%s\n", User, hash))}}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	host := l.Addr().String()
	require.NoError(t, l.Close())
	config, err := json.Marshal(map[string]any{
		"version": 0.1, "log": map[string]any{"level": "error", "accesslog": map[string]any{"disabled": true}},
		"storage": map[string]any{"filesystem": map[string]any{"rootdirectory": filepath.Join(dir, "data")}},
		"http":    map[string]any{"addr": host, "secret": "secret"}, "auth": auth,
	})
	require.NoError(t, err)
	var out bytes.Buffer
	cmd := exec.Command(path, "serve", file("config.yml", config)) // JSON is YAML
	cmd.Env = []string{"OTEL_TRACES_EXPORTER=none"}
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	wait, err := child.Start(cmd)
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() { defer close(ended); _ = wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	require.Eventually(t, func() bool {
		select {
		case <-ended:
			require.Fail(t, "the registry ended", out.String())
		default:
		}
		answer, err := http.Get("http://" + host + "/v2/")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusUnauthorized
	}, time.Minute, 20*time.Millisecond)
	return Registry{Host: host}
}

// tokenServer gives tokens to the account, for what it asks for, and returns its address and its keys.
func tokenServer(t testing.TB) (realm string, keys []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	text := base64.RawURLEncoding.EncodeToString
	point, err := key.PublicKey.Bytes()
	require.NoError(t, err)
	keys, err = json.Marshal(map[string]any{"keys": []any{map[string]string{
		"kty": "EC", "crv": "P-256", "kid": "key", "alg": "ES256", "use": "sig", "x": text(point[1:33]), "y": text(point[33:]),
	}}})
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != User || password != Password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		access := []any{}
		for _, scope := range r.URL.Query()["scope"] {
			if p := strings.Split(scope, ":"); len(p) == 3 {
				access = append(access, map[string]any{"type": p[0], "name": p[1], "actions": strings.Split(p[2], ",")})
			}
		}
		now := time.Now()
		part := func(v any) string {
			raw, err := json.Marshal(v)
			if err != nil {
				panic(err)
			}
			return text(raw)
		}
		signed := part(map[string]string{"typ": "JWT", "alg": "ES256", "kid": "key"}) + "." + part(map[string]any{
			"iss": "issuer", "sub": User, "aud": r.URL.Query().Get("service"), "jti": rand.Text(), "access": access,
			"iat": now.Unix(), "nbf": now.Add(-time.Minute).Unix(), "exp": now.Add(10 * time.Minute).Unix(),
		})
		sum := sha256.Sum256([]byte(signed))
		a, b, err := ecdsa.Sign(rand.Reader, key, sum[:])
		if err != nil {
			panic(err)
		}
		raw := make([]byte, 64)
		a.FillBytes(raw[:32])
		b.FillBytes(raw[32:])
		_ = json.NewEncoder(w).Encode(map[string]any{"token": signed + "." + text(raw), "expires_in": 600})
	}))
	t.Cleanup(server.Close)
	return server.URL + "/token", keys
}
