//go:build e2e

package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
)

// The command that people type first: an image, a loose name of a GPU, a port, and neither a time nor a price. The port answers
// while the command stays. The best machine of any model gets the order.
func TestTheUsualCommandRuns(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	n, customer := newMarket(t)
	const page = "a page from inside the container"
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, append(imagetest.Busybox(t), imagetest.File("www/index.html", page))...))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	here := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())

	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		out, err := n.Gantry(t.Context(), customer, "deploy", "--image", image, "--gpu", "any", "--port", fmt.Sprintf("8080:%d", here),
			"--network", "none", "--allow-simulated", "--", "/bin/busybox", "httpd", "-f", "-p", "8080", "-h", "/www")
		if err == nil {
			err = out.Err()
		}
		done <- result{out.Stdout + out.Stderr, err}
	}()
	var got string
	require.Eventually(t, func() bool {
		select {
		case r := <-done:
			t.Errorf("the command ended: %v\n%s", r.err, r.text)
			return true
		default:
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", here), nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		got = string(raw)
		return err == nil
	}, 2*time.Minute, 200*time.Millisecond)
	require.Equal(t, page, got)

	var leases []struct{ Address, Model string }
	require.NoError(t, json.Unmarshal([]byte(ok(t, n, customer, "ls", "--json").Stdout), &leases))
	require.Len(t, leases, 1)
	require.Contains(t, leases[0].Model, "A100", "its ask is the lowest")
	ok(t, n, customer, "stop", leases[0].Address)
	r := <-done
	require.NoError(t, r.err, r.text)
	require.Contains(t, r.text, "1h0m0s, since none was given")
	require.Contains(t, r.text, fmt.Sprintf("forwards http://127.0.0.1:%d to port 8080", here))
}
