// Package acmetest is an ACME server for tests: Let's Encrypt's own test server, in a process of its own, see package
// testtool. It checks names by TLS-ALPN-01; every name leads to this machine. It checks names of one zone also by DNS-01: the
// zone's DNS server takes updates (RFC 2136).
package acmetest

import (
	"crypto/x509"
	"encoding/pem"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testtool"
)

// Server is a running ACME server.
type Server struct {
	// Directory is the URL of its directory, CA its own certificate in PEM.
	Directory string
	CA        []byte
	// DNS is the address of the primary server of Zone, and of any other name; Key is the file of the key that signs updates.
	DNS, Key string
	// Root is what it issues certificates under.
	Root *x509.Certificate

	t       *testing.T
	process *testtool.Server
}

// Zone takes updates.
const Zone = "gw.test"

// Short is how long certificates of NewShort last.
const Short = 4 * time.Minute

// New starts a server that checks names at a port of this machine, until the test ends.
func New(t *testing.T, port int) *Server { return start(t, strconv.Itoa(port)) }

// NewShort starts a server whose certificates last for Short.
func NewShort(t *testing.T, port int) *Server {
	return start(t, strconv.Itoa(port), strconv.Itoa(int(Short.Seconds())))
}

func start(t *testing.T, args ...string) *Server {
	t.Helper()
	var where struct{ Directory, CA, Root, DNS, Key string }
	process, err := testtool.Start(t.Context(), &where, append([]string{"acme"}, args...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, process.Close()) })
	root, _ := pem.Decode([]byte(where.Root))
	require.NotNil(t, root)
	s := &Server{Directory: where.Directory, CA: []byte(where.CA), DNS: where.DNS, Key: where.Key, t: t, process: process}
	s.Root, err = x509.ParseCertificate(root.Bytes)
	require.NoError(t, err)
	return s
}

// Orders counts the certificates that were asked for, Requests everything that was asked, Records the TXT records of Zone.
func (s *Server) Orders() int   { return s.count("orders") }
func (s *Server) Requests() int { return s.count("requests") }
func (s *Server) Records() int  { return s.count("records") }

// Down lets the server break off every connection, Up ends that.
func (s *Server) Down() { s.ask("down") }
func (s *Server) Up()   { s.ask("up") }

func (s *Server) count(what string) int {
	s.t.Helper()
	n, err := strconv.Atoi(s.ask(what))
	require.NoError(s.t, err)
	return n
}

func (s *Server) ask(what string) string {
	s.t.Helper()
	said, err := s.process.Ask(what)
	require.NoError(s.t, err)
	return said
}
