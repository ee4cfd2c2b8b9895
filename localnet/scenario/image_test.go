//go:build e2e

package scenario

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
)

// largeImage is busybox with some layers that no packing makes smaller, and how large all layers are in a registry.
func largeImage(t *testing.T, layers, bytes int) (img v1.Image, packed uint64) {
	t.Helper()
	all := []v1.Layer{imagetest.Layer(t, imagetest.Busybox(t)...)}
	for i := range layers {
		raw := make([]byte, bytes)
		_, err := rand.Read(raw)
		require.NoError(t, err)
		all = append(all, imagetest.Layer(t, imagetest.File(fmt.Sprintf("noise-%d", i), string(raw))))
	}
	for _, l := range all {
		size, err := l.Size()
		require.NoError(t, err)
		packed += uint64(size)
	}
	return imagetest.Image(t, "amd64", v1.Config{}, all...), packed
}

// slowStart are parameters of a market in which machines may take two minutes to start a lease.
func slowStart() bindings.Params {
	p := seed.Params()
	p.StartDeadlineSecs = 120
	return p
}

// A customer sees how far the machine has fetched a large image from a slow registry, in the plain lines of gantry deploy and over
// HTTP, and is billed from the container's start on. The program of a template serves later than its lease runs, which is a line of
// its own.
func TestACustomerSeesTheImageComing(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	n, customer := marketWith(t, slowStart())
	served, err := n.StartServe(t.Context(), customer, "25")
	require.NoError(t, err)
	token, err := os.ReadFile(served.TokenFile)
	require.NoError(t, err)
	get := func(path string, into any) bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, served.URL+path, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK && json.NewDecoder(answer.Body).Decode(into) == nil
	}

	img, packed := largeImage(t, 4, 4<<20)
	image, _ := imagetest.Start(t, imagetest.Slow(800<<10)).Push(t, "team/large", img)
	file := filepath.Join(t.TempDir(), "late.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `name: late
title: A server that begins late
description: Answers some seconds after its container runs.
image: %s
command: [sh, -c, 'sleep 3; mkdir /tmp/www; echo here >/tmp/www/index.html; httpd -p 8080 -h /tmp/www; sleep 15']
network: none
ports: [{name: web, port: 8080}]
health: {port: 8080, path: /index.html, deadline: 1m}
gpu: {count: 1}
try: {gpu: A100, minutes: 10, maxPrice: '3.00'}
runToCompletion: true
`, image), 0o600))

	var g errgroup.Group
	var done network.Output
	g.Go(func() (err error) {
		done, err = n.Gantry(t.Context(), customer, "deploy", "--template", file, "--allow-simulated", "--verify", "never")
		return err
	})
	seen := []service.Image{}
	require.Eventually(t, func() bool {
		var all struct{ Leases []service.Lease }
		if !get("/v1/leases", &all) || len(all.Leases) == 0 {
			return false
		}
		l := all.Leases[0]
		var job service.Job
		if get("/v1/leases/"+l.Address+"/job", &job) && job.Image != nil {
			seen = append(seen, *job.Image)
			if job.State == service.JobWaiting && job.Image.Phase != service.ImageReady {
				require.Zero(t, l.StartedAt, "nothing is billed while the image comes")
			}
		}
		return l.StartedAt != 0
	}, 2*time.Minute, 300*time.Millisecond)
	require.NoError(t, g.Wait())
	require.NoError(t, done.Err())

	amounts := map[uint64]bool{}
	for i, now := range seen {
		require.LessOrEqual(t, now.Done, packed)
		if now.Total > 0 {
			require.Equal(t, packed, now.Total)
			require.EqualValues(t, 5, now.Layers)
		}
		if i > 0 {
			require.GreaterOrEqual(t, now.Done, seen[i-1].Done)
			require.GreaterOrEqual(t, now.Finished, seen[i-1].Finished)
		}
		if now.Phase == service.ImageFetching && now.Done > 0 && now.Done < packed {
			amounts[now.Done] = true
		}
	}
	require.Greater(t, len(amounts), 2, "%+v", seen)

	var lines []string
	for line := range strings.Lines(done.Stderr) {
		if strings.HasPrefix(line, " · image ") {
			lines = append(lines, line)
		}
	}
	require.NotEmpty(t, lines, done.Stderr)
	require.Contains(t, strings.Join(lines, ""), fmt.Sprintf("/%.1f MiB", float64(packed)/(1<<20)))
	require.Contains(t, strings.Join(lines, ""), "of 5 layers unpacked")
	running, serves := strings.Index(done.Stderr, " ✓ running "), strings.Index(done.Stderr, " ✓ serving ")
	require.Positive(t, running, done.Stderr)
	require.Greater(t, serves, running, done.Stderr)
	require.Less(t, strings.LastIndex(done.Stderr, " · image "), running, done.Stderr)
	require.NotContains(t, done.Stderr, "\x1b")
}
