// Package acmetest is an ACME server for tests: Let's Encrypt's own test server, in the test's process. It checks names by
// TLS-ALPN-01; every name leads to this machine.
package acmetest

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// Server is a running ACME server.
type Server struct {
	// Directory is the URL of its directory; Client believes its own certificate, which CA has in PEM.
	Directory string
	Client    *http.Client
	CA        []byte
	// Root is what it issues certificates under.
	Root *x509.Certificate

	orders atomic.Int64
}

// validity of certificates.
const validity = 90 * 24 * 3600

// New starts a server that checks names at a port of this machine, until the test ends.
func New(t *testing.T, port int) *Server {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", "0") // else one in twenty requests waits for seconds
	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	authority := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "the default", ValidityPeriod: validity}})
	checks := va.New(quiet, 1, port, true, resolver(t), store)
	front := wfe.New(quiet, store, checks, authority, []string{"issuer.test"}, true, false, 1, 1)
	s := &Server{Root: authority.GetRootCert(0).Cert}
	handler := front.Handler()
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := &status{ResponseWriter: w}
		handler.ServeHTTP(sent, r)
		if strings.HasSuffix(r.URL.Path, "/order-plz") && sent.code == http.StatusCreated {
			s.orders.Add(1)
		}
	}))
	t.Cleanup(web.Close)
	s.Directory, s.Client = web.URL+wfe.DirectoryPath, web.Client()
	s.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	return s
}

// Orders counts the certificates that were asked for.
func (s *Server) Orders() int { return int(s.orders.Load()) }

type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// resolver says that every name is this machine.
func resolver(t *testing.T) string {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	started := make(chan struct{})
	s := &dns.Server{Listener: at, NotifyStartedFunc: func() { close(started) }, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		if len(q.Question) == 1 && q.Question[0].Qtype == dns.TypeA {
			m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1)}}
		}
		_ = w.WriteMsg(m)
	})}
	done := make(chan error, 1)
	go func() { done <- s.ActivateAndServe() }()
	<-started
	t.Cleanup(func() {
		require.NoError(t, s.Shutdown())
		require.NoError(t, <-done)
	})
	return at.Addr().String()
}
