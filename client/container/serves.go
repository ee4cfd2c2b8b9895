package container

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	// servesEvery is between two health checks, servesWithin how long one may take.
	servesEvery, servesWithin = 2 * time.Second, 10 * time.Second
	// maxHealth is how much of an answer is read.
	maxHealth = 64 << 10
)

// Serves waits until the program in a lease's container answers its health check with a status below 400, or ctx ends. The error is
// then that of the last check.
func Serves(ctx context.Context, r *buy.Remote, l market.Lease, probe template.Probe) error {
	c, err := New(r, l, nil)
	if err != nil {
		return err
	}
	ports := NewPorts(c)
	defer ports.Close()
	client := http.Client{
		Timeout:       servesWithin,
		Transport:     &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return ports.Dial(ctx, probe.Port) }},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for {
		if err = healthy(ctx, &client, probe); err == nil {
			return nil
		}
		if wait.For(ctx, servesEvery) != nil {
			return err
		}
	}
}

// healthy asks once.
func healthy(ctx context.Context, client *http.Client, probe template.Probe) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://container:%d%s", probe.Port, probe.Path), nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, maxHealth)); err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("port %d answers %s with status %d", probe.Port, probe.Path, answer.StatusCode)
	}
	return nil
}
