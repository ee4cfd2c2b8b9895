package issue_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/gateway/front"
	"github.com/gantry-market/gantry/gateway/grants"
	"github.com/gantry-market/gantry/gateway/issue"
	"github.com/gantry-market/gantry/gateway/limit"
	"github.com/gantry-market/gantry/internal/acmetest"
	"github.com/gantry-market/gantry/sdk/records"
)

// bed is a gateway's public side with an issuer of its own, and an ACME server for which every name leads to it.
type bed struct {
	t      *testing.T
	o      issue.Options
	at     string
	roots  *x509.CertPool
	acme   *acmetest.Server
	names  atomic.Pointer[[]issue.Name]
	issuer atomic.Pointer[issue.Issuer]
	stop   func()
}

var customers = []solana.PublicKey{{1}, {2}}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, roots: x509.NewCertPool()}
	b.names.Store(&[]issue.Name{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.at = l.Addr().String()
	b.acme = acmetest.New(t, l.Addr().(*net.TCPAddr).Port)
	b.roots.AddCert(b.acme.Root)
	b.o = issue.Options{
		Directory: b.acme.Directory, HTTP: b.acme.Client, Email: "operator@example.org", Dir: filepath.Join(t.TempDir(), "certificates"),
		Names: func() []issue.Name { return *b.names.Load() }, PerWeek: 4, PerCustomer: 3, Log: zerolog.New(zerolog.NewTestWriter(t)),
	}
	b.start()
	b.serve(l)
	t.Cleanup(func() { b.stop() })
	return b
}

// start begins an issuer in the place of the former.
func (b *bed) start() {
	t := b.t
	if b.stop != nil {
		b.stop()
	}
	i, err := issue.New(b.o)
	require.NoError(t, err)
	b.issuer.Store(i)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- i.Run(ctx) }()
	b.stop = func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		b.stop = func() {}
	}
}

// serve is the gateway's side for visitors. Each name leads to a port without TLS of the same site.
func (b *bed) serve(l net.Listener) {
	t := b.t
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "the page of "+r.Host) }))
	t.Cleanup(site.Close)
	ctx, cancel := context.WithCancel(context.Background())
	e := &grants.Entry{Lasts: ctx, Places: limit.NewPlaces(64), Rate: limit.NewRate(1 << 30), In: new(atomic.Uint64), Out: new(atomic.Uint64)}
	s, err := front.New(front.Options{
		Listener: l, Domain: "gw.test", Room: limit.NewRoom(limit.Options{Most: 100, MostOfOne: 100, PerSecond: 1e6, Burst: 1e6}), Idle: time.Minute,
		Certificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return b.issuer.Load().Get(h) },
		Find: func(label string) (*grants.Entry, records.GrantedPort, bool) {
			for _, n := range *b.names.Load() {
				if n.Host == label+".gw.test" {
					return e, records.GrantedPort{Port: 80}, true
				}
			}
			return nil, records.GrantedPort{}, false
		},
		Dial: func(ctx context.Context, _ *grants.Entry, _ uint16) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", site.Listener.Addr().String())
		},
		Patience: front.Patience, Seen: func(string) {},
	})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

func (b *bed) grant(customer int, labels ...string) {
	names := *b.names.Load()
	for _, label := range labels {
		names = append(names[:len(names):len(names)], issue.Name{Host: label + ".gw.test", Customer: customers[customer]})
	}
	b.names.Store(&names)
}

// visit is one request, in a connection of its own, and the certificate that was shown.
func (b *bed) visit(label string) (body string, leaf *x509.Certificate, err error) {
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: b.roots}, ForceAttemptHTTP2: true, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", b.at)
		},
	}
	defer transport.CloseIdleConnections()
	r, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get("https://" + label + ".gw.test/")
	if err != nil {
		return "", nil, err
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	return string(raw), r.TLS.PeerCertificates[0], err
}

// reached visits until the name has a certificate. A request that fails is repeated after a minute.
func (b *bed) reached(label string) (leaf *x509.Certificate) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		body, got, err := b.visit(label)
		leaf = got
		return err == nil && body == "the page of "+label+".gw.test"
	}, 4*time.Minute, 100*time.Millisecond, label)
	return leaf
}

func TestGrantedNamesHaveCertificates(t *testing.T) {
	b := newBed(t)
	b.grant(0, "web-aaa", "api-aaa")
	first := b.reached("web-aaa")
	require.Equal(t, []string{"web-aaa.gw.test"}, first.DNSNames)
	b.reached("api-aaa")
	asked := b.acme.Orders()

	// Nobody but a customer makes the gateway ask.
	for _, label := range []string{"web-bbb", "www", "web-aaa.deeper"} {
		_, _, err := b.visit(label)
		require.Error(t, err, label)
	}
	require.Equal(t, asked, b.acme.Orders())

	// The next process has the same certificates and the same account.
	b.start()
	require.Equal(t, first.SerialNumber, b.reached("web-aaa").SerialNumber)
	require.Equal(t, asked, b.acme.Orders())
	require.Empty(t, b.issuer.Load().Wrong())
}

func TestNewNamesAreBounded(t *testing.T) {
	b := newBed(t)
	b.grant(0, "a", "b", "c", "d")
	for _, label := range []string{"a", "b", "c"} {
		b.reached(label)
	}
	_, _, err := b.visit("d")
	require.Error(t, err, "a customer has three in a week")
	b.start() // the count outlives the process
	b.grant(1, "e", "f")
	b.reached("e")
	asked := b.acme.Orders()
	for _, label := range []string{"d", "f"} {
		_, _, err = b.visit(label)
		require.Error(t, err, "all have four")
	}
	require.Equal(t, asked, b.acme.Orders())
}

func TestADamagedCertificateIsAskedForAgain(t *testing.T) {
	b := newBed(t)
	b.grant(0, "web")
	first := b.reached("web")
	b.stop()
	file := filepath.Join(b.o.Dir, "web.gw.test.pem")
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	block, _ := pem.Decode(raw)
	require.Equal(t, "PRIVATE KEY", block.Type)
	require.NoError(t, os.WriteFile(file, raw[:len(raw)/2], 0o600))
	// A request for the same name waits, longer each time; without the list it is the first.
	require.NoError(t, os.Remove(filepath.Join(b.o.Dir, "asked.json")))
	b.start()
	require.NotEqual(t, first.SerialNumber, b.reached("web").SerialNumber)
}
