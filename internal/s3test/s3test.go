// Package s3test is an S3 server for tests, in memory: gofakes3, with the checks of signatures that rclone added.
package s3test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/messages"
)

// Credentials of the server.
const (
	AccessKey = "test-access-key"
	SecretKey = "test-secret-key-that-nobody-else-has"
	Bucket    = "customer"
)

// Server is one that runs.
type Server struct {
	URL     string
	backend gofakes3.Backend
	clock   *clock
}

// clock is the machine's, and some time ahead.
type clock struct{ ahead atomic.Int64 }

func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// aging is a backend whose objects are as old by its clock. The server itself takes the machine's, for signatures.
type aging struct {
	gofakes3.Backend
	clock *clock
}

func (a *aging) PutObject(ctx context.Context, bucket, key string, meta map[string]string, input io.Reader, size int64) (gofakes3.PutObjectResult, error) {
	meta["Last-Modified"] = a.clock.Now().UTC().Format(http.TimeFormat)
	return a.Backend.PutObject(ctx, bucket, key, meta, input, size)
}

// Advance sets the server's clock ahead: what it has is older from then on.
func (s *Server) Advance(by time.Duration) { s.clock.ahead.Add(int64(by)) }

// Start starts a server with an empty bucket. around sees every request first; nil leaves it out.
func Start(t testing.TB, around func(http.Handler) http.Handler) *Server {
	t.Helper()
	now := &clock{}
	backend := &aging{s3mem.New(s3mem.WithTimeSource(now)), now}
	require.NoError(t, backend.CreateBucket(t.Context(), Bucket))
	handler := gofakes3.New(backend, gofakes3.WithV4Auth(map[string]string{AccessKey: SecretKey})).Server()
	if around != nil {
		handler = around(handler)
	}
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return &Server{URL: s.URL, backend: backend, clock: now}
}

// Backup is one in this bucket.
func (s *Server) Backup(key []byte) messages.Backup {
	return messages.Backup{Endpoint: s.URL, Region: "us-east-1", Bucket: Bucket, Prefix: "team/training", AccessKey: AccessKey, SecretKey: SecretKey, Key: key}
}

// Objects are the names and contents of what the bucket has.
func (s *Server) Objects(t testing.TB) map[string][]byte {
	t.Helper()
	list, err := s.backend.ListBucket(t.Context(), Bucket, nil, gofakes3.ListBucketPage{})
	require.NoError(t, err)
	out := map[string][]byte{}
	for _, c := range list.Contents {
		o, err := s.backend.GetObject(t.Context(), Bucket, c.Key, nil)
		require.NoError(t, err)
		raw, err := io.ReadAll(o.Contents)
		require.NoError(t, err)
		require.NoError(t, o.Contents.Close())
		out[c.Key] = raw
	}
	return out
}

// Put replaces an object.
func (s *Server) Put(t testing.TB, name string, content []byte) {
	t.Helper()
	_, err := s.backend.PutObject(t.Context(), Bucket, name, map[string]string{}, bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
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
