package hostile

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
)

const (
	slowConnections = 5
	slowStreams     = 52 // of a connection
	slowPause       = 500 * time.Millisecond
)

// publicSlowBodies posts bodies by the byte over HTTP/2, many at once over each connection.
func publicSlowBodies(ctx context.Context, _ *attacker, to target, t *tally) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for range slowConnections {
		transport := &http.Transport{
			ForceAttemptHTTP2: true, MaxConnsPerHost: 1, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // an attacker does not care
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return public(ctx, to, gatewayTLS) },
		}
		client := &http.Client{Transport: transport}
		var streams sync.WaitGroup
		for range slowStreams {
			streams.Go(func() {
				for ctx.Err() == nil {
					slowPost(ctx, client, t)
				}
			})
		}
		wg.Go(func() {
			streams.Wait()
			transport.CloseIdleConnections()
		})
	}
}

// slowPost posts one body until it is answered or ctx ends.
func slowPost(ctx context.Context, client *http.Client, t *tally) {
	body, feed := io.Pipe()
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		for ctx.Err() == nil {
			if _, err := feed.Write([]byte{'x'}); err != nil {
				return
			}
			t.bytes.Add(1)
			_ = wait.For(ctx, slowPause)
		}
		_ = feed.CloseWithError(ctx.Err())
	}()
	defer func() { <-fed }()
	defer body.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://web-aaaaaaaaaaaaaaaa."+gatewayDomain+"/", body)
	if err != nil {
		return
	}
	res, err := client.Do(req)
	if err == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<10))
		_ = res.Body.Close()
	}
	if ctx.Err() == nil {
		t.took(err)
	}
	_ = wait.For(ctx, slowPause)
}
