// Package s3server is an S3 server in memory, on loopback, for demonstrations and tests. It is a process of its own,
// see package testtool.
package s3server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/gantry-market/gantry/internal/testtool"
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
	process *testtool.Server
	client  *minio.Client
	front   *http.Server // nil without around
	served  chan error
}

// Start starts a server with an empty bucket. around sees every request of others first; nil leaves it out.
func Start(ctx context.Context, around func(http.Handler) http.Handler) (*Server, error) {
	var where struct{ URL string }
	process, err := testtool.Start(ctx, &where, "s3", Bucket, AccessKey, SecretKey)
	if err != nil {
		return nil, fmt.Errorf("S3 server: %w", err)
	}
	s := &Server{URL: where.URL, process: process}
	if err := s.reach(ctx, where.URL, around); err != nil {
		return nil, errors.Join(fmt.Errorf("S3 server: %w", err), process.Close())
	}
	return s, nil
}

// reach makes a client of the server's, and puts around before it.
func (s *Server) reach(ctx context.Context, at string, around func(http.Handler) http.Handler) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	s.client, err = minio.New(u.Host, &minio.Options{Creds: credentials.NewStaticV4(AccessKey, SecretKey, ""), Region: "us-east-1", BucketLookup: minio.BucketLookupPath})
	if err != nil || around == nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	next := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(u)
		r.Out.Host = r.In.Host // which is signed
	}}
	s.URL, s.served = "http://"+l.Addr().String(), make(chan error, 1)
	s.front = &http.Server{Handler: around(next), ReadHeaderTimeout: time.Minute}
	go func() { s.served <- s.front.Serve(l) }()
	return nil
}

// Close ends the server and its connections.
func (s *Server) Close() error {
	var err error
	if s.front != nil {
		err = s.front.Close()
		if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
	}
	return errors.Join(err, s.process.Close())
}

// Advance sets the server's clock ahead: what it has is older from then on.
func (s *Server) Advance(by time.Duration) error {
	_, err := s.process.Ask("advance " + by.String())
	return err
}

// Objects are the names and contents of what the bucket has.
func (s *Server) Objects(ctx context.Context) (map[string][]byte, error) {
	out := map[string][]byte{}
	for found := range s.client.ListObjects(ctx, Bucket, minio.ListObjectsOptions{Recursive: true}) {
		if found.Err != nil {
			return nil, found.Err
		}
		o, err := s.client.GetObject(ctx, Bucket, found.Key, minio.GetObjectOptions{})
		if err != nil {
			return nil, err
		}
		raw, err := io.ReadAll(o)
		if err = errors.Join(err, o.Close()); err != nil {
			return nil, err
		}
		out[found.Key] = raw
	}
	return out, nil
}

// Put replaces an object.
func (s *Server) Put(ctx context.Context, name string, content []byte) error {
	_, err := s.client.PutObject(ctx, Bucket, name, bytes.NewReader(content), int64(len(content)), minio.PutObjectOptions{})
	return err
}
