package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/mholt/acmez/v3"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/gateway/front"
	"github.com/gantry-market/gantry/gateway/grants"
	"github.com/gantry-market/gantry/gateway/limit"
	"github.com/gantry-market/gantry/gateway/rfc2136"
	"github.com/gantry-market/gantry/internal/acmetest"
	"github.com/gantry-market/gantry/sdk/records"
)

// bed is a gateway's public side with certificates of its own, and an ACME server for which every name leads to it.
type bed struct {
	t       *testing.T
	o       Options
	at      string
	roots   *x509.CertPool
	acme    *acmetest.Server
	names   atomic.Pointer[[]Name]
	manager atomic.Pointer[Manager]
	stop    func()
}

var customers = []solana.PublicKey{{1}, {2}, {3}}

func newBed(t *testing.T, server func(*testing.T, int) *acmetest.Server) *bed {
	t.Helper()
	b := &bed{t: t, roots: x509.NewCertPool()}
	b.names.Store(&[]Name{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.at = l.Addr().String()
	b.acme = server(t, l.Addr().(*net.TCPAddr).Port)
	b.roots.AddCert(b.acme.Root)
	b.o = Options{
		Domain: acmetest.Zone, Directory: b.acme.Directory, Roots: x509.NewCertPool(), Email: "operator@example.org",
		Dir: filepath.Join(t.TempDir(), "certificates"), Visitors: l.Addr(),
		Names: func() []Name { return *b.names.Load() }, PerWeek: 4, PerCustomer: 3, Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel),
	}
	require.True(t, b.o.Roots.AppendCertsFromPEM(b.acme.CA))
	b.serve(l)
	t.Cleanup(func() {
		if b.stop != nil {
			b.stop()
		}
	})
	return b
}

// dns has one certificate for the whole domain, with a key in the form in which the operator has it.
func (b *bed) dns(key string) {
	path := filepath.Join(b.t.TempDir(), "tsig.key")
	require.NoError(b.t, os.WriteFile(path, []byte(key), 0o600))
	k, err := rfc2136.ReadKey(path)
	require.NoError(b.t, err)
	b.o.DNS, b.o.Resolvers = rfc2136.New(b.acme.DNS, k), []string{b.acme.DNS}
}

// start begins a manager in the place of the former.
func (b *bed) start(change ...func(*Manager)) {
	t := b.t
	if b.stop != nil {
		b.stop()
	}
	m, err := New(b.o)
	require.NoError(t, err)
	for _, f := range change {
		f(m)
	}
	b.manager.Store(m)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	b.stop = func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.NoError(t, m.Close())
		b.stop = nil
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
		Listener: l, Domain: acmetest.Zone, Room: limit.NewRoom(limit.Options{Most: 100, MostOfOne: 100, PerSecond: 1e6, Burst: 1e6}), Idle: time.Minute,
		Certificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return b.manager.Load().Get(h) },
		Find: func(label string) (*grants.Entry, records.GrantedPort, bool) {
			for _, n := range *b.names.Load() {
				if n.Host == label+"."+acmetest.Zone {
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
		names = append(names[:len(names):len(names)], Name{Host: label + "." + acmetest.Zone, Customer: customers[customer]})
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
	r, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get("https://" + label + "." + acmetest.Zone + "/")
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
		return err == nil && body == "the page of "+label+"."+acmetest.Zone
	}, 4*time.Minute, 100*time.Millisecond, label)
	return leaf
}

// hostile names get no certificate, and nobody but the gateway hears of them.
func (b *bed) hostile() {
	t := b.t
	before := b.acme.Requests()
	long := strings.Repeat("a.", 8000)
	for _, name := range []string{
		"", ".", "..", "*", "*." + acmetest.Zone, acmetest.Zone, "." + acmetest.Zone, "www.example.org", "x." + acmetest.Zone + ".example.org", "127.0.0.1", "::1",
		"web-aaa.deeper." + acmetest.Zone, "*.web-aaa." + acmetest.Zone, "../../asked." + acmetest.Zone, "a/b." + acmetest.Zone, "a b." + acmetest.Zone, "a\x00b." + acmetest.Zone,
		"bücher." + acmetest.Zone, "σςΣ." + acmetest.Zone, "_acme-challenge." + acmetest.Zone, long + acmetest.Zone, strings.Repeat("a", 16000) + "." + acmetest.Zone,
	} {
		for _, protocols := range [][]string{nil, {"h2", "http/1.1"}, {acmez.ACMETLS1Protocol}} {
			c, err := b.manager.Load().Get(&tls.ClientHelloInfo{ServerName: name, SupportedProtos: protocols})
			require.ErrorIs(t, err, ErrNone, "%.80q %q", name, protocols)
			require.Nil(t, c)
			// By a connection too: what clients of Go would not send is cut.
			conn, err := tls.Dial("tcp", b.at, &tls.Config{ServerName: name, NextProtos: protocols, InsecureSkipVerify: true}) //nolint:gosec // it must get none at all
			if err == nil {
				_ = conn.Close()
			}
			require.Error(t, err, "%.80q %q", name, protocols)
		}
	}
	require.Equal(t, before, b.acme.Requests())
}

func TestGrantedNamesHaveCertificates(t *testing.T) {
	t.Parallel()
	b := newBed(t, acmetest.New)
	b.start()
	b.grant(0, "web-aaa", "api-aaa")
	first := b.reached("web-aaa")
	require.Equal(t, []string{"web-aaa.gw.test"}, first.DNSNames)
	b.reached("api-aaa")
	asked := b.acme.Requests()
	require.Equal(t, 2, b.acme.Orders())

	// Nobody but a customer makes the gateway ask.
	for _, label := range []string{"web-bbb", "www", "web-aaa.deeper"} {
		_, _, err := b.visit(label)
		require.Error(t, err, label)
	}
	b.hostile()

	// The next process has the same certificates and asks nothing.
	b.start()
	require.Equal(t, first.SerialNumber, b.reached("web-aaa").SerialNumber)
	b.reached("api-aaa")
	require.Equal(t, asked, b.acme.Requests())
	require.Empty(t, b.manager.Load().Wrong())
	ends, missing := b.manager.Load().State()
	require.WithinDuration(t, first.NotAfter, ends, time.Hour)
	require.Zero(t, missing)
	b.private()
}

// private: the folder is for its owner alone.
func (b *bed) private() {
	require.NoError(b.t, filepath.Walk(b.o.Dir, func(path string, info os.FileInfo, err error) error {
		require.NoError(b.t, err)
		if path == b.o.Dir {
			require.Equal(b.t, os.FileMode(0o700), info.Mode().Perm())
		}
		if strings.HasSuffix(path, ".key") || strings.HasSuffix(path, ".json") {
			require.Equal(b.t, os.FileMode(0o600), info.Mode().Perm(), path)
		}
		return nil
	}))
}

func TestNewNamesAreBounded(t *testing.T) {
	t.Parallel()
	b := newBed(t, acmetest.New)
	b.start()
	b.grant(0, "a", "b", "c", "d")
	for _, label := range []string{"a", "b", "c"} {
		b.reached(label)
	}
	_, _, err := b.visit("d")
	require.Error(t, err, "a customer has three in a week")
	require.Equal(t, 3, b.acme.Orders())
	b.start() // the count outlives the process
	b.grant(1, "e", "f")
	b.reached("e")
	asked := b.acme.Requests()
	for _, label := range []string{"d", "f"} {
		_, _, err = b.visit(label)
		require.Error(t, err, "all have four")
	}
	require.Equal(t, asked, b.acme.Requests())
	// What certmagic itself would ask for is refused at the same place.
	require.ErrorIs(t, b.manager.Load().magic.ObtainCertAsync(t.Context(), "d.gw.test"), ErrFull)
	require.ErrorIs(t, b.manager.Load().magic.ObtainCertAsync(t.Context(), "g.gw.test"), ErrNotGranted)
	require.Equal(t, asked, b.acme.Requests())
	_, missing := b.manager.Load().State()
	require.Equal(t, 2, missing)
}

func TestADamagedCertificateIsAskedForAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t, acmetest.New)
	b.start()
	b.grant(0, "web")
	first := b.reached("web")
	b.stop()
	files, err := filepath.Glob(filepath.Join(b.o.Dir, "certificates", "*", "web.gw.test", "web.gw.test.crt"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	raw, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files[0], raw[:len(raw)/8], 0o600))
	// A request for the same name waits, longer each time; without the list it is the first.
	require.NoError(t, os.Remove(filepath.Join(b.o.Dir, "asked.json")))
	b.start()
	require.NotEqual(t, first.SerialNumber, b.reached("web").SerialNumber)
}

func TestOneCertificateIsForTheWholeDomain(t *testing.T) {
	t.Parallel()
	b := newBed(t, acmetest.New)
	b.dns(b.acme.Key)
	b.start()
	b.grant(0, "a", "b", "c", "d", "e", "f") // more than a customer may have of their own
	first := b.reached("f")
	require.Equal(t, []string{"*.gw.test"}, first.DNSNames)
	require.Equal(t, first.SerialNumber, b.reached("a").SerialNumber)
	require.Equal(t, 1, b.acme.Orders())
	require.Zero(t, b.acme.Records(), "the record is removed again")
	b.hostile()
	asked := b.acme.Requests()
	b.start()
	require.Equal(t, first.SerialNumber, b.reached("b").SerialNumber)
	require.Equal(t, asked, b.acme.Requests())
}

func TestAWrongKeyIsExplained(t *testing.T) {
	t.Parallel()
	b := newBed(t, acmetest.New)
	b.dns(strings.Replace(b.acme.Key, "gantry", "other", 1))
	b.start()
	b.grant(0, "web")
	require.Eventually(t, func() bool { return len(b.manager.Load().Wrong()) > 0 }, time.Minute, 10*time.Millisecond)
	require.Contains(t, b.manager.Load().Wrong()[0], `does not know the key "other."`)
	_, missing := b.manager.Load().State()
	require.Equal(t, 1, missing)
	b.dns(b.acme.Key)
	b.start(func(m *Manager) { m.asked.pause = 0 })
	b.reached("web")
	require.Empty(t, b.manager.Load().Wrong())
}

// A CA that is down when a certificate is to be renewed: the certificate is served, the CA is asked with pauses, and the
// certificate is renewed before it ends once the CA is back.
func TestACertificateIsRenewedWhenTheCAIsBack(t *testing.T) {
	t.Parallel()
	b := newBed(t, acmetest.NewShort)
	b.start(func(m *Manager) {
		m.asked.pause, m.magic.DisableARI, m.magic.RenewalWindowRatio = 0, true, 0.99 // it is due at once
	})
	b.grant(0, "web")
	first := b.reached("web")
	m := b.manager.Load()
	before := b.acme.Requests()
	b.acme.Down()
	require.Eventually(t, func() bool {
		require.NoError(t, m.cache.RenewManagedCertificates(t.Context()))
		return len(m.Wrong()) > 0
	}, time.Minute, 100*time.Millisecond)
	require.Contains(t, m.Wrong()[0], "was not issued")
	asked := b.acme.Requests()
	require.Greater(t, asked, before)
	for range 100 {
		require.NoError(t, m.cache.RenewManagedCertificates(t.Context()))
	}
	require.Equal(t, first.SerialNumber, b.reached("web").SerialNumber)
	require.Equal(t, asked, b.acme.Requests(), "the next request is a minute later")
	b.acme.Up()
	require.Eventually(t, func() bool {
		require.NoError(t, m.cache.RenewManagedCertificates(t.Context()))
		_, leaf, err := b.visit("web")
		return err == nil && leaf.SerialNumber.Cmp(first.SerialNumber) != 0
	}, acmetest.Short-10*time.Second, time.Second)
	require.Empty(t, m.Wrong())
}

// A name whose grant ends keeps its certificate until that expires, and is not renewed.
func TestANameThatIsGrantedNoMoreIsNotRenewed(t *testing.T) {
	t.Parallel()
	b := newBed(t, acmetest.New)
	b.start(func(m *Manager) { m.asked.pause, m.magic.DisableARI, m.magic.RenewalWindowRatio = 0, true, 1 })
	b.grant(0, "web")
	b.reached("web")
	m := b.manager.Load()
	b.names.Store(&[]Name{})
	require.Eventually(t, func() bool { _, _, wanted := m.state("web.gw.test"); return !wanted }, time.Minute, 10*time.Millisecond)
	orders := b.acme.Orders()
	require.ErrorIs(t, m.magic.RenewCertAsync(t.Context(), "web.gw.test", true), ErrNotGranted)
	require.Equal(t, orders, b.acme.Orders())
	c, err := m.Get(&tls.ClientHelloInfo{ServerName: "web.gw.test"})
	require.NoError(t, err)
	require.NotNil(t, c)
}
