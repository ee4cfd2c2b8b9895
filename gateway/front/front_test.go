package front

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/gateway/grants"
	"github.com/gantry-market/gantry/gateway/limit"
	"github.com/gantry-market/gantry/gateway/link"
	"github.com/gantry-market/gantry/gateway/toll"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

// bed is a server in front of one lease, whose container is a server of this process.
type bed struct {
	t      *testing.T
	at     string
	room   *limit.Room
	entry  *grants.Entry
	end    context.CancelFunc
	pool   *x509.CertPool
	dialed atomic.Int64

	mu   sync.Mutex
	err  error // of dialling
	seen map[string]int
}

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"*.gw.test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// settings of a bed.
type settings struct {
	idle     time.Duration
	perOne   int
	perLease int
	patience time.Duration
}

func newBed(t *testing.T, s settings, site http.Handler) *bed {
	t.Helper()
	plain, ownTLS := httptest.NewServer(site), httptest.NewTLSServer(site)
	t.Cleanup(plain.Close)
	t.Cleanup(ownTLS.Close)
	if s.idle == 0 {
		s.idle = time.Minute
	}
	if s.perOne == 0 {
		s.perOne = 64
	}
	if s.perLease == 0 {
		s.perLease = 64
	}
	if s.patience == 0 {
		s.patience = Patience
	}
	cert := certificate(t)
	b := &bed{t: t, pool: x509.NewCertPool(), seen: map[string]int{}, room: limit.NewRoom(limit.Options{Most: 100, MostOfOne: s.perOne, PerSecond: 1e6, Burst: 1e6})}
	b.pool.AddCert(cert.Leaf)
	b.entry = &grants.Entry{Places: limit.NewPlaces(s.perLease), Rate: limit.NewRate(1 << 30), In: new(atomic.Uint64), Out: new(atomic.Uint64)}
	b.entry.Lasts, b.end = context.WithCancel(t.Context())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.at = l.Addr().String()
	o := Options{
		Listener: l, Domain: "gw.test", Room: b.room, Idle: s.idle, Patience: s.patience,
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &cert, nil },
		Find: func(label string) (*grants.Entry, records.GrantedPort, bool) {
			switch {
			case b.entry.Lasts.Err() != nil:
			case label == "web":
				return b.entry, records.GrantedPort{Port: 80}, true
			case label == "end":
				return b.entry, records.GrantedPort{Port: 443, TLS: true}, true
			}
			return nil, records.GrantedPort{}, false
		},
		Dial: func(ctx context.Context, _ *grants.Entry, port uint16) (net.Conn, error) {
			b.dialed.Add(1)
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.err != nil {
				return nil, b.err
			}
			var d net.Dialer
			if port == 443 {
				return d.DialContext(ctx, "tcp", ownTLS.Listener.Addr().String())
			}
			return d.DialContext(ctx, "tcp", plain.Listener.Addr().String())
		},
		Seen: func(what string) { b.mu.Lock(); b.seen[what]++; b.mu.Unlock() },
	}
	server, err := New(o)
	require.NoError(t, err)
	options.Without(o, []string{"Log"}, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.ErrorIs(t, <-done, context.Canceled) })
	return b
}

func (b *bed) fails(err error) { b.mu.Lock(); b.err = err; b.mu.Unlock() }

// dial connects from one of this machine's addresses.
func (b *bed) dial(from string) net.Conn {
	b.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(b.t.Context(), "tcp", b.at)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = c.Close() })
	return c
}

// client has a connection of its own for each request, from one address.
func (b *bed) client(from string) *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: b.pool},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
			return d.DialContext(ctx, "tcp", b.at)
		},
	}}
}

func (b *bed) get(from, url string) (code int, body string) {
	b.t.Helper()
	resp, err := b.client(from).Get(url)
	require.NoError(b.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	return resp.StatusCode, string(raw)
}

// empty waits until nobody holds a place.
func (b *bed) empty() {
	b.t.Helper()
	require.Eventually(b.t, func() bool { n, _ := b.room.Count(); return n == 0 && b.entry.Places.Taken() == 0 }, time.Minute, 10*time.Millisecond)
}

// closed waits until the other side ends a connection.
func closed(t *testing.T, c net.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err := io.Copy(io.Discard, c)
	var timeout net.Error
	require.False(t, err != nil && isTimeout(err, &timeout), "the connection goes on")
}

func isTimeout(err error, as *net.Error) bool {
	n, ok := err.(net.Error)
	*as = n
	return ok && n.Timeout()
}

var page = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "page of %s %s", r.Host, r.Header.Get("X-Forwarded-For"))
})

func TestSilenceAndJunkKeepNobodyOut(t *testing.T) {
	b := newBed(t, settings{}, page)
	var all []net.Conn
	long := make([]byte, 64<<10)
	_, _ = rand.Read(long)
	for i := range 40 {
		c := b.dial("127.0.0.2")
		all = append(all, c)
		switch i % 5 {
		case 1:
			_, _ = c.Write(long)
		case 2: // the beginning of a record of 16 KiB, and no more
			_, _ = c.Write([]byte{22, 3, 1, 64, 0, 1, 0, 63, 252})
		case 3: // a message of 16 MiB
			_, _ = c.Write([]byte{22, 3, 1, 64, 0, 1, 255, 255, 255})
			_, _ = c.Write(make([]byte, 16<<10))
		case 4: // a record a byte
			for range 100 {
				_, _ = c.Write([]byte{22, 3, 1, 0, 1, 1})
			}
		}
	}
	code, body := b.get("127.0.0.1", "https://web.gw.test/")
	require.Equal(t, 200, code)
	require.Equal(t, "page of web.gw.test 127.0.0.1", body)
	for _, c := range all {
		closed(t, c)
	}
	b.empty()
}

func TestOneAddressCannotTakeAllPlaces(t *testing.T) {
	b := newBed(t, settings{perOne: 4}, page)
	for range 4 {
		b.dial("127.0.0.2")
	}
	require.Eventually(t, func() bool { n, _ := b.room.Count(); return n == 4 }, time.Minute, time.Millisecond)
	for range 20 {
		closed(t, b.dial("127.0.0.2"))
	}
	code, _ := b.get("127.0.0.3", "https://web.gw.test/")
	require.Equal(t, 200, code)
}

func TestSlowHeadersAndHugeHeaders(t *testing.T) {
	b := newBed(t, settings{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/huge" {
			w.Header().Set("X", strings.Repeat("x", 2*maxAnswerHeader))
		}
		page(w, r)
	}))
	slow := tls.Client(b.dial("127.0.0.2"), &tls.Config{RootCAs: b.pool, ServerName: "web.gw.test"})
	_, err := io.WriteString(slow, "GET / HTTP/1.1\r\nHost: web.gw.test\r\nX-A: ")
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://web.gw.test/", nil)
	require.NoError(t, err)
	req.Header.Set("X", strings.Repeat("x", 2*maxHeader))
	resp, err := b.client("127.0.0.1").Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, resp.StatusCode)
	code, body := b.get("127.0.0.1", "https://web.gw.test/huge")
	require.Equal(t, 502, code)
	require.Contains(t, body, "did not answer with HTTP")
	closed(t, slow)
	b.empty()
}

// Clients that ask for much and read nothing hold what their windows hold, keep nobody out, and are closed in the end.
func TestSlowReadersHoldLittle(t *testing.T) {
	endless := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/endless" {
			page(w, r)
			return
		}
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	b := newBed(t, settings{idle: 15 * time.Second, perLease: 160}, endless)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range 40 {
		name := []string{"web.gw.test", "end.gw.test"}[i%2]
		raw := b.dial("127.0.0.2").(*net.TCPConn)
		require.NoError(t, raw.SetReadBuffer(4096))
		c := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, ServerName: name}) //nolint:gosec // the site's own certificate is of no matter here
		_, err := io.WriteString(c, "GET /endless HTTP/1.1\r\nHost: "+name+"\r\n\r\n")
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return b.entry.Places.Taken() == 40 }, time.Minute, time.Millisecond)
	code, _ := b.get("127.0.0.1", "https://web.gw.test/")
	require.Equal(t, 200, code)
	require.Less(t, heap(), before+40*(1<<20))
	b.empty()
}

func TestALeaseHasSoManyPlaces(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{}, 2)
	b := newBed(t, settings{perLease: 2}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-release
		page(w, r)
	}))
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { _, _ = b.client(fmt.Sprintf("127.0.0.%d", 2+i)).Get("https://web.gw.test/") })
		<-entered
	}
	code, body := b.get("127.0.0.1", "https://web.gw.test/")
	require.Equal(t, 503, code)
	require.Contains(t, body, "Too many requests")
	c := b.dial("127.0.0.1")
	require.Error(t, tls.Client(c, &tls.Config{InsecureSkipVerify: true, ServerName: "end.gw.test"}).Handshake()) //nolint:gosec // as above
	code, _ = b.get("127.0.0.1", "https://other.gw.test/")
	require.Equal(t, 404, code, "others are answered")
	close(release)
	wg.Wait()
	b.empty()
}

func TestErrorsAreOneSentence(t *testing.T) {
	b := newBed(t, settings{}, page)
	ask := func(want int, says string) {
		t.Helper()
		code, body := b.get("127.0.0.1", "https://web.gw.test/")
		require.Equal(t, want, code)
		require.Contains(t, body, says)
		require.Equal(t, 1, strings.Count(body, "\n"))
	}
	b.fails(tunnel.ErrNothingListens)
	ask(502, "Nothing in the container listens")
	b.fails(&link.UnreachableError{Why: "the machine of this lease is not reachable now"})
	ask(502, "The machine of this lease is not reachable now.")
	b.fails(tunnel.ErrBroken)
	ask(502, "broke")
	b.fails(nil)
	c := b.dial("127.0.0.1")
	_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: web.gw.test\r\n\r\n")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	said, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, 400, resp.StatusCode)
	require.Contains(t, string(said), "https://")

	// A name with a certificate of its own, over a connection for another name.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://web.gw.test/", nil)
	require.NoError(t, err)
	req.Host = "end.gw.test"
	resp, err = b.client("127.0.0.1").Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusMisdirectedRequest, resp.StatusCode)
}

func TestWhatIsOpenEndsWithTheGrant(t *testing.T) {
	b := newBed(t, settings{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begin")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	var open []net.Conn
	for _, name := range []string{"web.gw.test", "end.gw.test"} {
		c := tls.Client(b.dial("127.0.0.1"), &tls.Config{InsecureSkipVerify: true, ServerName: name}) //nolint:gosec // as above
		_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+name+"\r\n\r\n")
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		_, err = io.ReadFull(resp.Body, make([]byte, 5))
		require.NoError(t, err)
		open = append(open, c)
	}
	b.end()
	for _, c := range open {
		closed(t, c)
	}
	code, _ := b.get("127.0.0.1", "https://web.gw.test/")
	require.Equal(t, 404, code)
	b.empty()
}

func TestCookiesStayWithTheirName(t *testing.T) {
	r := &http.Response{Header: http.Header{"Set-Cookie": {"a=1; Domain=gw.test; Path=/; Secure", "b=2; Path=/", "c=3; DOMAIN=.gw.test; HttpOnly", "; domain=x"}}}
	require.NoError(t, ownCookies(r))
	require.Equal(t, []string{"a=1; Path=/; Secure", "b=2; Path=/", "c=3; HttpOnly"}, r.Header["Set-Cookie"])
}

// TestNothingPassesUnpaid: what is free passes, then people are told what to pay, and once it is paid all goes on.
func TestNothingPassesUnpaid(t *testing.T) {
	b := newBed(t, settings{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 40_000)) }))
	one := func(n byte) solana.PublicKey { return solana.PublicKey{n} }
	purpose := records.Payment{Domain: records.Domain{1}, Gateway: one(3), Customer: one(1), Number: 9}.Purpose()
	paid := chain.Landed{Tx: &solana.Transaction{}, Keys: []solana.PublicKey{solana.TokenProgramID, one(8), one(4), market.TokenAddress(one(5), one(4)), purpose}}
	paid.Tx.Message.Instructions = []solana.CompiledInstruction{{Accounts: []uint16{1, 2, 3, 1, 4}, Data: []byte{12, 100, 0, 0, 0, 0, 0, 0, 0, 6}}}
	book, err := toll.Open(toll.Options{
		Path: filepath.Join(t.TempDir(), "payments.db"), Domain: records.Domain{1}, Gateway: one(3), Price: market.OneUSDC, Free: 60_000, Mint: one(4), Payee: one(5),
		Transaction: func(context.Context, solana.Signature) (chain.Landed, error) { return paid, nil },
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = book.Close() })
	b.entry.Toll = book.Account(one(2), one(1))
	code, body := b.get("127.0.0.2", "https://web.gw.test/")
	require.Equal(t, 200, code)
	require.Len(t, body, 40_000)
	resp, err := b.client("127.0.0.2").Get("https://web.gw.test/") // the rest of the allowance ends within it
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	require.Error(t, err)
	code, body = b.get("127.0.0.2", "https://web.gw.test/")
	require.Equal(t, http.StatusPaymentRequired, code)
	require.Contains(t, body, "wallet "+one(1).String()+" may pay for one with: gantry gateway pay "+one(2).String()+" --via "+one(3).String()+" --amount 1.00.\n")
	require.EqualValues(t, 60_000, b.entry.In.Load()+b.entry.Out.Load())
	_, err = b.client("127.0.0.2").Get("https://end.gw.test/")
	require.ErrorContains(t, err, "access denied")
	_, err = book.Pay(t.Context(), one(1), 9, solana.Signature{1})
	require.NoError(t, err)
	code, body = b.get("127.0.0.2", "https://web.gw.test/")
	require.Equal(t, 200, code)
	require.Len(t, body, 40_000)
	b.empty()
}
