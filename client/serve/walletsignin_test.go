package serve

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/client/wallet"
	"github.com/gantry-market/gantry/web"
)

// here is the name by which the tests call a server.
const here = "127.0.0.1:8484"

// noWallet is on a local network and builds nothing.
type noWallet struct{}

func (noWallet) Build(context.Context, wallet.Request) (wallet.Transaction, error) {
	return wallet.Transaction{}, service.Refused("nothing is built", "")
}

func (noWallet) Submit(context.Context, string, []byte) (service.Sent, error) {
	return service.Sent{}, service.Refused("nothing is sent", "")
}
func (noWallet) Funds(context.Context) (wallet.Funds, error) { return wallet.Funds{}, nil }
func (noWallet) Chain(context.Context) (string, error)       { return "solana:localnet", nil }
func body(t *testing.T, v any) string {
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

func jsonHeader(more map[string]string) (h map[string]string) {
	h = map[string]string{"Content-Type": "application/json"}
	for k, v := range more {
		h[k] = v
	}
	return h
}

// walletSigned is a server for a wallet, with a clock that the test sets.
func walletSigned(t *testing.T) (s *Server, key solana.PrivateKey, now *time.Time) {
	t.Helper()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	files, err := web.Files(true)
	require.NoError(t, err)
	s = New(Options{Store: testStore(t), Page: files, Wallet: noWallet{}, Customer: key.PublicKey(), Local: true, Log: zerolog.Nop()})
	at := time.Unix(1_700_000_000, 0)
	s.challenges.now, s.signIns.now = func() time.Time { return at }, func() time.Time { return at }
	return s, key, &at
}

func challengeOf(t *testing.T, s *Server, key solana.PrivateKey, header map[string]string) Challenge {
	t.Helper()
	w, _ := ask(t, s, http.MethodPost, challengePath, body(t, map[string]string{"account": key.PublicKey().String()}), jsonHeader(header))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	var c Challenge
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &c))
	return c
}

// answerTo signs a challenge, or another text in its place.
func answerTo(t *testing.T, s *Server, key solana.PrivateKey, c Challenge, text string, header map[string]string) (status int, token, why string) {
	t.Helper()
	sig, err := key.Sign([]byte(text))
	require.NoError(t, err)
	w, _ := ask(t, s, http.MethodPost, walletPath, body(t, map[string]string{
		"account": c.Address, "nonce": c.Nonce, "issuedAt": c.IssuedAt, "message": base64.StdEncoding.EncodeToString([]byte(text)), "signature": base64.StdEncoding.EncodeToString(sig[:]),
	}), jsonHeader(header))
	var out struct{ Token, Detail string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out))
	return w.Code, out.Token, out.Detail
}

// A member's wallet signs its browser in, with the member's role; another wallet's signature does not.
func TestAMembersWalletSignsIn(t *testing.T) {
	s, _, _ := walletSigned(t)
	teams, err := team.Open(t.TempDir())
	require.NoError(t, err)
	s.o.Team = teams
	mine, other := solana.NewWallet(), solana.NewWallet()
	by := team.Caller{Member: team.MemberServer}
	for name, w := range map[string]*solana.Wallet{"vic": mine, "eve": other} {
		require.NoError(t, teams.PutMember(by, team.Member{Name: name, Role: team.Viewer, Wallet: w.PublicKey().String()}))
	}
	c := challengeOf(t, s, mine.PrivateKey, nil)
	code, _, _ := answerTo(t, s, other.PrivateKey, c, c.Message, nil)
	require.Equal(t, http.StatusUnauthorized, code)
	code, token, _ := answerTo(t, s, mine.PrivateKey, c, c.Message, nil)
	require.Equal(t, http.StatusOK, code)
	who, err := s.caller(token)
	require.NoError(t, err)
	require.Equal(t, team.Caller{Member: "vic", Token: team.TokenPage, Role: team.Viewer}, who)
	lines, _, err := teams.Lines(0, true, 2)
	require.NoError(t, err)
	require.Equal(t, "sign-in", lines[0].Action)
	require.Equal(t, "vic", lines[0].Member)
	// The page's transactions are the customer's.
	w, _ := ask(t, s, http.MethodPost, "/page/transactions", `{"kind": "deposit"}`, jsonHeader(map[string]string{"Authorization": "Bearer " + token}))
	require.Equal(t, http.StatusForbidden, w.Code, w.Body)
	require.NoError(t, teams.RemoveMember(by, "vic"))
	_, err = s.caller(token)
	require.ErrorIs(t, err, team.ErrEnded)
}

// A wallet signs a browser in with a text that is good once.
func TestWalletSignsIn(t *testing.T) {
	s, key, now := walletSigned(t)
	c := challengeOf(t, s, key, nil)
	require.Contains(t, c.Message, here+" wants you to sign in with your Solana account:\n"+key.PublicKey().String()+"\n\n"+statement)
	require.Equal(t, "solana:localnet", c.ChainID)
	code, token, _ := answerTo(t, s, key, c, c.Message, nil)
	require.Equal(t, http.StatusOK, code)
	who, err := s.caller(token)
	require.NoError(t, err)
	require.Equal(t, owner(team.MemberCustomer, team.TokenPage), who)

	code, token, why := answerTo(t, s, key, c, c.Message, nil)
	require.Equal(t, http.StatusUnauthorized, code)
	require.Empty(t, token)
	require.Contains(t, why, "already")

	// Another is good, until it is too old; and one that is used stays used as long as it could be good.
	late := challengeOf(t, s, key, nil)
	*now = now.Add(challengeLasts - time.Second)
	code, _, why = answerTo(t, s, key, c, c.Message, nil)
	require.Equal(t, http.StatusUnauthorized, code, why)
	code, _, _ = answerTo(t, s, key, late, late.Message, nil)
	require.Equal(t, http.StatusOK, code)
	old := challengeOf(t, s, key, nil)
	*now = now.Add(challengeLasts)
	code, _, why = answerTo(t, s, key, old, old.Message, nil)
	require.Equal(t, http.StatusUnauthorized, code)
	require.Contains(t, why, "older than")
}

// What is not the text of this server, for this wallet and this host, signed by this wallet, signs no one in.
func TestWalletSignInIsCompared(t *testing.T) {
	s, key, _ := walletSigned(t)
	stranger, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	w, p := ask(t, s, http.MethodPost, challengePath, body(t, map[string]string{"account": stranger.PublicKey().String()}), jsonHeader(nil))
	require.Equal(t, http.StatusForbidden, w.Code)
	require.NotContains(t, p.Detail, key.PublicKey().String(), "it does not say whose it is")

	c := challengeOf(t, s, key, nil)
	refused := func(c Challenge, by solana.PrivateKey, text string, header map[string]string) {
		t.Helper()
		code, token, why := answerTo(t, s, by, c, text, header)
		require.Equal(t, http.StatusUnauthorized, code, why)
		require.Empty(t, token)
	}
	refused(c, stranger, c.Message, nil)
	refused(c, key, c.Message+" ", nil)
	refused(c, key, strings.Replace(c.Message, here, "localhost:8484", 1), nil)
	refused(c, key, c.Message, map[string]string{"Host": "localhost:8484"}) // it was made for another name
	later := c
	later.IssuedAt = time.Unix(1_700_000_200, 0).UTC().Format(time.RFC3339)
	refused(later, key, c.Message, nil)
	later.Message = s.challenges.at(here, key.PublicKey().String(), "solana:localnet", c.Nonce, time.Unix(1_700_000_200, 0)).Message
	refused(later, key, later.Message, nil)
	made := c
	made.Nonce = strings.Repeat("0", 56)
	refused(made, key, s.challenges.at(here, key.PublicKey().String(), "solana:localnet", made.Nonce, time.Unix(1_700_000_000, 0)).Message, nil)
	before, _, _ := walletSigned(t) // another server, or this one before it was started again
	foreign := before.challenges.offer(here, key.PublicKey().String(), "solana:localnet")
	refused(foreign, key, foreign.Message, nil)
	code, _, why := answerTo(t, s, key, c, c.Message, nil)
	require.Equal(t, http.StatusOK, code, why)

	// What needs a token still does.
	for _, at := range []struct{ method, path string }{{http.MethodGet, "/page/funds"}, {http.MethodPost, "/page/transactions"}, {http.MethodPost, "/page/transactions/x"}} {
		w, _ := ask(t, s, at.method, at.path, "{}", jsonHeader(nil))
		require.Equal(t, http.StatusUnauthorized, w.Code, at.path)
	}
}

// The wallet for development is served for local networks only.
func TestDevelopmentWalletIsLocal(t *testing.T) {
	for _, local := range []bool{true, false} {
		files, err := web.Files(local)
		require.NoError(t, err)
		s := New(Options{Store: testStore(t), Page: files, Wallet: noWallet{}, Local: local, Log: zerolog.Nop()})
		w, _ := ask(t, s, http.MethodGet, "/page/local/wallet.js", "", nil)
		require.Equal(t, local, w.Code == http.StatusOK, w.Code)
		w, _ = ask(t, s, http.MethodGet, "/page/main.js", "", nil)
		require.Equal(t, http.StatusOK, w.Code)
	}
}
