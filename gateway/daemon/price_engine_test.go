package daemon

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/token"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/gateway/toll"
	"github.com/gantry-market/gantry/internal/service"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

// asCommand makes the test's binary the customer's command line, so that it can be killed like any other process.
const asCommand = "GANTRY_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(cli.Run(context.Background(), cli.Streams{Out: os.Stdout, Err: os.Stderr}, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// priced is a gateway with a price before a lease whose machine and container are this process.
type priced struct {
	t        *testing.T
	w        *testmarket.Testbed
	g        *Gateway
	hub      *p2p.Node // the keeper's
	customer solana.PrivateKey
	lease    string
	via      string
	args     []string // of every command
	dir      string
	http     *http.Client
	url      string
}

const pageSize = 600_000

func newPriced(t *testing.T) *priced {
	w := testmarket.New(t, testmarket.Options{Limit: 5 * time.Minute})
	params := testmarket.FastParams()
	params.StartDeadlineSecs, params.AwardDeadlineSecs = 60, 60
	w.InitMarket(params)
	keeper, provider := w.Keeper(), w.Provider(100*market.OneGNT)
	nodeKey, node := w.Node(provider, testmarket.A100, 1, 3_600_000)
	p := &priced{t: t, w: w, customer: w.Customer(50*market.OneUSDC, 10*market.OneUSDC), dir: t.TempDir()}
	lease := w.Award(keeper, w.Order(p.customer, ix.OrderCreateArgs{
		Nonce: 1, MaxPrice: 3_600_000, Duration: 3600, Nodes: 1, GPUsPerNode: 1, Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	}), node)
	instruction, err := ix.LeaseStart(ix.LeaseStartArgs{Lease: lease})
	w.Do("lease_start", []solana.PrivateKey{nodeKey}, instruction, err)
	p.lease = lease.Address.String()

	hub, err := p2p.New(p2p.Options{Key: keeper, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	hub.ServeLookup(false)
	instruction, err = ix.KeeperUpdate(ix.KeeperUpdateArgs{Wallet: keeper.PublicKey(), Multiaddr: hub.Addrs()[0]})
	w.Do("keeper_update", []solana.PrivateKey{keeper}, instruction, err)
	p.hub = hub
	p.machine(nodeKey)
	p.gateway()

	path := filepath.Join(p.dir, "id.json")
	require.NoError(t, chain.SaveKeypair(path, p.customer))
	p.args = []string{"--url", w.Endpoint.RPC, "--ws", w.Endpoint.WS, "--keypair", path, "--state-dir", filepath.Join(p.dir, "state"), "--yes", "--json"}
	return p
}

// machine lets every gateway into a container with one page.
func (p *priced) machine(key solana.PrivateKey) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, pageSize)) }))
	p.t.Cleanup(site.Close)
	n, err := p2p.New(p2p.Options{Key: key, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = n.Close() })
	require.NoError(p.t, n.Connect(p.w.Ctx, p.hub.Self()))
	p2p.Handle(n, p2p.Protocol{ID: messages.Revoke, MaxRequest: 1 << 10, MaxResponse: 4 << 10}, func(context.Context, solana.PublicKey, messages.RevokeRequest) (messages.RevokeAnswer, error) {
		return messages.RevokeAnswer{Version: messages.Version}, nil
	})
	proto := p2p.Protocol{ID: messages.Guest, MaxRequest: 8 << 10, MaxResponse: 4 << 10, Public: true}
	p2p.HandleConn(n, proto, func(ctx context.Context, _ solana.PublicKey, _ messages.GuestRequest, accept func(messages.GuestAnswer) (net.Conn, error)) error {
		c, err := accept(messages.GuestAnswer{Version: messages.Version})
		if err != nil {
			return err
		}
		_ = tunnel.Serve(ctx, c, []uint16{8080}, func(ctx context.Context, _ uint16) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", site.Listener.Addr().String())
		})
		return nil
	})
}

// gateway starts one that gives away a megabyte and asks a dollar a GiB.
func (p *priced) gateway() {
	t := p.t
	key := testmarket.Key(t)
	c := Config{
		Client: p.w.Client, Key: key, Data: filepath.Join(p.dir, "gateway"), Domain: "gw.test", TLS: "127.0.0.1:0", Listen: p2p.LoopbackListen,
		Certificate: filepath.Join(p.dir, "cert"), CertificateKey: filepath.Join(p.dir, "key"), Limits: DefaultLimits(), Log: zerolog.Nop(),
		Price: Price{PerGiB: market.OneUSDC, Free: 1 << 20},
	}
	ready := make(chan struct{})
	c.Service = service.Manager{Send: func(state string) error {
		if state == "READY=1" {
			close(ready)
		}
		return nil
	}}
	writePair(t, &c, time.Now().Add(time.Hour), "*.gw.test")
	_, err := Open(p.w.Ctx, c)
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "has no account of the token")
	p.w.Give(key.PublicKey(), p.w.PaymentMint, 0)
	p.g, err = Open(p.w.Ctx, c)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(p.w.Ctx)
	done := make(chan error, 1)
	go func() { done <- p.g.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.NoError(t, p.g.Close())
	})
	select {
	case <-ready:
	case <-time.After(time.Minute):
		t.Fatal("systemd does not hear that the gateway serves")
	}
	p.via = p.g.net.Addrs()[0]
	raw, err := os.ReadFile(c.Certificate)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(raw)
	p.http = &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", p.g.tls.Addr().String())
		},
	}}
}

// run is a command of the customer.
func (p *priced) run(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = cli.Run(p.w.Ctx, cli.Streams{Out: &o, Err: &e}, append(append([]string{}, p.args...), args...))
	return code, o.String(), e.String()
}

func (p *priced) ok(into any, args ...string) {
	p.t.Helper()
	code, out, errs := p.run(args...)
	require.Zero(p.t, code, "%v: %s", args, errs)
	require.NoError(p.t, json.Unmarshal([]byte(out), into), out)
}

func (p *priced) fails(says string, args ...string) {
	p.t.Helper()
	code, out, errs := p.run(args...)
	require.Equal(p.t, cli.ExitRefused, code, "%v: %s%s", args, out, errs)
	require.Contains(p.t, errs, says)
}

// get fetches the page. An answer that ends within it is an error.
func (p *priced) get() (code int, body string, err error) {
	resp, err := p.http.Get(p.url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw), err
}

func (p *priced) received() uint64 {
	return p.w.Tokens(market.TokenAddress(p.g.c.Key.PublicKey(), p.w.PaymentMint))
}

type shownTerms struct {
	Price                string
	Free, FreeLeft, Left uint64
}

// TestALeaseIsPaidFor: what is free is used up, visitors are told what to pay, the customer pays, and all goes on.
func TestALeaseIsPaidFor(t *testing.T) {
	p := newPriced(t)
	var opened struct {
		URLs  map[string]string
		Terms shownTerms
	}
	p.fails("has no grant of yours", "gateway", "pay", p.lease, "--via", p.via, "--amount", "1")
	p.ok(&opened, "gateway", "open", p.lease, "--via", p.via, "--port", "8080:web")
	require.Equal(t, shownTerms{"1.00", 1 << 20, 1 << 20, 0}, opened.Terms)
	p.url = opened.URLs["8080"]
	code, _, err := p.get()
	require.NoError(t, err)
	require.Equal(t, 200, code)
	_, _, err = p.get()
	require.Error(t, err, "the allowance ends within the page")
	unpaid := func() {
		t.Helper()
		code, body, err := p.get()
		require.NoError(t, err)
		require.Equal(t, http.StatusPaymentRequired, code)
		require.Contains(t, body, "1.00 USDC a GiB; wallet "+p.customer.PublicKey().String()+" may pay for one with: gantry gateway pay "+p.lease)
	}
	unpaid()

	pay := func(amount string, more ...string) []string {
		return append([]string{"gateway", "pay", p.lease, "--via", p.via, "--amount", amount}, more...)
	}
	p.fails("asks 1.00 USDC a GiB, you allow 0.99", pay("1", "--max-price", "0.99")...)
	p.fails("payment refused: 1000.00 USDC asked", pay("1000")...)
	code, _, errs := p.run(append(pay("1"), "--dry-run")...)
	require.Zero(t, code, errs)
	require.Zero(t, p.received())
	unpaid()
	var paid struct {
		Bytes       uint64
		Transaction struct{ Signature string }
		Terms       shownTerms
	}
	p.ok(&paid, pay("0.01")...)
	require.EqualValues(t, 10_737_418, paid.Bytes)
	require.Equal(t, paid.Bytes, paid.Terms.Left)
	require.EqualValues(t, 10_000, p.received())
	code, _, err = p.get()
	require.NoError(t, err)
	require.Equal(t, 200, code)
	var shown struct{ Terms shownTerms }
	p.ok(&shown, "gateway", "show", p.lease, "--via", p.via)
	require.InDelta(t, float64(paid.Bytes-pageSize), float64(shown.Terms.Left), 4_000)
	require.Zero(t, shown.Terms.FreeLeft)
	p.replays(solana.MustSignatureFromBase58(paid.Transaction.Signature))
	p.kills(pay("0.02"))
}

// replays brings what was paid, and what is no payment, in every other way.
func (p *priced) replays(sig solana.Signature) {
	t, b := p.t, p.g.book
	before := b.Counts()
	refused := func(b *toll.Book, customer solana.PublicKey, number uint64, sig solana.Signature, says string) {
		t.Helper()
		_, err := b.Pay(p.w.Ctx, customer, number, sig)
		var no *toll.RefusedError
		require.ErrorAs(t, err, &no)
		require.Contains(t, no.Why, says)
	}
	me, other := p.customer.PublicKey(), testmarket.Key(t).PublicKey()
	refused(b, other, 1, sig, "for another wallet")
	refused(b, me, 1, solana.Signature{1, 2, 3}, "is not final, or was never sent")
	genesis, err := p.w.Client.Genesis(p.w.Ctx)
	require.NoError(t, err)
	o := toll.Options{
		Path: filepath.Join(t.TempDir(), "payments.db"), Domain: records.DomainOf(genesis), Gateway: other, Price: market.OneUSDC, Mint: p.w.PaymentMint,
		Payee: p.g.c.Key.PublicKey(), // the very same account
		Transaction: func(ctx context.Context, sig solana.Signature) (chain.Landed, error) {
			return p.w.Client.Transaction(ctx, sig, chain.Finalized)
		},
	}
	elsewhere, err := toll.Open(o)
	require.NoError(t, err)
	defer elsewhere.Close()
	refused(elsewhere, me, 1, sig, "has no payment with this number")

	// Another token, to the same wallet and for the same purpose.
	p.w.Give(me, p.w.StakeMint, 1_000)
	to := p.w.Give(p.g.c.Key.PublicKey(), p.w.StakeMint, 0)
	transfer := token.NewTransferCheckedInstruction(1_000, 9, market.TokenAddress(me, p.w.StakeMint), p.w.StakeMint, to, me, nil).Build()
	data, err := transfer.Data()
	require.NoError(t, err)
	purpose := records.Payment{Domain: o.Domain, Gateway: p.g.c.Key.PublicKey(), Customer: me, Number: 77}.Purpose()
	res, err := p.w.Try("other_token", []solana.PrivateKey{p.customer},
		solana.NewInstruction(solana.TokenProgramID, append(solana.AccountMetaSlice(transfer.Accounts()), solana.NewAccountMeta(purpose, false, false)), data))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := o.Transaction(p.w.Ctx, res.Signature)
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	refused(b, me, 77, res.Signature, "in another token")
	require.Equal(t, before.Payments, b.Counts().Payments)

	// Strangers are not listened to at all.
	stranger, err := p2p.New(p2p.Options{Key: testmarket.Key(t), Client: true})
	require.NoError(t, err)
	defer stranger.Close()
	require.NoError(t, stranger.Connect(p.w.Ctx, p.g.net.Self()))
	lookups := b.Counts().Lookups
	_, err = p2p.Call[messages.GatewayPayRequest, messages.GatewayPayAnswer](p.w.Ctx, stranger, p.g.net.Key(), payProtocol,
		messages.GatewayPayRequest{Version: messages.Version, Customer: me, Number: 1, Signature: [64]byte{9}})
	require.True(t, p2p.IsCode(err, p2p.CodeRefused), "%v", err)
	require.Equal(t, lookups, b.Counts().Lookups)
}

// kills ends the command at several moments; the next one finishes what it has begun. Each amount is paid and counted once.
func (p *priced) kills(args []string) {
	t := p.t
	for i, after := range []time.Duration{100, 300, 600, 1000, 2000} {
		received, counted := p.received(), p.g.book.Counts()
		cmd := exec.Command(os.Args[0], append(append([]string{}, p.args...), args...)...)
		cmd.Env = append(os.Environ(), asCommand+"=1")
		require.NoError(t, cmd.Start())
		kill := time.AfterFunc(after*time.Millisecond, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		kill.Stop()
		var exit *exec.ExitError
		require.True(t, err == nil || errors.As(err, &exit), "%v", err)
		all, err := filepath.Glob(filepath.Join(p.dir, "state", "*", "*", "gateways", "*", "payment.json"))
		require.NoError(t, err)
		if len(all) > 0 || p.g.book.Counts().Payments == counted.Payments { // it was not finished
			code, _, errs := p.run(args...)
			require.Zero(t, code, errs)
		}
		require.EqualValues(t, received+20_000, p.received(), fmt.Sprintf("kill %d", i))
		require.Equal(t, counted.Payments+1, p.g.book.Counts().Payments)
	}
}
