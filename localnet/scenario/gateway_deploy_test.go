//go:build e2e

package scenario

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/expose"
)

// A purchase has a gateway, named or found, give its ports public addresses as soon as the lease runs. A lease also runs where
// the gateway gives none, and what its customer has taken back stays so.
func TestAPurchaseMakesItsPortsPublic(t *testing.T) {
	needsSandbox(t)
	v, image := siteAndGateway(t)
	n, customer := v.n, v.owner
	deploy := func(name string, via ...string) (out buy.Outcome, said string) {
		t.Helper()
		args := []string{"deploy", "--gpu", "A100", "--max-price", "3", "--duration", "30m", "--allow-simulated", "--detach", "--network", "none", "--name", name, "--port", "8080:web"}
		for _, g := range via {
			args = append(args, "--via", g)
		}
		done := ok(t, n, customer, append(args, "--image", image, "--", "/bin/site")...)
		require.NoError(t, json.Unmarshal([]byte(done.Stdout), &out), done.Stdout)
		require.Len(t, out.Public, 1)
		require.Equal(t, out.Leases[0].Address, out.Public[0].Lease)
		return out, done.Stderr
	}
	gateway := v.g.who.Address().String()
	out, said := deploy("site", gateway)
	require.Empty(t, out.Public[0].Failed)
	require.Len(t, out.Public[0].Ports, 1)
	v.lease, v.web = out.Leases[0].Address, out.Public[0].Ports[0].URL
	require.Contains(t, said, "port 8080 gets an address that anybody reaches")
	require.Contains(t, said, v.web)
	v.http = v.g.client(v.own.cert)
	require.Eventually(t, func() bool { code, _, err := fetch(v.http, v.web); return err == nil && code == 200 }, time.Minute, 200*time.Millisecond)
	_, body, err := fetch(v.http, v.web)
	require.NoError(t, err)
	require.Contains(t, body, "the page of web-")

	closed := v.gantry("gateway", "close", v.lease, "--via", gateway)
	require.Zero(t, closed.Code, closed.Stderr)
	out, _ = deploy("site", gateway)
	require.Contains(t, out.Public[0].Failed, "was taken back")
	code, _, err := fetch(v.http, v.web)
	require.NoError(t, err)
	require.Equal(t, 404, code)
	stopped := v.gantry("stop", v.lease)
	require.Zero(t, stopped.Code, stopped.Stderr)

	keeper := n.Keys.Keepers[0].Address().String()
	out, said = deploy("elsewhere", keeper)
	require.Contains(t, out.Public[0].Failed, keeper+" is not a gateway")
	require.Contains(t, said, "gives lease")
	require.Contains(t, said, "reach    port 8080: gantry port "+out.Leases[0].Address+" 8080")
	stopped = v.gantry("stop", out.Leases[0].Address)
	require.Zero(t, stopped.Code, stopped.Stderr)

	// Without --via it is a gateway that keepers know.
	var found []expose.Found
	require.NoError(t, json.Unmarshal([]byte(ok(t, n, customer, "gateway", "list").Stdout), &found))
	require.Len(t, found, 1)
	require.Equal(t, []any{gateway, gatewayDomain, "0.00", len(n.Keys.Keepers)}, []any{found[0].Gateway, found[0].Domain, found[0].Price, found[0].Keepers})
	require.Positive(t, found[0].Millis)
	out, said = deploy("found")
	require.Empty(t, out.Public[0].Failed)
	require.Equal(t, gateway, out.Public[0].Gateway)
	v.lease, v.web = out.Leases[0].Address, out.Public[0].Ports[0].URL
	require.Contains(t, said, v.web)
	require.Eventually(t, func() bool { code, _, err := fetch(v.http, v.web); return err == nil && code == 200 }, time.Minute, 200*time.Millisecond)
	shown := v.gantry("gateway", "show", v.lease)
	require.Zero(t, shown.Code, shown.Stderr)
	stopped = v.gantry("stop", v.lease)
	require.Zero(t, stopped.Code, stopped.Stderr)

	dry := func(port string, more ...string) string {
		args := append([]string{"--dry-run", "deploy", "--gpu", "A100", "--minutes", "5", "--allow-simulated", "--port", port}, more...)
		return v.gantry(append(args, "--image", image, "--", "/bin/site")...).Stderr
	}
	require.Contains(t, dry("8080"), "by a gateway that keepers know")
	require.Contains(t, dry("8080", "--via", "none"), "have no public address")
	require.Contains(t, dry("8080:9090"), "have no public address", "a port of this machine is for a forward")

	v.g.kill()
	require.Eventually(t, func() bool {
		found = nil
		require.NoError(t, json.Unmarshal([]byte(ok(t, n, customer, "gateway", "list").Stdout), &found))
		return len(found) == 0
	}, time.Minute, 200*time.Millisecond)
	out, said = deploy("alone")
	require.Contains(t, out.Public[0].Failed, "no gateway of this market takes leases now")
	require.Contains(t, said, "reach    port 8080: gantry port "+out.Leases[0].Address+" 8080")
}
