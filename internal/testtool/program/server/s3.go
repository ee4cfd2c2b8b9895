package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"

	"github.com/gantry-market/gantry/internal/testtool/program/tool"
)

// clock is the machine's, and some time ahead.
type clock struct{ ahead atomic.Int64 }

func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// aging is a backend whose objects are as old by its clock. The server itself uses the machine's, for signatures.
type aging struct {
	gofakes3.Backend
	clock *clock
}

func (a *aging) PutObject(ctx context.Context, bucket, key string, meta map[string]string, input io.Reader, size int64) (gofakes3.PutObjectResult, error) {
	meta["Last-Modified"] = a.clock.Now().UTC().Format(http.TimeFormat)
	return a.Backend.PutObject(ctx, bucket, key, meta, input, size)
}

// ListBucket knows that an empty delimiter is none.
func (a *aging) ListBucket(ctx context.Context, name string, prefix *gofakes3.Prefix, page gofakes3.ListBucketPage) (*gofakes3.ObjectList, error) {
	if prefix != nil && prefix.Delimiter == "" {
		plain := *prefix
		plain.HasDelimiter, prefix = false, &plain
	}
	return a.Backend.ListBucket(ctx, name, prefix, page)
}

// s3 is an S3 server in memory, on loopback: gofakes3, with the checks of signatures that rclone added.
// usage: s3 BUCKET ACCESS-KEY SECRET-KEY
// The command "advance 1h" sets its clock ahead.
func s3(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 3 {
		return fmt.Errorf("s3: want BUCKET ACCESS-KEY SECRET-KEY, got %d arguments", len(args))
	}
	now := &clock{}
	backend := &aging{s3mem.New(s3mem.WithTimeSource(now)), now}
	if err := backend.CreateBucket(context.Background(), args[0]); err != nil {
		return fmt.Errorf("s3: make the bucket: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("s3: %w", err)
	}
	handler := gofakes3.New(backend, gofakes3.WithV4Auth(map[string]string{args[1]: args[2]})).Server()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }() // until Close
	defer func() { _ = server.Close() }()
	return tool.Serve(in, out, map[string]string{"url": "http://" + l.Addr().String()}, func(command string) (string, error) {
		by, err := time.ParseDuration(strings.TrimPrefix(command, "advance "))
		if err != nil {
			return "", fmt.Errorf("s3: unknown command %q", command)
		}
		now.ahead.Add(int64(by))
		return "advanced", nil
	})
}
