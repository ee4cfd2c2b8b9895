// Package s3test gives tests an S3 server in memory.
package s3test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/s3server"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Credentials of the server.
const (
	AccessKey = s3server.AccessKey
	SecretKey = s3server.SecretKey
	Bucket    = s3server.Bucket
)

// Server is one that runs until its test ends.
type Server struct {
	*s3server.Server
	t testing.TB
}

// Start starts a server with an empty bucket. around sees every request first; nil leaves it out.
func Start(t testing.TB, around func(http.Handler) http.Handler) *Server {
	t.Helper()
	s, err := s3server.Start(t.Context(), around)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &Server{s, t}
}

// Backup is one in this bucket.
func (s *Server) Backup(key []byte) messages.Backup {
	return messages.Backup{Endpoint: s.URL, Region: "us-east-1", Bucket: Bucket, Prefix: "team/training", AccessKey: AccessKey, SecretKey: SecretKey, Key: key}
}

// Objects are the names and contents of what the bucket has.
func (s *Server) Objects(t testing.TB) map[string][]byte {
	t.Helper()
	out, err := s.Server.Objects(t.Context())
	require.NoError(t, err)
	return out
}

// Put replaces an object.
func (s *Server) Put(t testing.TB, name string, content []byte) {
	t.Helper()
	require.NoError(t, s.Server.Put(t.Context(), name, content))
}

// Advance sets the server's clock ahead: what it has is older from then on.
func (s *Server) Advance(by time.Duration) {
	s.t.Helper()
	if err := s.Server.Advance(by); err != nil {
		s.t.Error(err) // it may be called while a request is served
	}
}

// Stalled is a server that answers nothing.
type Stalled struct {
	URL string
	// Asked gets an element with the first request.
	Asked chan struct{}
}

// Stall starts a server that takes requests and is silent until their callers have gone.
func Stall(t testing.TB) *Stalled {
	t.Helper()
	asked := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		_, _ = io.Copy(io.Discard, r.Body) // until then nothing tells the server that the caller has gone
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	return &Stalled{URL: s.URL, Asked: asked}
}
