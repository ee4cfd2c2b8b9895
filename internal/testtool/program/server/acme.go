package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"

	"github.com/gantry-market/gantry/internal/testtool/program/tool"
)

// validity of certificates, seconds.
const validity = 90 * 24 * 3600

// acme is Let's Encrypt's own test server. It checks names by TLS-ALPN-01 at a port of this machine, to which every
// name leads.
// usage: acme PORT
// The command "orders" counts the certificates that were asked for.
func acme(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("acme: want PORT, got %d arguments", len(args))
	}
	port, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("acme: the port: %w", err)
	}
	// Without these it sleeps before it checks a name, and has one in twenty requests wait for seconds.
	for variable, value := range map[string]string{"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0"} {
		if err := os.Setenv(variable, value); err != nil {
			return fmt.Errorf("acme: %w", err)
		}
	}
	names, stop, err := resolver()
	if err != nil {
		return fmt.Errorf("acme: the resolver: %w", err)
	}
	defer stop()
	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	authority := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "the default", ValidityPeriod: validity}})
	checks := va.New(quiet, 1, port, true, names, store)
	front := wfe.New(quiet, store, checks, authority, []string{"issuer.test"}, true, false, 1, 1)
	handler := front.Handler()
	var orders atomic.Int64
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := &status{ResponseWriter: w}
		handler.ServeHTTP(sent, r)
		if strings.HasSuffix(r.URL.Path, "/order-plz") && sent.code == http.StatusCreated {
			orders.Add(1)
		}
	}))
	defer web.Close()
	return tool.Serve(in, out, map[string]string{
		"directory": web.URL + wfe.DirectoryPath,
		"ca":        string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})),
		"root":      string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.GetRootCert(0).Cert.Raw})),
	}, func(command string) (string, error) {
		if command != "orders" {
			return "", fmt.Errorf("acme: unknown command %q", command)
		}
		return strconv.FormatInt(orders.Load(), 10), nil
	})
}

type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// resolver says that every name is this machine.
func resolver() (address string, stop func(), err error) {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	started := make(chan struct{})
	s := &dns.Server{Listener: at, NotifyStartedFunc: func() { close(started) }, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		if len(q.Question) == 1 && q.Question[0].Qtype == dns.TypeA {
			m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1)}}
		}
		_ = w.WriteMsg(m)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.ActivateAndServe() }()
	<-started
	return at.Addr().String(), func() { _ = s.Shutdown(); <-done }, nil
}
