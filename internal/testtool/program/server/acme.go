package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
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

	"github.com/gantry-market/gantry/internal/testtool/program/tool"
)

// validity of certificates where none is asked for, seconds.
const validity = 90 * 24 * 3600

// acme is Let's Encrypt's own test server. It checks names by TLS-ALPN-01 at a port of this machine, to which every
// name leads, and by DNS-01 with the zone of names.
// usage: acme PORT [VALIDITY], of certificates in seconds.
// Commands: "orders" counts the certificates that were asked for, "requests" all that was asked, "records" the TXT records
// of the zone. "down" lets every connection break off until "up".
func acme(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 && len(args) != 2 {
		return fmt.Errorf("acme: want PORT [VALIDITY], got %d arguments", len(args))
	}
	numbers := []uint64{0, validity}
	for i, text := range args {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return fmt.Errorf("acme: PORT and VALIDITY: %w", err)
		}
		numbers[i] = n
	}
	// Without these it sleeps before it checks a name, and has one in twenty requests wait for seconds.
	for variable, value := range map[string]string{"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0"} {
		if err := os.Setenv(variable, value); err != nil {
			return fmt.Errorf("acme: %w", err)
		}
	}
	zone, err := newNames()
	if err != nil {
		return fmt.Errorf("acme: the DNS server: %w", err)
	}
	defer zone.close()
	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	authority := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "the default", ValidityPeriod: numbers[1]}})
	checks := va.New(quiet, 1, int(numbers[0]), true, zone.address, store)
	pebble := wfe.New(quiet, store, checks, authority, []string{"issuer.test"}, true, false, 1, 1)
	front := &counted{next: pebble.Handler()}
	web := httptest.NewTLSServer(front)
	defer web.Close()
	return tool.Serve(in, out, map[string]string{
		"directory": web.URL + wfe.DirectoryPath,
		"ca":        string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})),
		"root":      string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.GetRootCert(0).Cert.Raw})),
		"dns":       zone.address,
		"key":       zone.key(),
	}, func(command string) (string, error) {
		switch command {
		case "orders":
			return strconv.FormatInt(front.orders.Load(), 10), nil
		case "requests":
			return strconv.FormatInt(front.requests.Load(), 10), nil
		case "records":
			return strconv.Itoa(zone.count()), nil
		case "down", "up":
			front.down.Store(command == "down")
			web.CloseClientConnections()
			return command, nil
		}
		return "", fmt.Errorf("acme: unknown command %q", command)
	})
}

// counted counts what is asked of a server, and breaks connections off while it is down.
type counted struct {
	next             http.Handler
	orders, requests atomic.Int64
	down             atomic.Bool
}

// ServeHTTP implements http.Handler.
func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.requests.Add(1)
	if c.down.Load() {
		panic(http.ErrAbortHandler)
	}
	sent := &status{ResponseWriter: w}
	c.next.ServeHTTP(sent, r)
	if strings.HasSuffix(r.URL.Path, "/order-plz") && sent.code == http.StatusCreated {
		c.orders.Add(1)
	}
}

type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}
