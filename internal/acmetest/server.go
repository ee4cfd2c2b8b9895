// Package acmetest is an ACME server for tests: Let's Encrypt's own test server, in a process of its own, see package
// testtool. It checks names by TLS-ALPN-01; every name leads to this machine.
package acmetest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testtool"
)

// Server is a running ACME server.
type Server struct {
	// Directory is the URL of its directory; Client believes its own certificate, which CA has in PEM.
	Directory string
	Client    *http.Client
	CA        []byte
	// Root is what it issues certificates under.
	Root *x509.Certificate

	t       *testing.T
	process *testtool.Server
}

// New starts a server that checks names at a port of this machine, until the test ends.
func New(t *testing.T, port int) *Server {
	t.Helper()
	var where struct{ Directory, CA, Root string }
	process, err := testtool.Start(t.Context(), &where, "acme", strconv.Itoa(port))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, process.Close()) })
	root, _ := pem.Decode([]byte(where.Root))
	require.NotNil(t, root)
	s := &Server{Directory: where.Directory, CA: []byte(where.CA), t: t, process: process}
	s.Root, err = x509.ParseCertificate(root.Bytes)
	require.NoError(t, err)
	believed := x509.NewCertPool()
	require.True(t, believed.AppendCertsFromPEM(s.CA))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: believed}}
	t.Cleanup(transport.CloseIdleConnections)
	s.Client = &http.Client{Transport: transport}
	return s
}

// Orders counts the certificates that were asked for.
func (s *Server) Orders() int {
	s.t.Helper()
	said, err := s.process.Ask("orders")
	require.NoError(s.t, err)
	n, err := strconv.Atoi(said)
	require.NoError(s.t, err)
	return n
}
