//go:build e2e

package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// A machine fails and its lease goes on with another one: the same addresses lead there, and nobody has granted anything
// anew. What the customer then takes back stays so on the third machine.
func TestAGatewaysNamesStayWhenALeaseMoves(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	v := movingSite(t)
	n, t0 := v.n, time.Now()
	lease := func(not ...market.Lease) (found market.Lease) {
		t.Helper()
		require.Eventually(t, func() bool {
		next:
			for _, l := range snapshotOf(t, n).Leases() {
				for _, former := range not {
					if l.Address == former.Address {
						continue next
					}
				}
				if l.State() == market.LeaseRunning {
					found = l
					return true
				}
			}
			return false
		}, 3*time.Minute, 100*time.Millisecond)
		return found
	}
	ends := func(l market.Lease) {
		t.Helper()
		for _, m := range n.Nodes {
			if m.Address == l.Node {
				require.NoError(t, n.Fail(t.Context(), m.Name))
			}
		}
		t0 = time.Now()
	}
	first := lease()
	v.lease = first.Address.String()
	require.Eventually(t, func() bool {
		return v.gantry("exec", v.lease, "--", "wget", "-q", "-O-", "http://127.0.0.1:8080/").Code == 0
	}, time.Minute, 200*time.Millisecond)
	v.web, v.end = v.open()
	v.http = v.g.client(v.own.cert)
	code, _, err := fetch(v.http, v.web)
	require.NoError(t, err)
	require.Equal(t, 200, code)

	ends(first)
	moving := false
	require.Eventually(t, func() bool {
		code, body, err := fetch(v.http, v.web)
		require.NoError(t, err, "TLS goes on")
		moving = moving || strings.Contains(body, "moves to another machine")
		require.Contains(t, []int{200, 502}, code, body)
		require.Truef(t, code == 502 || strings.Contains(body, "the page of web-"), "%d %s", code, body)
		live := snapshotOf(t, n).Leases()
		for _, l := range live {
			if l.Continues == 1 && l.State() == market.LeaseRunning && code == 200 {
				return true
			}
		}
		return false
	}, 3*time.Minute, 100*time.Millisecond, "the same address leads to the next machine")
	t.Logf("the address answered again %.1f s after its machine was gone; the page about the move was seen: %v", time.Since(t0).Seconds(), moving)
	v.passed()
	second := lease(first)

	// Without --via the gateway is not told: that its customer took the grant back is known to the second machine alone,
	// until the command that attends the lease tells the third.
	v.lease = second.Address.String()
	closed := v.gantry("gateway", "close", v.lease)
	require.Zero(t, closed.Code, closed.Stderr)
	refused := func() bool {
		code, body, err := fetch(v.http, v.web)
		require.NoError(t, err)
		return code == 502 && strings.Contains(body, "taken the grant back")
	}
	require.Eventually(t, refused, time.Minute, 200*time.Millisecond)
	ends(second)
	third := lease(first, second)
	require.Eventually(t, func() bool {
		return v.gantry("exec", third.Address.String(), "--", "wget", "-q", "-O-", "http://127.0.0.1:8080/").Code == 0
	}, time.Minute, 200*time.Millisecond)
	require.Eventually(t, refused, time.Minute, 200*time.Millisecond)
	v.lease = third.Address.String()
	web, _ := v.open()
	require.Equal(t, v.web, web, "a fresh grant has the names of before")
	require.Eventually(t, func() bool { code, _, err := fetch(v.http, v.web); return err == nil && code == 200 }, time.Minute, 200*time.Millisecond)
	v.gantry("stop", v.lease)
}

// movingSite is a market of three machines that cost the same, a gateway, and a customer whose command attends a site.
func movingSite(t *testing.T) *gatewayVisit {
	t.Helper()
	nodes := network.DefaultNodes(3)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Price = "A100", market.PricePerHour(1_300_000)
	}
	n, err := network.Start(t.Context(), network.Config{Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 2, Nodes: nodes, Log: warnings(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer, operator := n.Keys.Customers[0], n.Keys.Customers[1]
	ok(t, n, customer, "credits", "add", "10")
	ok(t, n, operator, "credits", "add", "1") // so that keepers know it
	v := &gatewayVisit{visit: &visit{t: t, n: n, owner: customer, dir: t.TempDir()}, own: selfSigned(t, "*."+gatewayDomain), site: selfSigned(t, "*."+gatewayDomain)}
	v.config = filepath.Join(v.dir, "config")
	v.g = gatewayOf(t, n, operator, v.own)
	program, err := os.ReadFile(imagetest.Program(t, "github.com/gantry-market/gantry/localnet/scenario/testdata/site"))
	require.NoError(t, err)
	files := append(imagetest.Busybox(t), imagetest.File("bin/site", string(program)), imagetest.File("cert.pem", string(v.site.cert)), imagetest.File("key.pem", string(v.site.key)))
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, files...))
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		out, err := n.Gantry(t.Context(), customer, "deploy", "--gpu", "A100", "--max-price", "1.60", "--duration", "30m", "--allow-simulated", "--migrate",
			"--network", "none", "--image", image, "--", "/bin/site")
		t.Log(out.Stderr, err)
	}()
	return v
}
