package browserwallet

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/txm"
)

// tabOf is a page of the wallet, without a browser.
type tabOf struct {
	t     *testing.T
	base  string
	code  string
	token string
}

// begin opens a wallet, whose page a tab has opened.
func begin(t *testing.T, o Options) (tab *tabOf, opened chan *Wallet, failed chan error) {
	t.Helper()
	links := make(chan string, 1)
	o.Announce, o.Log = func(url string) { links <- url }, zerolog.Nop()
	if o.Chain == "" {
		o.Chain = "solana:localnet"
	}
	opened, failed = make(chan *Wallet, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		w, err := Open(ctx, o)
		if err != nil {
			failed <- err
			return
		}
		opened <- w
	}()
	base, code, found := strings.Cut(<-links, "/#code=")
	require.True(t, found)
	return &tabOf{t: t, base: base, code: code}, opened, failed
}

func (p *tabOf) ask(method, path string, body, into any, header ...string) int {
	p.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(p.t, err)
	r, err := http.NewRequest(method, p.base+path, bytes.NewReader(raw))
	require.NoError(p.t, err)
	r.Header.Set("Authorization", "Bearer "+p.token)
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(p.t, err)
	defer res.Body.Close()
	if into != nil {
		require.NoError(p.t, json.NewDecoder(res.Body).Decode(into))
	}
	return res.StatusCode
}

func (p *tabOf) signIn() {
	p.t.Helper()
	var in struct{ Token, Chain string }
	require.Equal(p.t, http.StatusOK, p.ask(http.MethodPost, "/sign/session", map[string]string{"code": p.code}, &in))
	require.Equal(p.t, "solana:localnet", in.Chain)
	p.token = in.Token
}

func transferBy(t *testing.T, by solana.PublicKey, n uint64) []byte {
	t.Helper()
	tx, err := solana.NewTransaction([]solana.Instruction{system.NewTransferInstruction(n, by, solana.PublicKey{2}).Build()}, solana.Hash{1}, solana.TransactionPayer(by))
	require.NoError(t, err)
	raw, err := tx.Message.MarshalBinary()
	require.NoError(t, err)
	return raw
}

func newKey(t *testing.T) solana.PrivateKey {
	t.Helper()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return key
}

// Only the tab with the code is answered, from its own origin and by the address that was printed.
func TestGuard(t *testing.T) {
	p, _, _ := begin(t, Options{})
	session := map[string]string{"code": p.code}
	require.Equal(t, http.StatusMisdirectedRequest, p.ask(http.MethodPost, "/sign/session", session, nil, "Host", "evil.example"))
	require.Equal(t, http.StatusMisdirectedRequest, p.ask(http.MethodGet, "/", nil, nil, "Host", "evil.example"))
	for _, header := range [][]string{{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}} {
		require.Equal(t, http.StatusForbidden, p.ask(http.MethodPost, "/sign/session", session, nil, header...), header)
	}
	require.Equal(t, http.StatusUnauthorized, p.ask(http.MethodPost, "/sign/session", map[string]string{"code": "x"}, nil))
	require.Equal(t, http.StatusUnauthorized, p.ask(http.MethodGet, "/sign/request", nil, nil))
	p.signIn()
	require.Equal(t, http.StatusUnauthorized, p.ask(http.MethodPost, "/sign/session", session, nil), "the code is good once")
	require.Equal(t, http.StatusOK, p.ask(http.MethodGet, "/sign/request", nil, nil))
	require.Equal(t, http.StatusBadRequest, p.ask(http.MethodPost, "/sign/account", strings.Repeat("x", 2*maxBody), nil))
	p.token = "x"
	require.Equal(t, http.StatusUnauthorized, p.ask(http.MethodGet, "/sign/request", nil, nil))
	for _, path := range []string{"/", "/page/signing.js", "/page/wallet.js"} {
		res, err := http.Get(p.base + path)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Contains(t, res.Header.Get("Content-Security-Policy"), "script-src 'self'")
	}
	res, err := http.Get(p.base + "/page/local/wallet.js")
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusNotFound, res.StatusCode, "not of a local network")
}

func TestSign(t *testing.T) {
	key, other := newKey(t), newKey(t)
	p, opened, _ := begin(t, Options{Expect: key.PublicKey()})
	p.signIn()
	require.Equal(t, http.StatusForbidden, p.ask(http.MethodPost, "/sign/account", map[string]string{"account": other.PublicKey().String()}, nil))
	require.Equal(t, http.StatusForbidden, p.ask(http.MethodPost, "/sign/account", map[string]string{"account": "x"}, nil))
	require.Equal(t, http.StatusNoContent, p.ask(http.MethodPost, "/sign/account", map[string]string{"account": key.PublicKey().String()}, nil))
	w := <-opened
	defer w.Close()
	require.Equal(t, key.PublicKey(), w.PublicKey())

	type signedBy struct {
		sig solana.Signature
		err error
	}
	message := transferBy(t, key.PublicKey(), 7)
	done := make(chan signedBy, 1)
	start := func(message []byte) {
		go func() {
			sig, err := w.Sign(message)
			done <- signedBy{sig, err}
		}()
	}
	next := func(known string) (out shown) {
		for out.State != "sign" {
			require.Equal(t, http.StatusOK, p.ask(http.MethodGet, "/sign/request?known="+known, nil, &out))
		}
		return out
	}
	start(message)
	out := next("")
	require.Equal(t, "Sends 0.000000007 SOL to "+solana.PublicKey{2}.String()+".", out.Effects[0])
	require.Contains(t, out.Effects[1], "0.000005 SOL")
	signed := func(message []byte, by solana.PrivateKey) map[string]any {
		sig, err := by.Sign(message)
		require.NoError(t, err)
		return map[string]any{"signed": append(append([]byte{1}, sig[:]...), message...)}
	}
	// Another transaction, another key, an unsigned one, one with more bytes.
	for _, bad := range []map[string]any{
		signed(transferBy(t, key.PublicKey(), 8), key), signed(message, other), {"signed": out.Transaction}, {"signed": append(bytes.Clone(out.Transaction), 0)}, {"signed": []byte{}},
	} {
		require.Equal(t, http.StatusConflict, p.ask(http.MethodPost, "/sign/request/1", bad, nil))
	}
	require.Equal(t, http.StatusConflict, p.ask(http.MethodPost, "/sign/request/2", signed(message, key), nil))
	require.Equal(t, http.StatusNoContent, p.ask(http.MethodPost, "/sign/request/1", signed(message, key), nil))
	got := <-done
	require.NoError(t, got.err)
	require.True(t, got.sig.Verify(key.PublicKey(), message))
	require.Equal(t, http.StatusConflict, p.ask(http.MethodPost, "/sign/request/1", signed(message, key), nil), "it is over")

	// One that has waited is built anew; one that is refused is not tried again.
	start(message)
	out = next("idle:x")
	var fresh struct{ Fresh bool }
	require.Equal(t, http.StatusOK, p.ask(http.MethodPost, "/sign/request/2/fresh", nil, &fresh))
	require.True(t, fresh.Fresh)
	w.mu.Lock()
	w.request.at = time.Now().Add(-freshFor)
	w.mu.Unlock()
	require.Equal(t, http.StatusOK, p.ask(http.MethodPost, "/sign/request/2/fresh", nil, &fresh))
	require.False(t, fresh.Fresh)
	require.ErrorIs(t, (<-done).err, txm.ErrStale)
	start(message)
	out = next("2")
	require.Equal(t, http.StatusNoContent, p.ask(http.MethodPost, "/sign/request/3/refuse", nil, nil))
	var refused *txm.TxError
	require.ErrorAs(t, (<-done).err, &refused)
	// A message that another has to sign, and none.
	_, err := w.Sign(transferBy(t, other.PublicKey(), 1))
	require.ErrorAs(t, err, &refused)
	_, err = w.Sign([]byte{1, 2, 3})
	require.ErrorAs(t, err, &refused)
	// The end of the command ends the wait.
	start(message)
	next("3")
	w.Close()
	require.ErrorAs(t, (<-done).err, &refused)
}

func TestInterrupted(t *testing.T) {
	_, _, failed := begin(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Open(ctx, Options{Chain: "solana:localnet", Announce: func(string) {}, Log: zerolog.Nop()})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, failed)
}

func TestParse(t *testing.T) {
	key, err := Parse("browser")
	require.NoError(t, err)
	require.True(t, key.IsZero())
	key, err = Parse("browser:" + solana.PublicKey{7}.String())
	require.NoError(t, err)
	require.Equal(t, solana.PublicKey{7}, key)
	for _, bad := range []string{"", "ledger", "browser:", "browser:x", "browser:" + solana.PublicKey{}.String()} {
		_, err := Parse(bad)
		require.ErrorIs(t, err, ErrFlag, bad)
	}
}

// The sentences are read from the bytes that are signed.
func TestDescribe(t *testing.T) {
	me, mint := solana.PublicKey{7}, solana.PublicKey{3}
	for want, build := range map[string]func() (solana.Instruction, error){
		"Moves 5.00 USDC from the wallet into its credits.": func() (solana.Instruction, error) {
			return ix.CreditsDeposit(ix.CreditsArgs{Customer: me, PaymentMint: mint, Amount: 5 * market.OneUSDC})
		},
		"Stakes 100 GNT of the wallet.": func() (solana.Instruction, error) {
			return ix.ProviderStake(ix.ProviderStakeArgs{Wallet: me, StakeMint: mint, Amount: 100 * market.OneGNT})
		},
		"Bonds 1000 GNT of the wallet as a keeper.": func() (solana.Instruction, error) {
			return ix.KeeperRegister(ix.KeeperRegisterArgs{Wallet: me, StakeMint: mint, Bond: 1000 * market.OneGNT, Multiaddr: "/ip4/127.0.0.1/tcp/1"})
		},
		"Lets the session key " + mint.String() + " reserve at most 9.00 USDC": func() (solana.Instruction, error) {
			return ix.CreditsSetSessionKey(ix.SessionKeyArgs{Customer: me, Key: mint, Cap: 9 * market.OneUSDC, Expiry: 1})
		},
		"Calls the program " + solana.PublicKey{9}.String() + " with 2 bytes, which this page does not know.": func() (solana.Instruction, error) {
			return solana.NewInstruction(solana.PublicKey{9}, nil, []byte{1, 2}), nil
		},
		"for which this page has no words": func() (solana.Instruction, error) {
			return solana.NewInstruction(market.ProgramID, nil, []byte{1, 2, 3}), nil
		},
	} {
		i, err := build()
		require.NoError(t, err)
		tx, err := solana.NewTransaction([]solana.Instruction{i}, solana.Hash{1}, solana.TransactionPayer(me))
		require.NoError(t, err)
		raw, err := tx.Message.MarshalBinary()
		require.NoError(t, err)
		got, err := Describe(raw)
		require.NoError(t, err)
		require.Contains(t, got[0], want)
	}
	_, err := Describe([]byte("nonsense"))
	require.Error(t, err)
}
