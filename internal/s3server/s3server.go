// Package s3server is an S3 server in memory, on loopback, for demonstrations and tests: gofakes3, with the checks of
// signatures that rclone added.
package s3server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"
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
	http    *http.Server
	served  chan error
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

// Start starts a server with an empty bucket. around sees every request first; nil leaves it out.
func Start(ctx context.Context, around func(http.Handler) http.Handler) (*Server, error) {
	now := &clock{}
	backend := &aging{s3mem.New(s3mem.WithTimeSource(now)), now}
	if err := backend.CreateBucket(ctx, Bucket); err != nil {
		return nil, fmt.Errorf("bucket: %w", err)
	}
	handler := gofakes3.New(backend, gofakes3.WithV4Auth(map[string]string{AccessKey: SecretKey})).Server()
	if around != nil {
		handler = around(handler)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("S3 server: %w", err)
	}
	s := &Server{URL: "http://" + l.Addr().String(), backend: backend, clock: now, served: make(chan error, 1)}
	s.http = &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { s.served <- s.http.Serve(l) }()
	return s, nil
}

// Close ends the server and its connections.
func (s *Server) Close() error {
	err := s.http.Close()
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Advance sets the server's clock ahead: what it has is older from then on.
func (s *Server) Advance(by time.Duration) { s.clock.ahead.Add(int64(by)) }

// Objects are the names and contents of what the bucket has.
func (s *Server) Objects(ctx context.Context) (map[string][]byte, error) {
	list, err := s.backend.ListBucket(ctx, Bucket, nil, gofakes3.ListBucketPage{})
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, c := range list.Contents {
		o, err := s.backend.GetObject(ctx, Bucket, c.Key, nil)
		if err != nil {
			return nil, err
		}
		raw, err := io.ReadAll(o.Contents)
		if err = errors.Join(err, o.Contents.Close()); err != nil {
			return nil, err
		}
		out[c.Key] = raw
	}
	return out, nil
}

// Put replaces an object.
func (s *Server) Put(ctx context.Context, name string, content []byte) error {
	_, err := s.backend.PutObject(ctx, Bucket, name, map[string]string{}, bytes.NewReader(content), int64(len(content)))
	return err
}
