package cli_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/token"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/browser"
	"github.com/gantry-market/gantry/internal/testkit/syncbuf"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/internal/testtool"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// stockClient is the folder of the stock Solana Pay client.
const stockClient = "../solanapay/testdata/client"

// tlsProxy is a proxy with TLS, as one stands before a server whose --public-url wallets ask. The server may come
// later.
type tlsProxy struct {
	*httptest.Server
	cert string // file of its certificate

	mu sync.Mutex
	to *url.URL
}

func newProxy(t *testing.T) *tlsProxy {
	t.Helper()
	p := &tlsProxy{}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		p.mu.Lock()
		defer p.mu.Unlock()
		r.SetURL(p.to)
		r.Out.Host = r.In.Host
	}}
	p.Server = httptest.NewTLSServer(forward)
	t.Cleanup(p.Close)
	p.cert = filepath.Join(t.TempDir(), "cert.pem")
	require.NoError(t, os.WriteFile(p.cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}), 0o600))
	return p
}

func (p *tlsProxy) leadTo(t *testing.T, at string) {
	t.Helper()
	u, err := url.Parse(at)
	require.NoError(t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = u
}

// stockPay follows a link with the stock Solana Pay client in Node, as a wallet with a key.
func stockPay(t *testing.T, w *testmarket.Testbed, p *tlsProxy, link string, key solana.PrivateKey, more ...string) (out struct {
	Label, Signature string
	Signers          []string
}, err error,
) {
	t.Helper()
	err = stock(t, w, p, "pay", key, &out, append([]string{link}, more...)...)
	return out, err
}

// stock runs a stock client in Node, of a package @solana/PACKAGE, as a wallet with a key, and decodes what it prints.
func stock(t *testing.T, w *testmarket.Testbed, p *tlsProxy, of string, key solana.PrivateKey, into any, args ...string) error {
	t.Helper()
	script, ok := map[string]string{"pay": "pay.mjs", "actions": "act.mjs"}[of]
	require.True(t, ok, of)
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("SKIPPED: no node, with which the stock client @solana/%s runs", of)
	}
	if _, err := os.Stat(filepath.Join(stockClient, "node_modules", "@solana", of)); err != nil {
		t.Skipf("SKIPPED: the stock client @solana/%s is missing: scripts/toolchain.sh clients", of)
	}
	file := filepath.Join(t.TempDir(), "wallet.json")
	require.NoError(t, chain.SaveKeypair(file, key))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", slices.Concat([]string{filepath.Join(stockClient, script)}, args[:1], []string{w.Endpoint.RPC, file}, args[1:])...)
	cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+p.cert, "no_proxy=*")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	raw, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, errs.String())
	}
	return json.Unmarshal(raw, into)
}

func creditsOf(t *testing.T, w *testmarket.Testbed, customer solana.PublicKey) market.USDC {
	t.Helper()
	c, _, err := query.Find[market.Credits](t.Context(), w.Client, market.CreditsAddress(customer), chain.Confirmed)
	require.NoError(t, err)
	return market.USDC(c.Balance)
}

// A wallet on a phone follows the link of `gantry credits pay`, by the stock client: its credits rise, and the command
// says so. Another account gets nothing to sign.
func TestCreditsPay(t *testing.T) {
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	customer, stranger := w.Customer(50*market.OneUSDC, 0), w.Customer(50*market.OneUSDC, 0)
	me := newShell(t, w, customer)
	me.fails(cli.ExitUsage, "--public-url is missing", "credits", "pay", "10")
	me.fails(cli.ExitUsage, "is not an https:// address", "credits", "pay", "10", "--public-url", "http://gantry.example")
	me.fails(cli.ExitUsage, "amount out of range", "credits", "pay", "10001", "--public-url", "https://gantry.example")
	me.fails(cli.ExitUsage, "not on loopback", "credits", "pay", "10", "--public-url", "https://gantry.example", "--listen", "0.0.0.0:0")
	var shown struct{ Link string }
	me.ok(&shown, "credits", "pay", "10", "--transfer")
	require.Equal(t, "solana:"+customer.PublicKey().String()+"?amount=10&label=USDC%20to%20your%20wallet&spl-token="+w.PaymentMint.String(), shown.Link)

	proxy := newProxy(t)
	picture := filepath.Join(t.TempDir(), "code.svg")
	listen := freeAddress(t)
	proxy.leadTo(t, "http://"+listen)
	all := append(append([]string{}, me.args...), "--json", "credits", "pay", "10", "--public-url", proxy.URL, "--listen", listen, "--qr-file", picture, "--lasts", "2m")
	cmd := exec.Command(os.Args[0], all...)
	cmd.Env = append(append(os.Environ(), asCommand+"=1"), me.env...)
	var errs syncbuf.Buffer
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	require.NoError(t, json.NewDecoder(stdout).Decode(&shown), errs.String())
	require.True(t, strings.HasPrefix(shown.Link, "solana:"+proxy.URL+"/pay/"), shown.Link)
	svg, err := os.ReadFile(picture)
	require.NoError(t, err)
	require.Contains(t, string(svg), "<svg")

	_, err = stockPay(t, w, proxy, shown.Link, stranger, "fetch")
	require.ErrorContains(t, err, "missing transaction")
	paid, err := stockPay(t, w, proxy, shown.Link, customer)
	require.NoError(t, err, errs.String())
	require.Equal(t, "Gantry credits", paid.Label)
	require.Equal(t, []string{customer.PublicKey().String()}, paid.Signers)
	require.NoError(t, cmd.Wait(), errs.String())
	require.Contains(t, errs.String(), paid.Signature)
	require.Equal(t, 10*market.OneUSDC, creditsOf(t, w, customer.PublicKey()))
	require.Zero(t, creditsOf(t, w, stranger.PublicKey()))
}

const webhookSecret = "whsec_4eC39HqLyjWDarjtT1zdp7dc"

// webhook delivers a purchase as Stripe's crypto onramp would, by its documented formula.
func webhook(t *testing.T, at, event string, wallet solana.PublicKey, transfer solana.Signature) (int, string) {
	t.Helper()
	body := fmt.Sprintf(`{"id":%q,"type":"crypto.onramp_session.updated","data":{"object":{"id":"cos_1","object":"crypto.onramp_session","status":"fulfillment_complete",`+
		`"transaction_details":{"destination_currency":"usdc","destination_network":"solana","destination_amount":"999999","transaction_id":%q,"wallet_address":%q}}}}`, event, transfer, wallet)
	now := time.Now().Unix()
	m := hmac.New(sha256.New, []byte(webhookSecret))
	fmt.Fprintf(m, "%d.%s", now, body)
	r, err := http.NewRequest(http.MethodPost, at+"/onramp/stripe", strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Stripe-Signature", fmt.Sprintf("t=%d,v1=%s", now, hex.EncodeToString(m.Sum(nil))))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	var b bytes.Buffer
	_, _ = b.ReadFrom(res.Body)
	return res.StatusCode, b.String()
}

type notice struct{ ID, State, Reported, Arrived string }

func (v *served) notices() []notice {
	v.t.Helper()
	var out struct{ Notices []notice }
	require.Equal(v.t, http.StatusOK, v.ask(http.MethodGet, "/v1/credits/onramp", nil, nil, &out))
	return out.Notices
}

// An on-ramp delivers USDC to the customer's own wallet, and says so by a webhook: the server looks at the chain,
// prepares the deposit, a stock Solana Pay client signs it, and the credits rise. Killed at any moment, it takes no
// event twice.
func TestOnramp(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	customer, onramp := w.Customer(5*market.OneUSDC, market.OneUSDC), w.Customer(50*market.OneUSDC, 0)
	me, _ := sessionShell(t, w, customer, "1")
	secret := filepath.Join(t.TempDir(), "webhook.secret")
	require.NoError(t, os.WriteFile(secret, []byte(webhookSecret+"\n"), 0o644))
	me.fails(cli.ExitUsage, "others can read", "serve", "--onramp", "stripe="+secret)
	require.NoError(t, os.Chmod(secret, 0o600))
	me.fails(cli.ExitUsage, "no such on-ramp", "serve", "--onramp", "nobody="+secret)
	me.fails(cli.ExitUsage, "not NAME=FILE", "serve", "--onramp", secret)
	proxy := newProxy(t)
	args := []string{"--public-url", proxy.URL, "--onramp", "stripe=" + secret}
	v := me.serve(args...)
	proxy.leadTo(t, v.url)
	kept := v.token

	var ways struct {
		Wallet, Transfer string
		Payments         bool
		Onramps          []string
	}
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, "/v1/credits/ways", nil, nil, &ways))
	require.Equal(t, customer.PublicKey().String(), ways.Wallet)
	require.True(t, ways.Payments)
	require.Equal(t, []string{"stripe"}, ways.Onramps)

	code, out := webhook(t, v.url, "evt_0", customer.PublicKey(), solana.Signature{9})
	require.Equal(t, http.StatusOK, code, out)
	require.Equal(t, []notice{{ID: "stripe/evt_0", State: "reported", Reported: "999999"}}, v.notices(), "nothing has arrived")

	send, err := token.NewTransferCheckedInstruction(uint64(7*market.OneUSDC), market.USDCDecimals, market.TokenAddress(onramp.PublicKey(), w.PaymentMint), w.PaymentMint,
		market.TokenAddress(customer.PublicKey(), w.PaymentMint), onramp.PublicKey(), nil).ValidateAndBuild()
	sent := w.Do("transfer", []solana.PrivateKey{onramp}, send, err)

	// The server is killed while webhooks come: each is taken once.
	for range 3 {
		done := make(chan struct{})
		go func(at string) {
			defer close(done)
			for range 20 {
				_, _ = webhook(t, at, "evt_1", customer.PublicKey(), sent.Signature)
			}
		}(v.url)
		time.Sleep(20 * time.Millisecond)
		v.kill()
		<-done
		v = me.serve(args...)
		v.token = kept
		proxy.leadTo(t, v.url)
	}
	code, _ = webhook(t, v.url, "evt_1", customer.PublicKey(), sent.Signature)
	require.Equal(t, http.StatusOK, code)
	code, out = webhook(t, v.url, "evt_1", customer.PublicKey(), sent.Signature)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, out, `"duplicate":true`)
	arrived := func() (all []notice) {
		for _, n := range v.notices() {
			if n.State == "arrived" {
				all = append(all, n)
			}
		}
		return all
	}
	require.Eventually(t, func() bool { return len(arrived()) == 1 }, 20*time.Second, 200*time.Millisecond, "%v", v.notices())
	require.Equal(t, notice{ID: "stripe/evt_1", State: "arrived", Reported: "999999", Arrived: "7.00"}, arrived()[0], "the chain's amount counts")
	require.Equal(t, market.OneUSDC, creditsOf(t, w, customer.PublicKey()), "a webhook moves nothing")

	v.inBrowser()

	var p struct{ ID, Link, State, Transaction string }
	require.Equal(t, http.StatusCreated, v.ask(http.MethodPost, "/v1/credits/payments", map[string]any{"amount": arrived()[0].Arrived}, nil, &p))
	require.Equal(t, "waiting", p.State)
	paid, err := stockPay(t, w, proxy, p.Link, customer)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return v.ask(http.MethodGet, "/v1/credits/payments/"+p.ID, nil, nil, &p) == http.StatusOK && p.State == "paid"
	}, 20*time.Second, 200*time.Millisecond)
	require.Equal(t, paid.Signature, p.Transaction)
	require.Equal(t, 8*market.OneUSDC, creditsOf(t, w, customer.PublicKey()))

	var refusal problem
	for amount, want := range map[string]string{"0": "amount out of range", "10000.01": "amount out of range"} {
		require.Equal(t, http.StatusBadRequest, v.ask(http.MethodPost, "/v1/credits/payments", map[string]any{"amount": amount}, nil, &refusal))
		require.Contains(t, refusal.Detail, want)
	}
	require.Equal(t, http.StatusUnprocessableEntity, v.ask(http.MethodPost, "/v1/credits/payments", map[string]any{"amount": "x"}, nil, &refusal))
	require.Equal(t, http.StatusNotFound, v.ask(http.MethodGet, "/v1/credits/payments/AAAAAAAAAAAAAAAAAAAAAA", nil, nil, &refusal))
	v.kill()
	v = me.serve()
	v.token = kept
	require.Equal(t, http.StatusConflict, v.ask(http.MethodPost, "/v1/credits/payments", map[string]any{"amount": "1"}, nil, &refusal))
	require.Contains(t, refusal.NextStep, "--public-url")
	code, _ = webhook(t, v.url, "evt_2", customer.PublicKey(), sent.Signature)
	require.NotEqual(t, http.StatusOK, code, "a server without the secret takes no webhook")
}

// inBrowser opens a payment on the page, where there is a browser; another program reads its QR code.
func (v *served) inBrowser() {
	v.t.Run("page", func(t *testing.T) {
		picture := filepath.Join(t.TempDir(), "code.png")
		_, link, found := strings.Cut(browser.Run(t, 2*time.Minute, "credits.mjs", v.page, picture), "link ")
		require.True(t, found)
		f, err := os.Open(picture)
		require.NoError(t, err)
		defer f.Close()
		read, err := testtool.Run(t.Context(), f, "qr")
		require.NoError(t, err)
		require.Equal(t, strings.TrimSpace(link), string(read))
	})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	at := s.Listener.Addr().String()
	require.NoError(t, s.Listener.Close())
	return at
}
