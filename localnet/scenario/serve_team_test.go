//go:build e2e

package scenario

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// A team shares a server: each member does what its role may, budgets are the caps of session keys, and whoever steals the
// server's folder can spend what is left of them, which the server shows, and no more. No log has a secret.
func TestATeamSharesAServer(t *testing.T) {
	t.Parallel()
	params := seed.Params()
	params.AwardDeadlineSecs, params.StartDeadlineSecs = 60, 120
	n := teamNetwork(t, params, 2)
	s := newTeamServer(t, n, map[string]market.USDC{"main": 600_000, "ops": 400_000})
	s.team(nil, "member", "set", "vic", "--role", "viewer")
	var x struct{ Token string }
	s.team(&x, "token", "add", "vic", "ci-vic")
	s.tokens["vic"] = x.Token
	var said [][]byte // every answer
	ask := func(want int, who, method, path, key string, body any) []byte {
		t.Helper()
		status, raw, err := s.ask(method, path, s.tokens[who], key, body)
		require.NoError(t, err)
		require.Equal(t, want, status, "%s %s %s: %s", who, method, path, raw)
		said = append(said, raw)
		return raw
	}
	order := map[string]any{
		"gpu": "A100", "seconds": 300, "maxPricePerGpuHour": "1.3", "allowSimulated": true, "command": []string{"sleep", "300"}, "env": map[string]string{"PASSWORD": "hunter2"},
	}
	buy := func(who string) string {
		t.Helper()
		var got struct {
			Leases []struct{ Address string }
		}
		// On a busy machine it is still being bought when the server answers first.
		require.Eventually(t, func() bool {
			status, raw, err := s.ask(http.MethodPost, "/v1/orders", s.tokens[who], "one", order)
			require.NoError(t, err)
			said = append(said, raw)
			if status == http.StatusAccepted {
				return false
			}
			require.Equal(t, http.StatusCreated, status, "%s", raw)
			require.NoError(t, json.Unmarshal(raw, &got))
			return true
		}, 3*time.Minute, time.Second)
		require.Len(t, got.Leases, 1)
		return got.Leases[0].Address
	}

	// Roles. A key of a request is its budget's own.
	require.Contains(t, string(ask(http.StatusForbidden, "vic", http.MethodPost, "/v1/orders", "one", order)), "deployer")
	require.Contains(t, string(ask(http.StatusForbidden, "ops", http.MethodGet, "/v1/team/log", "", nil)), "owner")
	mine, theirs := buy("ops"), buy("main")
	require.NotEqual(t, mine, theirs)
	require.Equal(t, mine, buy("ops"))
	ask(http.StatusOK, "vic", http.MethodGet, "/v1/leases/"+mine, "", nil)
	for who, leases := range map[string][]string{"vic": {mine, theirs}, "ops": {theirs}} {
		for _, lease := range leases {
			require.Contains(t, string(ask(http.StatusForbidden, who, http.MethodPost, "/v1/leases/"+lease+"/stop", "", nil)), "ask an owner")
			ask(http.StatusForbidden, who, http.MethodPost, "/v1/leases/"+lease+"/extend", "more", map[string]any{"seconds": 60})
			ask(http.StatusForbidden, who, http.MethodPost, "/v1/leases/"+lease+"/forwards", "", map[string]any{"port": 80})
		}
	}
	ask(http.StatusOK, "ops", http.MethodPost, "/v1/leases/"+mine+"/extend", "more", map[string]any{"seconds": 60})
	ask(http.StatusOK, "ops", http.MethodPost, "/v1/leases/"+mine+"/extend", "more", map[string]any{"seconds": 60})
	cost := func(seconds uint32) market.USDC {
		c, err := market.Cost(market.PricePerHour(1_260_000), 1, seconds)
		require.NoError(t, err)
		return c
	}
	left := s.left()
	require.Equal(t, 600_000-cost(300), left["main"])
	require.Equal(t, 400_000-cost(300)-cost(60), left["ops"], "what a budget has spent follows from the chain; a repeated key spends once")
	ask(http.StatusConflict, "ops", http.MethodPost, "/v1/orders", "large", map[string]any{"gpu": "A100", "seconds": 3000, "maxPricePerGpuHour": "1.3", "allowSimulated": true, "command": []string{"true"}})
	s.team(nil, "token", "revoke", "ci-vic")
	require.Contains(t, string(ask(http.StatusUnauthorized, "vic", http.MethodGet, "/v1/leases", "", nil)), "revoked")

	// A thief copies the folder while the server runs.
	var shown struct{ AtRisk, Free string }
	require.NoError(t, json.Unmarshal(ask(http.StatusOK, "ops", http.MethodGet, "/v1/team/budgets", "", nil), &shown))
	stolen := filepath.Join(n.Dir(), "stolen")
	out, err := exec.CommandContext(t.Context(), "cp", "-r", s.state, stolen).CombinedOutput()
	require.NoError(t, err, "%s", out)
	risk, err := market.ParseUSDC(shown.AtRisk)
	require.NoError(t, err)
	require.Equal(t, left["main"]+left["ops"], risk)
	got := thief(t, s, stolen)
	require.LessOrEqual(t, got, risk)
	require.Less(t, risk-got, 2*cost(market.HeldSecs(60, params.StartDeadlineSecs)), "the thief had all but less than a minute's order of each key")
	// Only now: what a lease that ends gives back could be spent, too. Orders of the thief that reach no machine give theirs back.
	ask(http.StatusOK, "main", http.MethodPost, "/v1/leases/"+mine+"/stop", "", nil)

	// A certificate: the same server over TLS.
	s.kill()
	s.overTLS()
	s.kill()
	secrets := []string{"hunter2"}
	for _, token := range s.tokens {
		secrets = append(secrets, token)
	}
	noSecrets(t, s, stolen, secrets, said)
	s.logged()
}

// thief spends with every key that a stolen folder has, by itself and not with the server, until the program refuses, and says
// what it has reserved. There is nothing else in it that could.
func thief(t *testing.T, s *teamServer, stolen string) (reserved market.USDC) {
	t.Helper()
	keys := 0
	require.NoError(t, filepath.WalkDir(stolen, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		key, err := chain.LoadKeypair(path)
		if err != nil {
			return nil // it is another document
		}
		keys++
		before := spentBy(t, s, key.PublicKey())
		nonce := uint64(keys) << 32
		for _, seconds := range []uint32{300, 60} {
			for {
				nonce++
				instruction, err := ix.OrderCreate(ix.OrderCreateArgs{
					Customer: s.customer.Address(), Authority: key.PublicKey(), Nonce: nonce, GPUsPerNode: 1, Nodes: 1, Duration: seconds, MaxPrice: 1_260_000,
					Requirement: market.Requirement{Models: market.Models(1), AllowSimulated: 1}, JobDigest: [32]byte{1},
				})
				require.NoError(t, err)
				_, err = s.n.Sender().Send(t.Context(), key, nil, instruction)
				if err == nil {
					continue
				}
				require.ErrorContains(t, err, fmt.Sprintf("custom program error: %#x", int(bindings.ErrorCodeSessionCapExceeded)))
				break
			}
		}
		reserved += spentBy(t, s, key.PublicKey()) - before
		return nil
	}))
	require.Equal(t, 2, keys)
	return reserved
}

// spentBy is what a session key has reserved, by the chain.
func spentBy(t *testing.T, s *teamServer, key solana.PublicKey) market.USDC {
	t.Helper()
	c, known := snapshotOf(t, s.n).CreditsOf(s.customer.Address())
	require.True(t, known)
	k, named := c.SessionKeyOf(key)
	require.True(t, named)
	return market.USDC(k.Spent)
}

// noSecrets looks into the stolen folder for tokens, and into everything that was logged or answered for tokens, keys and the
// environment of jobs.
func noSecrets(t *testing.T, s *teamServer, stolen string, secrets []string, said [][]byte) {
	t.Helper()
	keys := []string{}
	files := 0
	look := func(root string, what []string) {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			files++
			for _, secret := range what {
				require.NotContains(t, string(raw), secret, "%s has a secret", path)
			}
			if key, err := chain.LoadKeypair(path); root == stolen && err == nil {
				keys = append(keys, key.String(), strings.TrimSpace(strings.Trim(string(raw), "[]\n")))
			}
			return nil
		}))
	}
	look(stolen, secrets[1:]) // a purchase that runs has its job's environment
	all := append(secrets, keys...)
	require.Len(t, keys, 4)
	look(filepath.Join(s.n.Dir(), "logs"), all)
	logs, err := filepath.Glob(filepath.Join(s.state, "*", "*", "team.*"))
	require.NoError(t, err)
	require.NotEmpty(t, logs)
	for _, path := range logs {
		look(path, all)
	}
	for _, raw := range said {
		for _, secret := range all {
			require.NotContains(t, string(raw), secret)
		}
	}
	info, err := os.Stat(s.log.Name())
	require.NoError(t, err)
	require.NotZero(t, info.Size(), "the server logs what it does")
	t.Logf("%d files have no secret", files)
}

// overTLS starts the server with a certificate and asks it.
func (s *teamServer) overTLS() {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(s.t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(s.t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(s.t, err)
	cert, private := filepath.Join(s.n.Dir(), "cert.pem"), filepath.Join(s.n.Dir(), "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(s.t, os.WriteFile(cert, text, 0o600))
	require.NoError(s.t, os.WriteFile(private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600))
	s.start("--tls-cert", cert, "--tls-key", private)
	require.True(s.t, strings.HasPrefix(s.url, "https://"), s.url)
	pool := x509.NewCertPool()
	require.True(s.t, pool.AppendCertsFromPEM(text))
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/v1/team/me", nil)
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+s.tokens["ops"])
	res, err := client.Do(r)
	require.NoError(s.t, err)
	require.NoError(s.t, res.Body.Close())
	require.Equal(s.t, http.StatusOK, res.StatusCode)
	_, err = http.Get("http" + strings.TrimPrefix(s.url, "https") + "/health")
	if err == nil {
		s.t.Log("plain HTTP is answered with an error of TLS")
	}
}
